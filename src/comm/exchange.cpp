#include "comm/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vicinal::comm {

Exchange::Exchange(RankId here, std::uint32_t ranks, const ExchangeRules& rules,
                   ExchangeActions& actions)
    : here_(here),
      ranks_(ranks),
      rules_(rules),
      actions_(actions),
      peers_(ranks),
      deliveries_(here, ranks, rules.deliveries, actions,
                  {.post = [this](RankId to, const MessageBytes& bytes) { post(to, bytes); },
                   .suspect = [this](const std::string& text) { suspect(text); }}),
      watch_({.silence = rules.silence, .answer = rules.suspicion}, ranks > 2),
      clocks_(here.value == 0 ? ClockRules{.rounds = 0} : rules.clocks) {}

void Exchange::post(RankId to, const MessageBytes& bytes) {
  ++messages_;
  actions_.post_message(to, bytes);
}

void Exchange::post_to_all(const MessageBytes& bytes) {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (rank != here_.value) post({rank}, bytes);
  }
}

void Exchange::start(Time now, std::uint64_t version, bool is_limited, std::uint32_t run) {
  version_ = version;
  if (here_.value == 0) run_ = run;
  watch_.begin(now);
  peers_[here_.value].has_begun = true;
  ++begun_;
  any_is_limited_ |= is_limited;
  if (rules_.is_simulated) {
    begun_ = ranks_;
    return;
  }
  post_to_all(to_bytes({.kind = MessageKind::hello,
                        .datum = run,
                        .value = version,
                        .number = is_limited ? 1U : 0U}));
}

// --- content

void Exchange::send_ready(std::span<const ReadyTransfer> group, TransferId content) {
  deliveries_.send(group, content);
  for (const ReadyTransfer& transfer : group) {
    if (peers_[transfer.what.to.value].has_finished) require_nothing_of(transfer.what.to);
  }
}

void Exchange::receive_ready(const ReadyTransfer& transfer) {
  deliveries_.receive(transfer);
  if (peers_[transfer.what.from.value].has_finished) require_nothing_of(transfer.what.from);
}

// --- what others say

void Exchange::greet(RankId from, const ParsedMessage& message) {
  Peer& peer = peers_[from.value];
  if (peer.has_begun) return;
  peer.has_begun = true;
  ++begun_;
  any_is_limited_ |= message.header.number != 0;
  if (from.value == 0) run_ = message.header.datum;
  if (message.header.value != version_) {
    fail("rank " + std::to_string(from.value) +
         " runs another build of the program or of Vicinal than rank " +
         std::to_string(here_.value) + "; start the same on all ranks");
  }
}

void Exchange::require(bool is_message, RankId from, std::size_t bytes) {
  if (is_message) return;
  fail("rank " + std::to_string(from.value) + " sent " + std::to_string(bytes) +
       " bytes that are no message");
}

void Exchange::message_arrived(RankId from, std::span<const std::byte> bytes) {
  ParsedMessage message;
  Peer& peer = peers_[from.value];
  if (from == before()) watch_.heard();
  if (has_failed_) return;
  if (!parse(bytes, message)) return require(false, from, bytes.size());
  const MessageHeader& header = message.header;
  switch (header.kind) {
    case MessageKind::hello:
      return greet(from, message);
    case MessageKind::announced:
      return require(deliveries_.announced(from, message), from, bytes.size());
    case MessageKind::content:
      return require(deliveries_.content(from, message), from, bytes.size());
    case MessageKind::credit:
      return require(deliveries_.credit(from, message), from, bytes.size());
    case MessageKind::declined:
      return require(deliveries_.declined(from, message), from, bytes.size());
    case MessageKind::accepted:
      return deliveries_.accepted(from, header);
    case MessageKind::consumed:
      return deliveries_.consumed(from, header.value);
    case MessageKind::failed:
      return stop(message.text());
    case MessageKind::finished:
      finished_ += peer.has_finished ? 0 : 1;
      peer.has_finished = true;
      return require_nothing_of(from);
    case MessageKind::left:
      if (from == before()) watch_.left();
      if (peer.has_finished) return;
      return fail(
          "rank " + std::to_string(from.value) +
          " has left early: its program has ended before those of the other ranks were done");
    case MessageKind::alive:
      if (from == before()) {
        watch_.told(message.text());
      } else if (watch_.answered()) {
        rank_lost(before(), watch_.why());
      }
      return;
    case MessageKind::asks_alive:
      return beat_to(from);
    case MessageKind::sequence: {
      std::vector<std::uint32_t> hashes(message.rest.size() / sizeof(std::uint32_t));
      if (!hashes.empty())
        std::memcpy(hashes.data(), message.rest.data(), hashes.size() * sizeof(std::uint32_t));
      comparison_.add_other(header.number, hashes, header.value != 0);
      return compare();
    }
    case MessageKind::diverged:
      return diverged(from, message);
    case MessageKind::stalled:
      return begin_report(from);
    case MessageKind::asks_report:
      return answer_report();
    case MessageKind::report:
      return take_report(from, message);
    case MessageKind::asks_time:
      deliveries_.link().told_round_trip(from, Time{static_cast<std::int64_t>(header.number)});
      return post(from, to_bytes({.kind = MessageKind::tells_time,
                                  .value = header.value,
                                  .number = static_cast<std::uint64_t>(actions_.clock().ns)}));
    case MessageKind::tells_time:
      return take_time(header);
  }
}

// It has offered all that it ever will, and will give no credit. What others send on for it may be on its way.
void Exchange::require_nothing_of(RankId rank) {
  if (!deliveries_.needs(rank)) return;
  suspect("rank " + std::to_string(rank.value) + " has ended, and rank " +
              std::to_string(here_.value) +
              " still waits for it: the ranks did not submit the same tasks",
          rank);
}

// --- beginning and end

// Each rank is watched by the one behind it.
void Exchange::tick(Time now) {
  if (has_failed_ || ranks_ == 1) return;
  if (rules_.is_simulated) return deliveries_.tick(now);
  if (!beaten_ || now - *beaten_ >= rules_.beat) {
    beaten_ = now;
    beat_to(behind());
  }
  look_at_watched(now);
  deliveries_.tick(now);
  if (!is_over_ && clocks_.tick(now)) ask_time();
  look_at_suspicion(now);
  if (report_) {
    if (!report_->until) report_->until = now + rules_.answer;
    if (now >= *report_->until) end_report();
  }
}

void Exchange::beat_to(RankId rank) {
  constexpr std::size_t kMostStatus = 200;
  post(rank, to_bytes({.kind = MessageKind::alive},
                      std::string_view(actions_.status()).substr(0, kMostStatus)));
}

// Perhaps it is this rank that is cut off: others are asked.
void Exchange::look_at_watched(Time now) {
  switch (watch_.tick(now)) {
    case Watch::Finding::nothing:
      return;
    case Watch::Finding::asks:
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        if (rank != here_.value && rank != before().value) {
          post({rank}, to_bytes({.kind = MessageKind::asks_alive}));
        }
      }
      return;
    case Watch::Finding::lost:
      const std::string alone = ranks_ == 2 ? ""
                                            : ", nor of any other rank when asked: rank " +
                                                  std::to_string(here_.value) + " may be cut off";
      return rank_lost(before(), watch_.why() + alone);
  }
}

// The one behind it knows most.
void Exchange::rank_lost(RankId rank, const std::string& why) {
  if (has_failed_ || (peers_[rank.value].has_finished && is_over_)) return;
  const std::string text = "rank " + std::to_string(rank.value) + " is lost: " + why;
  if (rank == before()) {
    fail(text + watch_.last_known());
  } else {
    suspect(text);
  }
}

void Exchange::suspect(const std::string& text, std::optional<RankId> of) {
  if (rules_.is_simulated && !of) return fail(text);
  if (!suspicion_ && !has_failed_) suspicion_ = Suspicion{text, of, {}};
}

void Exchange::look_at_suspicion(Time now) {
  if (!suspicion_) return;
  if (!suspicion_->until) suspicion_->until = now + rules_.suspicion;
  if (now < *suspicion_->until) return;
  const Suspicion suspicion = *std::exchange(suspicion_, std::nullopt);
  if (!suspicion.of || deliveries_.needs(*suspicion.of)) return fail(suspicion.text);
  // Another one may have come meanwhile.
  for (std::uint32_t rank = 0; rank < ranks_ && !suspicion_; ++rank) {
    if (peers_[rank].has_finished && rank != here_.value) require_nothing_of({rank});
  }
}

void Exchange::fail(const std::string& text) {
  if (has_failed_) return;
  post_to_all(to_bytes({.kind = MessageKind::failed}, text));
  stop(text);
}

void Exchange::stop(const std::string& text) {
  if (has_failed_) return;
  has_failed_ = true;
  is_over_ = true;
  deliveries_.stop();
  actions_.run_failed(text);
}

void Exchange::finish() {
  if (is_over_) return;
  if (here_.value == 0 || rules_.clocks.rounds == 0) return tell_finished();
  if (clocks_.begin_last()) ask_time();
}

void Exchange::tell_finished() {
  is_over_ = true;
  peers_[here_.value].has_finished = true;
  ++finished_;
  if (rules_.is_simulated) {
    finished_ = ranks_;
    return;
  }
  post_to_all(to_bytes({.kind = MessageKind::finished}));
}

// --- clocks

void Exchange::ask_time() {
  post({0}, to_bytes({.kind = MessageKind::asks_time,
                      .value = static_cast<std::uint64_t>(actions_.clock().ns),
                      .number = static_cast<std::uint64_t>(deliveries_.link().round_trip().ns)}));
}

void Exchange::take_time(const MessageHeader& header) {
  const auto time = [](std::uint64_t ns) { return Time{static_cast<std::int64_t>(ns)}; };
  const Time now = actions_.clock();
  deliveries_.link().answered(now - time(header.value));
  const ClockRounds::Answered answered =
      clocks_.answered(time(header.value), time(header.number), now);
  if (answered.comparison) actions_.clock_compared(*answered.comparison);
  if (is_over_) return;
  if (answered.asks_again) return ask_time();
  if (answered.was_last) tell_finished();
}

// --- what the application calls

void Exchange::called(CallBatch batch) {
  if (has_failed_) return;
  MessageBytes bytes = to_bytes(
      {.kind = MessageKind::sequence, .value = batch.is_last ? 1U : 0U, .number = batch.first},
      batch.hashes.size() * sizeof(std::uint32_t));
  if (!batch.hashes.empty()) {
    std::memcpy(bytes.data() + sizeof(MessageHeader), batch.hashes.data(),
                bytes.size() - sizeof(MessageHeader));
  }
  post(behind(), bytes);
  const bool is_last = batch.is_last;
  const std::uint64_t end = batch.first + batch.calls.size();
  comparison_.add_own(std::move(batch));
  if (is_last) comparison_.end_own(end);
  compare();
}

// The rank before is told, and tells all: it alone can say what it has called.
void Exchange::compare() {
  const std::optional<std::uint64_t> call = comparison_.find_difference();
  if (!call) return;
  const auto name_of = [this](DatumId datum) { return actions_.name_of(datum); };
  post(before(), to_bytes({.kind = MessageKind::diverged, .number = *call},
                          comparison_.describe(*call, name_of)));
}

void Exchange::diverged(RankId from, const ParsedMessage& message) {
  const auto name_of = [this](DatumId datum) { return actions_.name_of(datum); };
  const std::uint64_t call = message.header.number;
  std::string here =
      "rank " + std::to_string(here_.value) + " " + comparison_.describe(call, name_of);
  std::string there = "rank " + std::to_string(from.value) + " " + message.text();
  if (from < here_) std::swap(here, there);
  fail("the ranks do not submit the same tasks; " + comparison_.place(call) + ": " + here + ", " +
       there);
}

// --- who waits for what

void Exchange::stalled() {
  if (here_.value == 0) return begin_report(here_);
  if (!has_failed_) post({0}, to_bytes({.kind = MessageKind::stalled}));
}

void Exchange::begin_report(RankId by) {
  if (report_ || has_failed_) return;
  report_.emplace(Report{{ranks_, by}, {}});
  report_->all.add(here_, own_report(), true);
  if (ranks_ == 1) return end_report();
  post_to_all(to_bytes({.kind = MessageKind::asks_report}));
}

std::string Exchange::own_report() {
  constexpr std::size_t kMostLines = 20;
  constexpr std::size_t kMostBytes = 4 * kMostContentInMessage;
  return (actions_.report() + describe(kMostLines)).substr(0, kMostBytes);
}

void Exchange::answer_report() {
  const std::string text = own_report();
  const std::size_t pieces = text.size() / kMostContentInMessage + 1;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    post({0}, to_bytes({.kind = MessageKind::report, .number = pieces - 1 - piece},
                       std::string_view(text).substr(piece * kMostContentInMessage)));
  }
}

void Exchange::take_report(RankId from, const ParsedMessage& message) {
  if (!report_) return;
  report_->all.add(from, message.text(), message.header.number == 0);
  if (report_->all.is_whole()) end_report();
}

void Exchange::end_report() {
  const std::string text = report_->all.text();
  report_.reset();
  actions_.tell_stall(text);
}

std::string Exchange::describe(std::size_t most) const {
  std::string text;
  std::size_t lines = 0;
  deliveries_.describe([&](DatumId datum, std::uint32_t version, const std::string& what) {
    if (lines++ >= most) return;
    text += actions_.name_of(datum) + " (transfer " + std::to_string(version) + ") " + what + "\n";
  });
  return text;
}

}  // namespace vicinal::comm
