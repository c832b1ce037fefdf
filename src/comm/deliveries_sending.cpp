// How Deliveries sends: versions of this rank, and those that this rank sends on for others.
#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/deliveries.hpp"

namespace vicinal::comm {

namespace {
TreeHeader header_of(RankId root, const Route& route, const Tree& tree) {
  return {.root = root.value,
          .segment = route.segment,
          .arity = tree.arity,
          .shape = static_cast<std::uint8_t>(tree.shape)};
}
}  // namespace

std::size_t Deliveries::Source::segments() const {
  return std::max<std::uint64_t>((bytes.value + route.segment - 1) / route.segment, 1);
}

Piece Deliveries::Source::piece(std::size_t segment) const {
  const std::uint64_t offset = segment * route.segment;
  return {offset, std::min(route.segment, bytes.value - offset)};
}

Hop Deliveries::hop(const Source& source, const Edge& edge) const {
  return {source.id, {edge.to.rank}, true, source.datum, edge.to.version, source.bytes};
}

// --- begun here

void Deliveries::send(std::span<const ReadyTransfer> group, TransferId content) {
  if (is_over_) return;
  const ReadyTransfer& first = group.front();
  Source& source = sources_
                       .try_emplace(content.value, Source{.id = content,
                                                          .datum = first.what.datum,
                                                          .bytes = first.bytes,
                                                          .root = here_,
                                                          .route = {}})
                       .first->second;
  source.members.assign(group.begin(), group.end());
  std::vector<Recipient> large;
  for (const ReadyTransfer& transfer : group) {
    const Recipient to{transfer.what.to.value, transfer.what.version,
                       rules_.by_priority ? transfer.priority : 0};
    Peer& peer = peers_[to.rank];
    if (source.bytes.value <= kMostContentInMessage &&
        peer.unconsumed + source.bytes.value <= rules_.most_small) {
      peer.unconsumed += source.bytes.value;
      source.small.push_back(to);
      continue;
    }
    large.push_back(to);
    unaccepted_.try_emplace({here_.value, to.rank, to.version}, content.value);
    ++source.unaccepted;
  }
  // Of equal priorities another one is first each time: forwarding is shared.
  const std::size_t turn = group.size() > 1 ? counts_.broadcasts++ : 0;
  const auto arrange = [&](std::vector<Recipient>& recipients) {
    if (recipients.empty()) return;
    std::rotate(recipients.begin(),
                recipients.begin() + static_cast<std::ptrdiff_t>(turn % recipients.size()),
                recipients.end());
    source.route = rules_.tree
                       ? route_along(*rules_.tree, recipients.size(), source.bytes, link_.cost())
                       : choose_route(recipients.size(), source.bytes, link_.cost());
    const std::uint64_t column = std::max<std::uint64_t>(first.column_bytes, 1);
    source.route.segment = (source.route.segment + column - 1) / column * column;
  };
  arrange(source.small);
  if (!source.small.empty()) {
    source.place = Source::Place::comes;
    ++brought_;
  }
  const bool brings = !source.small.empty();
  if (!large.empty()) {
    arrange(large);
    announce_along(source, source.route.tree, large);
  }
  if (brings) actions_.bring(content);
}

// The first of them, as many as one message can name, where they lie in the tree: by priority.
std::vector<Recipient> Deliveries::take_placed(const Source& source, const Tree& tree,
                                               std::span<const Recipient>& recipients) const {
  const auto chunk = recipients.first(std::min(recipients.size(), kMostRecipients));
  recipients = recipients.subspan(chunk.size());
  std::vector<int> priorities;
  priorities.reserve(chunk.size());
  for (const Recipient& one : chunk) {
    priorities.push_back(rules_.places_by_priority ? one.priority : 0);
  }
  const std::vector<Time> at = arrivals({.tree = tree, .segment = source.route.segment},
                                        chunk.size(), source.bytes, link_.cost());
  std::vector<Recipient> placed;
  placed.reserve(chunk.size());
  for (const std::size_t number : places_by_priority(at, priorities)) {
    placed.push_back(chunk[number]);
  }
  return placed;
}

void Deliveries::announce_along(Source& source, const Tree& tree,
                                std::span<const Recipient> recipients) {
  while (!recipients.empty()) {
    const std::vector<Recipient> placed = take_placed(source, tree, recipients);
    for (const Branch& branch : branches(tree, placed.size())) {
      announce(source, placed[branch.head], below(tree),
               std::span(placed).subspan(branch.head + 1, branch.count));
    }
  }
}

void Deliveries::announce(Source& source, const Recipient& to, const Tree& tree,
                          std::span<const Recipient> recipients) {
  edges_[{source.root.value, to.rank, to.version}] = {source.id.value, source.edges.size()};
  source.edges.push_back({.to = to});
  ++source.open_edges;
  voice_.post({to.rank}, to_bytes({.kind = MessageKind::announced,
                                   .priority = to.priority,
                                   .datum = source.datum.value,
                                   .version = to.version,
                                   .value = source.bytes.value},
                                  header_of(source.root, source.route, tree), recipients));
}

void Deliveries::send_small(Source& source) {
  std::vector<std::byte> content(source.bytes.value);
  const std::vector<Recipient> recipients = std::exchange(source.small, {});
  const auto hop_to = [&](const Recipient& to) {
    return Hop{source.id, {to.rank}, true, source.datum, to.version, source.bytes};
  };
  for (const Recipient& to : recipients) actions_.began(hop_to(to));
  actions_.read(source.id, content);
  const Tree tree = rules_.tree.value_or(source.route.tree);
  for (std::span<const Recipient> rest = recipients; !rest.empty();) {
    pass_on({.parent = here_,
             .datum = source.datum,
             .bytes = source.bytes.value,
             .route = {.tree = tree, .segment = std::max<std::uint64_t>(source.bytes.value, 1)},
             .recipients = take_placed(source, tree, rest),
             .is_small = true,
             .content = content},
            here_);
  }
  for (const Recipient& to : recipients) actions_.ended(hop_to(to));
}

// Small content, to those that this rank serves.
void Deliveries::pass_on(const Offer& offer, RankId root) {
  const std::span<const Recipient> all = offer.recipients;
  for (const Branch& branch : branches(offer.route.tree, all.size())) {
    const Recipient& to = all[branch.head];
    const auto recipients = all.subspan(branch.head + 1, branch.count);
    MessageBytes bytes = to_bytes({.kind = MessageKind::content,
                                   .priority = to.priority,
                                   .datum = offer.datum.value,
                                   .version = to.version,
                                   .value = offer.bytes},
                                  header_of(root, offer.route, below(offer.route.tree)), recipients,
                                  offer.content.size());
    if (!offer.content.empty()) {
      std::memcpy(bytes.data() + bytes.size() - offer.content.size(), offer.content.data(),
                  offer.content.size());
    }
    if (root == here_) counts_.sent.value += offer.bytes;
    voice_.post({to.rank}, bytes);
  }
}

// --- what recipients answer

bool Deliveries::credit(RankId from, const ParsedMessage& message) {
  ParsedTree parsed;
  if (!parse(message.rest, parsed)) return false;
  const Key key{parsed.tree.root, from.value, message.header.version};
  const auto found = edges_.find(key);
  if (found == edges_.end()) {
    voice_.suspect("rank " + std::to_string(from.value) + " gave credit for datum " +
                   std::to_string(message.header.datum) + ", which was not announced to it");
    return true;
  }
  const auto [id, number] = found->second;
  Source& source = sources_.at(id);
  Edge& edge = source.edges[number];
  if (parsed.rest.size() != (source.segments() - 1) * sizeof(std::uint16_t)) return false;
  edges_.erase(found);
  edge.state = Edge::State::credited;
  edge.turn = next_turn_++;
  edge.channels.push_back({message.header.channel});
  for (std::size_t at = 0; at < parsed.rest.size(); at += sizeof(std::uint16_t)) {
    Channel channel;
    std::memcpy(&channel.value, parsed.rest.data() + at, sizeof channel.value);
    edge.channels.push_back(channel);
  }
  link_.told_bandwidth(from, message.header.number);
  if (source.root == here_) accept(key);
  if (source.place == Source::Place::in_ram) {
    take_turns(source, number);
    send_more();
  } else if (source.place == Source::Place::elsewhere) {
    source.place = Source::Place::wanted;
    wanted_.emplace(~edge.to.priority, edge.turn, id);
    bring_more();
  }
  return true;
}

void Deliveries::accept(const Key& key) {
  const auto found = unaccepted_.find(key);
  if (found == unaccepted_.end()) return;
  --sources_.at(found->second).unaccepted;
  unaccepted_.erase(found);
}

void Deliveries::accepted(RankId from, const MessageHeader& header) {
  const Key key{here_.value, from.value, header.version};
  const auto found = unaccepted_.find(key);
  if (found == unaccepted_.end()) return;
  Source& source = sources_.at(found->second);
  accept(key);
  look_at(source);
}

// The root serves who has no room, and whom that one was to serve; who would have served it need not.
bool Deliveries::declined(RankId from, const ParsedMessage& message) {
  ParsedTree parsed;
  if (!parse(message.rest, parsed) ||
      parsed.tree.shape > static_cast<std::uint8_t>(TreeShape::delegated)) {
    return false;
  }
  const Key key{parsed.tree.root, from.value, message.header.version};
  const auto edge = edges_.find(key);
  if (parsed.tree.root != here_.value) {
    if (edge == edges_.end()) return true;
    const auto [id, number] = edge->second;
    edges_.erase(edge);
    end_edge(sources_.at(id), number);
    return true;
  }
  const auto found = unaccepted_.find(key);
  if (found == unaccepted_.end()) return true;
  Source& source = sources_.at(found->second);
  const Tree tree{static_cast<TreeShape>(parsed.tree.shape), parsed.tree.arity};
  for (const Recipient& one : parsed.recipients) {
    const Key its{here_.value, one.rank, one.version};
    if (!unaccepted_.contains(its) || edges_.contains(its)) return false;
  }
  if (edge == edges_.end()) {
    announce(source, {from.value, message.header.version, message.header.priority}, tree, {});
  }
  announce_along(source, tree, parsed.recipients);
  return true;
}

void Deliveries::consumed(RankId from, std::uint64_t bytes) {
  Peer& peer = peers_[from.value];
  peer.unconsumed -= std::min(peer.unconsumed, bytes);
}

// --- the content

void Deliveries::bring_more() {
  while (!is_over_ && brought_ < rules_.most_sends && !wanted_.empty()) {
    const std::uint64_t id = std::get<2>(*wanted_.begin());
    wanted_.erase(wanted_.begin());
    sources_.at(id).place = Source::Place::comes;
    ++brought_;
    actions_.bring({id});
  }
}

void Deliveries::in_ram(TransferId id) {
  if (is_over_) return;
  Source& source = sources_.at(id.value);
  source.place = Source::Place::in_ram;
  if (!source.small.empty()) send_small(source);
  for (std::size_t edge = 0; edge < source.edges.size(); ++edge) {
    if (source.edges[edge].state == Edge::State::credited) take_turns(source, edge);
  }
  send_more();
  look_at(source);
}

void Deliveries::take_turns(Source& source, std::size_t edge) {
  const Edge& to = source.edges[edge];
  for (std::size_t segment = 0; segment < to.channels.size(); ++segment) {
    if (source.come.empty() || source.come[segment]) {
      turns_.emplace(~to.to.priority, to.turn, source.id.value, edge, segment);
    }
  }
}

// The next payload is to be posted before the last has left, or the link idles until that is seen: four times what it has
// on its way at a time.
std::uint64_t Deliveries::most_at_once() const {
  const LinkCost& link = link_.cost();
  const double on_its_way = link.latency.seconds() * link.bytes_per_second;
  return std::max(rules_.most_sent_at_once,
                  static_cast<std::uint64_t>(std::min(4 * on_its_way, 1e9)));
}

void Deliveries::send_more() {
  const std::uint64_t most = most_at_once();
  const auto may_send = [&] {
    return sends_ < rules_.most_sends && (sends_ == 0 || sent_at_once_ < most);
  };
  while (!is_over_ && !turns_.empty() && may_send()) {
    const auto [priority, turn, id, number, segment] = *turns_.begin();
    turns_.erase(turns_.begin());
    Source& source = sources_.at(id);
    Edge& edge = source.edges[number];
    if (edge.posted++ == 0) actions_.began(hop(source, edge));
    const Piece piece = source.piece(segment);
    counts_.sent.value += piece.bytes;
    if (source.root != here_) counts_.forwarded.value += piece.bytes;
    ++sends_;
    sent_at_once_ += piece.bytes;
    actions_.send(add_payload({.is_sent = true, .id = id, .edge = number, .segment = segment}),
                  source.id, {edge.to.rank}, edge.channels[segment], piece);
  }
}

void Deliveries::sent(const Payload& payload) {
  --sends_;
  Source& source = sources_.at(payload.id);
  sent_at_once_ -= source.piece(payload.segment).bytes;
  Edge& edge = source.edges[payload.edge];
  if (++edge.ended == edge.channels.size()) {
    actions_.ended(hop(source, edge));
    end_edge(source, payload.edge);
  }
  send_more();
}

void Deliveries::end_edge(Source& source, std::size_t edge) {
  source.edges[edge].state = Edge::State::done;
  --source.open_edges;
  look_at(source);
}

// It may be done, or not needed in RAM for now.
void Deliveries::look_at(Source& source) {
  if (source.root != here_) {
    if (source.open_edges == 0 && receivings_.at(source.id.value).has_come)
      end_receive(source.id.value);
    return;
  }
  if (source.place == Source::Place::comes || source.place == Source::Place::wanted) return;
  const bool is_sent = std::ranges::none_of(
      source.edges, [](const Edge& edge) { return edge.state == Edge::State::credited; });
  if (!is_sent) return;
  const bool is_done = source.unaccepted == 0 && source.open_edges == 0;
  if (source.place == Source::Place::in_ram) {
    source.place = Source::Place::elsewhere;
    --brought_;
    if (!is_done) actions_.put_down(source.id);
  }
  if (is_done) {
    const std::vector<ReadyTransfer> members = std::move(source.members);
    sources_.erase(source.id.value);
    for (const ReadyTransfer& member : members) actions_.end(member.id);
  }
  bring_more();
}

}  // namespace vicinal::comm
