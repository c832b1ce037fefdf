// What Deliveries receives, and who waits for what.
#include "comm/deliveries.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vicinal::comm {

Deliveries::Deliveries(RankId here, std::uint32_t ranks, const DeliveryRules& rules,
                       DeliveryActions& actions, Voice voice)
    : here_(here),
      rules_(rules),
      actions_(actions),
      voice_(std::move(voice)),
      link_(rules.link, ranks, rules.learns_link),
      peers_(ranks) {}

PayloadId Deliveries::add_payload(const Payload& payload) {
  payloads_.try_emplace(next_payload_, payload);
  return {next_payload_++};
}

void Deliveries::payload_ended(PayloadId id) {
  if (is_over_) return;
  const auto found = payloads_.find(id.value);
  const Payload payload = found->second;
  payloads_.erase(found);
  payload.is_sent ? sent(payload) : came(payload);
}

// --- what is offered, and who is ready for it

void Deliveries::receive(const ReadyTransfer& transfer) {
  if (is_over_) return;
  const Key key{transfer.what.from.value, here_.value, transfer.what.version};
  Receiving& receiving =
      receivings_.try_emplace(transfer.id.value, Receiving{.transfer = transfer}).first->second;
  awaited_.try_emplace(key, transfer.id.value);
  if (const auto found = offers_.find(key); found != offers_.end()) match(receiving, found->second);
}

bool Deliveries::announced(RankId from, const ParsedMessage& message) {
  return offer(from, message, false);
}
bool Deliveries::content(RankId from, const ParsedMessage& message) {
  return offer(from, message, true);
}

bool Deliveries::offer(RankId from, const ParsedMessage& message, bool is_small) {
  const MessageHeader& header = message.header;
  ParsedTree parsed;
  if (!parse(message.rest, parsed)) return false;
  if (parsed.tree.shape > static_cast<std::uint8_t>(TreeShape::delegated)) return false;
  if (parsed.tree.segment == 0 || parsed.tree.root >= peers_.size()) return false;
  if (is_small ? parsed.rest.size() != header.value
               : header.value > 0 && (header.value - 1) / parsed.tree.segment >= kMostSegments) {
    return false;
  }
  const auto is_rank = [&](const Recipient& one) { return one.rank < peers_.size(); };
  if (!std::ranges::all_of(parsed.recipients, is_rank)) return false;
  const Key key{parsed.tree.root, here_.value, header.version};
  const Tree tree{static_cast<TreeShape>(parsed.tree.shape), parsed.tree.arity};
  const auto [at, is_new] =
      offers_.try_emplace(key, Offer{.parent = from,
                                     .datum = {header.datum},
                                     .bytes = header.value,
                                     .priority = header.priority,
                                     .route = {tree, parsed.tree.segment},
                                     .recipients = std::move(parsed.recipients),
                                     .is_small = is_small,
                                     .content = {parsed.rest.begin(), parsed.rest.end()}});
  if (!is_new) return false;
  Offer& offer = at->second;
  if (is_small) {
    pass_on(offer, {key.root});
    offer.passed_on = branches(tree, offer.recipients.size()).size();
    offer.recipients.clear();
  } else if (offer.parent.value != key.root || !offer.recipients.empty()) {
    waiting_.push_back({key});
  }
  if (const auto found = awaited_.find(key); found != awaited_.end())
    match(receivings_.at(found->second), offer);
  return true;
}

// The numbers of transfers are counted on both sides: the same number is the same datum.
void Deliveries::match(Receiving& receiving, const Offer& offer) {
  ReadyTransfer& transfer = receiving.transfer;
  if (offer.bytes != transfer.bytes.value || offer.datum != transfer.what.datum) {
    const auto what = [](DatumId datum, std::uint64_t bytes) {
      return "datum " + std::to_string(datum.value) + ", " + std::to_string(bytes) + " bytes";
    };
    voice_.suspect("rank " + std::to_string(here_.value) + " waits for transfer " +
                   std::to_string(transfer.what.version) + " of rank " +
                   std::to_string(transfer.what.from.value) + ", " +
                   what(transfer.what.datum, transfer.bytes.value) + ", and is offered " +
                   what(offer.datum, offer.bytes) + ": the ranks did not submit the same tasks");
    offers_.erase({transfer.what.from.value, here_.value, transfer.what.version});
    return;
  }
  transfer.priority = offer.priority;
  if (receiving.room == Receiving::Room::there) return begin(receiving, offer);
  if (receiving.room != Receiving::Room::none) return;
  receiving.room = Receiving::Room::queued;
  queued_.push_back(transfer.id.value);
  ask_for_room();
}

void Deliveries::ask_for_room() {
  while (!is_over_ && !queued_.empty() && receives_ < rules_.most_receives) {
    const std::uint64_t id = queued_.front();
    queued_.pop_front();
    ++receives_;
    receivings_.at(id).room = Receiving::Room::asked;
    actions_.make_room({id});
  }
}

// What was offered may have been declined meanwhile: the root offers it again.
void Deliveries::has_room(TransferId id) {
  if (is_over_) return;
  Receiving& receiving = receivings_.at(id.value);
  receiving.room = Receiving::Room::there;
  const Transfer& what = receiving.transfer.what;
  const auto found = offers_.find({what.from.value, here_.value, what.version});
  if (found != offers_.end()) begin(receiving, found->second);
}

// --- it comes

Hop Deliveries::hop(const Receiving& receiving) {
  const ReadyTransfer& transfer = receiving.transfer;
  return {transfer.id,         receiving.parent,      false,
          transfer.what.datum, transfer.what.version, transfer.bytes};
}

void Deliveries::begin(Receiving& receiving, const Offer& offered) {
  const Offer offer = offered;
  const ReadyTransfer& transfer = receiving.transfer;
  const RankId root = transfer.what.from;
  const Key key{root.value, here_.value, transfer.what.version};
  offers_.erase(key);
  awaited_.erase(key);
  receiving.parent = offer.is_small ? root : offer.parent;
  actions_.began(hop(receiving));
  if (offer.is_small) {
    actions_.write(transfer.id, offer.content);
    tell_consumed(root, offer.content.size());
    actions_.ended(hop(receiving));
    counts_.received.value += offer.bytes;
    // Counted when it is wanted here: a rank that is ahead sends what belongs to a later part of the run.
    counts_.sent.value += offer.passed_on * offer.bytes;
    counts_.forwarded.value += offer.passed_on * offer.bytes;
    --receives_;
    end_receive(transfer.id.value);
    return ask_for_room();
  }
  Source source{.id = transfer.id,
                .datum = transfer.what.datum,
                .bytes = transfer.bytes,
                .root = root,
                .route = offer.route,
                .place = Source::Place::in_ram};
  receiving.segments_left = source.segments();
  MessageBytes credit = to_bytes({.kind = MessageKind::credit,
                                  .datum = transfer.what.datum.value,
                                  .version = transfer.what.version,
                                  .number = link_.bandwidth()},
                                 TreeHeader{.root = root.value}, {},
                                 (receiving.segments_left - 1) * sizeof(std::uint16_t));
  std::byte* at = credit.data() + sizeof(MessageHeader) + sizeof(TreeHeader);
  for (std::size_t segment = 0; segment < receiving.segments_left; ++segment) {
    if (free_channels_.empty()) free_channels_.push_back({channels_++});
    const Channel channel = free_channels_.back();
    free_channels_.pop_back();
    receiving.channels.push_back(channel);
    const Piece piece = source.piece(segment);
    actions_.receive(
        add_payload({.id = transfer.id.value, .segment = segment, .bytes = piece.bytes}),
        transfer.id, offer.parent, channel, piece);
    if (segment == 0) {
      std::memcpy(credit.data() + offsetof(MessageHeader, channel), &channel.value,
                  sizeof channel.value);
      continue;
    }
    std::memcpy(at, &channel.value, sizeof channel.value);
    at += sizeof channel.value;
  }
  if (link_.learns()) {
    const Time now = actions_.clock();
    for (std::size_t s = 0; s < receiving.segments_left; ++s) link_.awaits(offer.parent, now);
  }
  voice_.post(offer.parent, credit);
  if (offer.parent != root) {
    voice_.post(root, to_bytes({.kind = MessageKind::accepted,
                                .datum = transfer.what.datum.value,
                                .version = transfer.what.version}));
  }
  if (offer.recipients.empty()) return;
  receiving.is_forwarded = true;
  source.come.assign(receiving.segments_left, false);
  Source& forwarded = sources_.try_emplace(transfer.id.value, std::move(source)).first->second;
  const std::span<const Recipient> all = offer.recipients;
  for (const Branch& branch : branches(offer.route.tree, all.size())) {
    announce(forwarded, all[branch.head], below(offer.route.tree),
             all.subspan(branch.head + 1, branch.count));
  }
}

void Deliveries::came(const Payload& payload) {
  Receiving& receiving = receivings_.at(payload.id);
  if (link_.learns()) {
    link_.came(receiving.parent, {payload.bytes}, actions_.clock());
  }
  free_channels_.push_back(receiving.channels[payload.segment]);
  --receiving.segments_left;
  const auto forwarded = sources_.find(payload.id);
  if (receiving.is_forwarded) {
    Source& source = forwarded->second;
    source.come[payload.segment] = true;
    for (std::size_t edge = 0; edge < source.edges.size(); ++edge) {
      const Edge& to = source.edges[edge];
      if (to.state != Edge::State::credited) continue;
      turns_.emplace(~to.to.priority, to.turn, payload.id, edge, payload.segment);
    }
  }
  if (receiving.segments_left == 0) {
    actions_.ended(hop(receiving));
    counts_.received.value += receiving.transfer.bytes.value;
    --receives_;
    receiving.has_come = true;
    if (receiving.is_forwarded && forwarded->second.open_edges > 0) {
      if (rules_.readers_first) actions_.share({payload.id});
    } else {
      end_receive(payload.id);
    }
  }
  send_more();
  ask_for_room();
}

// It has come, and was sent on.
void Deliveries::end_receive(std::uint64_t id) {
  sources_.erase(id);
  receivings_.erase(id);
  actions_.end({id});
}

// In parts of the bound: the sender seldom finds it reached, and is seldom told.
void Deliveries::tell_consumed(RankId root, std::uint64_t bytes) {
  Peer& peer = peers_[root.value];
  peer.consumed += bytes;
  if (peer.consumed < rules_.most_small / 4) return;
  voice_.post(root, to_bytes({.kind = MessageKind::consumed, .value = peer.consumed}));
  peer.consumed = 0;
}

// --- no room in time

void Deliveries::tick(Time now) {
  for (auto one = waiting_.rbegin(); one != waiting_.rend() && !one->until; ++one) {
    one->until = now + rules_.patience;
  }
  while (!is_over_ && !waiting_.empty() && now >= *waiting_.front().until) {
    const Key key = waiting_.front().key;
    waiting_.pop_front();
    if (offers_.contains(key)) decline(key);
  }
}

std::optional<Time> Deliveries::next() const {
  return waiting_.empty() ? std::nullopt : waiting_.front().until;
}

// Of the root itself it goes on to be offered, without those below.
void Deliveries::decline(const Key& key) {
  const auto found = offers_.find(key);
  const Offer offer = found->second;
  const MessageHeader header{.kind = MessageKind::declined,
                             .priority = offer.priority,
                             .datum = offer.datum.value,
                             .version = key.version};
  const TreeHeader tree{.root = key.root,
                        .segment = offer.route.segment,
                        .arity = offer.route.tree.arity,
                        .shape = static_cast<std::uint8_t>(offer.route.tree.shape)};
  if (offer.parent.value == key.root) {
    found->second.recipients.clear();
  } else {
    offers_.erase(found);
    voice_.post(offer.parent, to_bytes(header, tree, {}));
  }
  voice_.post({key.root}, to_bytes(header, tree, offer.recipients));
}

// --- for messages

bool Deliveries::needs(RankId rank) const {
  return std::ranges::any_of(awaited_,
                             [&](const auto& entry) {
                               return entry.first.root == rank.value &&
                                      !offers_.contains(entry.first);
                             }) ||
         std::ranges::any_of(unaccepted_,
                             [&](const auto& entry) { return entry.first.to == rank.value; });
}

void Deliveries::describe(const Tell& tell) const {
  for (const auto& [id, receiving] : receivings_) {
    const Transfer& what = receiving.transfer.what;
    const std::string root = std::to_string(what.from.value);
    const auto its = [&](const std::string& text) { tell(what.datum, what.version, text); };
    const bool is_offered = offers_.contains({what.from.value, here_.value, what.version});
    if (receiving.has_come) {
      its("has come from rank " + root + " and is sent on");
    } else if (receiving.segments_left > 0) {
      its("is on its way from rank " + std::to_string(receiving.parent.value));
    } else if (!is_offered) {
      its("is awaited from rank " + root + ", which has not offered it");
    } else if (receiving.room == Receiving::Room::asked) {
      its("is offered by rank " + root + " and waits for room in RAM");
    } else {
      its("is offered by rank " + root + " and waits for other receives");
    }
  }
  for (const auto& [id, source] : sources_) {
    for (const Edge& edge : source.edges) {
      const std::string to = "rank " + std::to_string(edge.to.rank);
      const auto its = [&, &its_datum = source.datum](const std::string& text) {
        tell(its_datum, edge.to.version, text);
      };
      if (edge.state == Edge::State::announced) {
        its("waits for credit from " + to);
      } else if (edge.state == Edge::State::done) {
        continue;
      } else if (source.place == Source::Place::comes) {
        its("is brought to RAM for " + to);
      } else if (edge.posted == 0) {
        its("has credit from " + to + " and waits for other sends");
      } else {
        its("is on its way to " + to);
      }
    }
    for (const Recipient& to : source.small) {
      tell(source.datum, to.version, "is brought to RAM for rank " + std::to_string(to.rank));
    }
  }
  for (const auto& [key, id] : unaccepted_) {
    if (edges_.contains(key)) continue;
    tell(sources_.at(id).datum, key.version,
         "is to reach rank " + std::to_string(key.to) + " through another rank");
  }
}

}  // namespace vicinal::comm
