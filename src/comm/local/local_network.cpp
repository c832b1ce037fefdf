#include "comm/local/local_network.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/strided_copy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::comm {
namespace {

// Payloads up to this size are copied when they are sent, half of them, so that a send ends before its receive, as with
// MPI; all others are copied when they arrive.
constexpr std::uint64_t kMostCopiedAtOnce = 65536;

template <typename Thing>
void erase_told(std::vector<Thing>& things) {
  std::erase_if(things, [](const Thing& thing) { return thing.is_told; });
}

}  // namespace

LocalNetwork::LocalNetwork(std::uint32_t ranks, const LocalRules& rules)
    : ranks_(ranks), rules_(rules) {
  if (!(rules.delayed >= 0 && rules.delayed <= 1))
    throw UsageError(fmt::format("the delayed part of messages is {}: give a number from 0 to 1",
                                 rules.delayed));
  if (rules.most_per_poll == 0)
    throw UsageError("a poll that tells nothing never ends anything: let it tell 1 thing or more");
  base::Random seeds(rules.seed);
  for (std::uint32_t r = 0; r < ranks; ++r) all_.emplace_back(seeds.next());
  for (std::size_t p = 0; p < std::size_t{ranks} * ranks; ++p) pairs_.emplace_back(seeds.next());
}

void LocalNetwork::check(RankId rank) const {
  if (rank.value >= ranks_)
    throw UsageError(
        fmt::format("rank {} does not exist: there are {}, numbered from 0", rank.value, ranks_));
}

void LocalNetwork::check_ends(RankId own, RankId other) const {
  check(other);
  if (own == other)
    throw UsageError(
        fmt::format("rank {} posts something for itself: only others are reached", own.value));
}

void LocalNetwork::check_memory(const std::byte* memory, const Layout& layout, RankId rank,
                                Channel channel) {
  if (channel.value >= kChannels)
    throw UsageError(fmt::format("rank {} uses channel {}: the last is {}", rank.value,
                                 channel.value, kChannels - 1));
  if (layout.bytes().value == 0) return;
  if (memory == nullptr)
    throw UsageError(fmt::format("rank {} posts {} bytes on channel {} without memory", rank.value,
                                 layout.bytes().value, channel.value));
  if (layout.columns > 1 && layout.stride_bytes < layout.column_bytes)
    throw UsageError(
        fmt::format("rank {} posts columns of {} bytes on channel {} that overlap: the next is {} "
                    "bytes further on",
                    rank.value, layout.column_bytes, channel.value, layout.stride_bytes));
}

void LocalNetwork::note_transport(RankId rank) {
  check(rank);
  const std::lock_guard lock(mutex_);
  if (std::exchange(rank_of(rank).has_transport, true))
    throw UsageError(
        fmt::format("rank {} has had its transport: there is one for each rank", rank.value));
}

// Number of polls that pass in vain. 0: the next poll may tell.
std::uint64_t LocalNetwork::draw_delay(base::Random& random) const {
  // Drawn in any case: rules of other numbers leave the rest as it is.
  const bool is_delayed = random.uniform() < rules_.delayed;
  const std::uint64_t share = random.next();
  return is_delayed && rules_.most_delay > 0 ? 1 + share % rules_.most_delay : 0;
}

void LocalNetwork::post_message(RankId from, RankId to, std::span<const std::byte> bytes) {
  check_ends(from, to);
  if (bytes.size() > kMostMessage)
    throw UsageError(fmt::format("rank {} sends rank {} a message of {} bytes: the largest has {}",
                                 from.value, to.value, bytes.size(), kMostMessage));
  const std::lock_guard lock(mutex_);
  const Rank& receiver = rank_of(to);
  if (rank_of(from).is_killed || receiver.is_killed || receiver.is_closed) return;
  Pair& pair = pair_of(from, to);
  pair.messages.push_back(
      {{bytes.begin(), bytes.end()}, receiver.polls + 1 + draw_delay(pair.random)});
  ++pair.traffic.messages;
  pair.traffic.message_bytes += bytes.size();
}

LocalNetwork::Receive& LocalNetwork::receive_for(RankId from, RankId to, Channel channel,
                                                 std::uint64_t bytes) {
  std::map<Place, Receive>& receives = rank_of(to).receives;
  const auto found = receives.find({from, channel});
  const auto sent = [&] {
    return fmt::format("rank {} sends {} bytes to rank {} on channel {}", from.value, bytes,
                       to.value, channel.value);
  };
  if (found == receives.end())
    throw UsageError(
        fmt::format("{}, where rank {} has posted no receive from rank {}: post the "
                    "receive first",
                    sent(), to.value, from.value));
  if (found->second.is_taken)
    throw UsageError(
        fmt::format("{} while another payload is under way there: wait for its end "
                    "at the receiver",
                    sent()));
  const std::uint64_t expected = found->second.target.layout.bytes().value;
  if (expected != bytes)
    throw UsageError(
        fmt::format("{}, where rank {} waits for {} bytes", sent(), to.value, expected));
  return found->second;
}

void LocalNetwork::post_send(RankId from, RankId to, Channel channel, const LocalSource& source,
                             PayloadId payload) {
  check_ends(from, to);
  check_memory(source.memory, source.layout, from, channel);
  const std::uint64_t bytes = source.layout.bytes().value;
  const std::lock_guard lock(mutex_);
  Rank& sender = rank_of(from);
  Rank& receiver = rank_of(to);
  if (sender.is_closed)
    throw UsageError(
        fmt::format("rank {} sends rank {} a payload on channel {} after cancel(): "
                    "only messages may follow it",
                    from.value, to.value, channel.value));
  if (sender.is_killed || receiver.is_killed || receiver.is_closed) return;
  Receive& receive = receive_for(from, to, channel, bytes);
  receive.is_taken = true;
  Pair& pair = pair_of(from, to);
  Arriving arriving{{from, channel}, source, payload};
  arriving.due = receiver.polls + 1 + draw_delay(pair.random);
  arriving.delay_of_end = draw_delay(pair.random);
  const bool is_early = pair.random.below(2) == 0;
  // A silent rank's end of a payload is not reached.
  if (is_early && bytes <= kMostCopiedAtOnce && !sender.is_stopped && !receiver.is_stopped) {
    engine::strided_copy(receive.target.memory, receive.target.layout, source.memory,
                         source.layout);
    arriving.is_copied = true;
    sender.ends.push_back({payload, to, sender.polls + 1 + arriving.delay_of_end});
  }
  receiver.arriving.push_back(arriving);
  ++pair.traffic.payloads;
  pair.traffic.payload_bytes += bytes;
}

void LocalNetwork::post_receive(RankId at, RankId from, Channel channel, const LocalTarget& target,
                                PayloadId payload) {
  check_ends(at, from);
  check_memory(target.memory, target.layout, at, channel);
  const std::lock_guard lock(mutex_);
  Rank& receiver = rank_of(at);
  if (receiver.is_closed)
    throw UsageError(
        fmt::format("rank {} posts a receive from rank {} on channel {} after "
                    "cancel(): only messages may follow it",
                    at.value, from.value, channel.value));
  if (receiver.is_killed) return;
  if (!receiver.receives.try_emplace({from, channel}, Receive{target, payload}).second)
    throw UsageError(
        fmt::format("rank {} posts a second receive from rank {} on channel {}: wait "
                    "for the end of the first",
                    at.value, from.value, channel.value));
}

// All that may be told, in an order of the seed's; as many as one poll tells.
std::vector<LocalNetwork::Turn> LocalNetwork::draw_turns(RankId at) {
  Rank& me = rank_of(at);
  std::vector<Turn> turns;
  for (std::uint32_t from = 0; from < ranks_; ++from) {
    if (all_[from].is_stopped) continue;
    for (const Message& message : pair_of({from}, at).messages) {
      if (message.due > me.polls) break;
      turns.push_back({Turn::Kind::message, from});
    }
  }
  for (std::size_t i = 0; i < me.arriving.size(); ++i) {
    if (me.arriving[i].due <= me.polls && !rank_of(me.arriving[i].place.from).is_stopped)
      turns.push_back({Turn::Kind::payload, i});
  }
  for (std::size_t i = 0; i < me.ends.size(); ++i) {
    if (me.ends[i].due <= me.polls) turns.push_back({Turn::Kind::end, i});
  }
  for (std::size_t i = 0; i < me.losses.size(); ++i) {
    if (me.losses[i].due <= me.polls) turns.push_back({Turn::Kind::loss, i});
  }
  for (std::size_t left = turns.size(); left > 1; --left)
    std::swap(turns[left - 1], turns[me.random.below(left)]);
  if (turns.size() > rules_.most_per_poll) turns.resize(rules_.most_per_poll);
  return turns;
}

LocalEvent LocalNetwork::told_message(RankId from, RankId to) {
  std::deque<Message>& messages = pair_of(from, to).messages;
  LocalEvent event{LocalEvent::Kind::message, from, std::move(messages.front().bytes), {}, {}};
  messages.pop_front();
  return event;
}

LocalEvent LocalNetwork::told_payload(Rank& receiver, RankId at, Arriving& payload) {
  const auto receive = receiver.receives.find(payload.place);
  if (!payload.is_copied) {
    engine::strided_copy(receive->second.target.memory, receive->second.target.layout,
                         payload.source.memory, payload.source.layout);
    Rank& sender = rank_of(payload.place.from);
    sender.ends.push_back({payload.sent, at, sender.polls + 1 + payload.delay_of_end});
  }
  const PayloadId received = receive->second.payload;
  receiver.receives.erase(receive);
  payload.is_told = true;
  return {LocalEvent::Kind::payload, {}, {}, received, {}};
}

void LocalNetwork::collect(RankId at, std::deque<LocalEvent>& told) {
  const std::lock_guard lock(mutex_);
  Rank& me = rank_of(at);
  if (me.is_closed || me.is_stopped || me.is_killed) return;
  ++me.polls;
  const std::vector<Turn> turns = draw_turns(at);
  if (turns.empty()) return;
  for (const Turn& turn : turns) {
    switch (turn.kind) {
      case Turn::Kind::message:
        told.push_back(told_message({static_cast<std::uint32_t>(turn.at)}, at));
        break;
      case Turn::Kind::payload:
        told.push_back(told_payload(me, at, me.arriving[turn.at]));
        break;
      case Turn::Kind::end:
        told.push_back({LocalEvent::Kind::payload, {}, {}, me.ends[turn.at].sent, {}});
        me.ends[turn.at].is_told = true;
        break;
      case Turn::Kind::loss:
        told.push_back({LocalEvent::Kind::loss,
                        me.losses[turn.at].rank,
                        {},
                        {},
                        std::move(me.losses[turn.at].why)});
        me.losses[turn.at].is_told = true;
        break;
    }
  }
  erase_told(me.arriving);
  erase_told(me.ends);
  erase_told(me.losses);
}

// What others have of its payloads, and what is under way to it.
void LocalNetwork::forget(RankId rank) {
  Rank& gone = rank_of(rank);
  gone.receives.clear();
  gone.arriving.clear();
  gone.ends.clear();
  gone.losses.clear();
  for (std::uint32_t other = 0; other < ranks_; ++other) {
    pair_of({other}, rank).messages.clear();
    std::erase_if(all_[other].arriving, [&](const Arriving& payload) {
      // What was copied has left, and perhaps its end was told: it arrives, unless all is lost.
      return payload.place.from == rank && (gone.is_killed || !payload.is_copied);
    });
  }
}

void LocalNetwork::close(RankId rank) {
  const std::lock_guard lock(mutex_);
  rank_of(rank).is_closed = true;
  forget(rank);
}

void LocalNetwork::stop(RankId rank, bool silent) {
  check(rank);
  const std::lock_guard lock(mutex_);
  rank_of(rank).is_stopped = silent;
}

void LocalNetwork::kill(RankId rank, const std::string& why) {
  check(rank);
  const std::string text = why.empty() ? fmt::format("rank {} was killed", rank.value) : why;
  const std::lock_guard lock(mutex_);
  if (std::exchange(rank_of(rank).is_killed, true)) return;
  forget(rank);
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (r == rank.value) continue;
    Rank& other = all_[r];
    Pair& pair = pair_of(rank, {r});
    pair.messages.clear();
    std::erase_if(other.ends, [rank](const EndOfSend& end) { return end.to == rank; });
    if (!other.is_killed && !other.is_closed)
      other.losses.push_back({rank, text, other.polls + 1 + draw_delay(pair.random)});
  }
}

LocalTraffic LocalNetwork::traffic(RankId from, RankId to) const {
  check(from);
  check(to);
  const std::lock_guard lock(mutex_);
  return pairs_[std::size_t{from.value} * ranks_ + to.value].traffic;
}

std::size_t LocalNetwork::under_way() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const Rank& rank : all_) sum += rank.arriving.size() + rank.ends.size() + rank.losses.size();
  for (const Pair& pair : pairs_) sum += pair.messages.size();
  return sum;
}

}  // namespace vicinal::comm
