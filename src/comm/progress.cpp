#include "comm/progress.hpp"

#include <algorithm>
#include <random>

#include "base/log.hpp"
#include "engine/strided_copy.hpp"
#include "trace/clock.hpp"
#include "vicinal/error.hpp"

namespace vicinal::comm {

namespace {
std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "something that is no std::exception was thrown";
  }
}
}  // namespace

// --- for the runtime

void Progress::find_broadcasts(Finding way) {
  const std::lock_guard lock(mutex_);
  way_ = way;
}

void Progress::begin(engine::Engine& engine, engine::Transfers& transfers, const RankVoice& voice,
                     std::uint64_t version, bool is_limited) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::idle) {
      throw UsageError(
          "a runtime of this process uses the other ranks already; end it before the next one "
          "begins");
    }
    if (!failure_.empty()) throw RankError("a runtime before this one has failed: " + failure_);
    state_ = State::begins;
    counts_ = {};
    finding_ = BroadcastFinding(way_);
    compared_.reset();
  }
  transfers.attach(*this);
  tell([this, &engine, &transfers, &voice, version, is_limited] {
    engine_ = &engine;
    transfers_ = &transfers;
    voice_ = &voice;
    is_ahead_.assign(ranks_, false);
    has_said_hello_.assign(ranks_, false);
    exchange_.emplace(rank_, ranks_, rules_, static_cast<ExchangeActions&>(*this));
    exchange_->start(now(), version, is_limited, std::random_device{}());
    std::deque<std::pair<RankId, MessageBytes>> early = std::exchange(early_, {});
    for (const auto& [from, bytes] : early) message_arrived(from, bytes);
    for (const auto& [rank, why] : losses_) exchange_->rank_lost(rank, why);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if (has_left_[rank])
        exchange_->message_arrived({rank}, to_bytes({.kind = MessageKind::left}));
    }
  });
  std::unique_lock lock(mutex_);
  await(lock, [this] { return state_ != State::begins; });
  if (state_ != State::failed) return;
  lock.unlock();
  forget_runtime();
  throw RankError(failure_);
}

// Under the mutex: a comparison that is made meanwhile is recorded here or by clock_compared, or by both.
void Progress::begin_recording() {
  if (shared_recording() != nullptr) return;  // its file says it, and the clock of all is one
  const std::lock_guard lock(mutex_);
  trace::Recorder& recorder = engine_->recorder();
  recorder.record<trace::Event::rank_known>(rank_.value, ranks_, run_);
  if (compared_) record(*compared_);
}

bool Progress::any_is_limited() const {
  const std::lock_guard lock(mutex_);
  return any_is_limited_;
}

std::uint64_t Progress::add(const Transfer& transfer, const Layout& layout, int priority,
                            bool takes_place) {
  const std::uint64_t column = layout.contiguous() ? 1 : layout.column_bytes;
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = next_++;
  under_way_.fetch_add(1, std::memory_order_acq_rel);
  Added& added =
      added_.try_emplace(number, Added{{{number}, transfer, layout.bytes(), priority, column}})
          .first->second;
  if (takes_place && transfer.from == rank_) added.group = finding_.join(added.transfer);
  return number;
}

void Progress::announce_readers(DatumId datum, std::uint32_t readers) {
  const std::lock_guard lock(mutex_);
  finding_.announce(datum, readers);
}

void Progress::fail(const std::string& text) {
  tell([this, text] {
    if (exchange_) exchange_->fail(text);
  });
}

void Progress::called(CallBatch batch) {
  // A command can be copied.
  tell([this, shared = std::make_shared<CallBatch>(std::move(batch))] {
    if (exchange_) exchange_->called(std::move(*shared));
  });
}

void Progress::stalled() {
  tell([this] {
    if (exchange_) exchange_->stalled();
  });
}

void Progress::suspect(const std::string& text) {
  tell([this, text] {
    if (exchange_) exchange_->suspect(text);
  });
}

std::string Progress::finish(bool is_early) {
  tell([this, is_early] {
    if (exchange_ && !is_early) exchange_->finish();
  });
  std::unique_lock lock(mutex_);
  await(lock, [this] { return state_ != State::runs; });
  lock.unlock();
  forget_runtime();
  lock.lock();
  return failure_;
}

// The thread still has the exchange, the engine, and what it holds for transfers that have failed.
void Progress::forget_runtime() {
  tell_and_wait([this] {
    exchange_.reset();
    engine_ = nullptr;
    transfers_ = nullptr;
    voice_ = nullptr;
  });
  const std::lock_guard lock(mutex_);
  state_ = State::idle;
}

Progress::Counts Progress::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.finding = finding_.counts();
  return counts;
}

std::string Progress::describe() {
  constexpr std::size_t kMostLines = 20;
  std::string text;
  tell_and_wait([&] {
    if (exchange_) text = exchange_->describe(kMostLines);
  });
  return text;
}

// --- from the engine

void Progress::submitted(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Added& added = added_.at(number);
  if (added.transfer.what.from == rank_) added.group = finding_.join(added.transfer);
}

void Progress::ready(std::uint64_t number, graph::Task& task) {
  std::unique_lock lock(mutex_);
  auto entry = added_.extract(number);
  const ReadyTransfer transfer = entry.mapped().transfer;
  Group group = std::move(entry.mapped().group);
  if (!group && transfer.what.from == rank_) group = finding_.join(transfer);
  if (group) finding_.ready(*group);
  commands_.emplace_back([this, transfer, group, &task] { give_access(transfer, task, group); });
  lock.unlock();
  wake();
}

void Progress::give_access(const ReadyTransfer& transfer, graph::Task& task, const Group& group) {
  const std::uint64_t id = transfer.id.value;
  Carried& one = carried_.try_emplace(id, Carried{.transfer = transfer}).first->second;
  one.task = &task;
  const bool sends = transfer.what.from == rank_;
  if (one.is_done) return end_with(id, Outcome::done);
  if (exchange_->has_failed()) return end_with(id, Outcome::cancelled);
  if (sends && engine::Transfers::is_lost(task)) {
    // The error behind it is told, if there is one. It ends the transfer, too: not before, for a wait that sees the
    // end of all takes the error.
    look_at_errors();
    return exchange_->fail("rank " + std::to_string(rank_.value) + " has lost " +
                           voice_->name_of(transfer.what.datum) + ", which rank " +
                           std::to_string(transfer.what.to.value) +
                           " is to receive: the task that writes it has failed or was cancelled");
  }
  if (!sends) {
    engine_->awaited().begin(now());
    one.is_awaited = true;
    return exchange_->receive_ready(transfer);
  }
  leave(transfer, *group);
}

// All sends of the group, if it has not left: this is the first of them that can be read.
void Progress::leave(const ReadyTransfer& first, SendGroup& group) {
  std::unique_lock lock(mutex_);
  const std::vector<ReadyTransfer> all = finding_.leave(group);
  lock.unlock();
  if (all.empty()) return;
  for (const ReadyTransfer& other : all) {
    carried_.try_emplace(other.id.value, Carried{.transfer = other});
  }
  exchange_->send_ready(all, first.id);
}

void Progress::held(std::uint64_t number, const std::exception_ptr& error) {
  tell([this, number, error] {
    const auto found = carried_.find(number);
    if (found == carried_.end()) return;
    Carried& one = found->second;
    one.state = Carried::State::held;
    if (error) {
      engine_->errors().report(error);
      end_with(number, Outcome::cancelled);
      return exchange_->fail("rank " + std::to_string(rank_.value) + ": " + text_of(error));
    }
    if (exchange_->has_failed()) return end_with(number, Outcome::cancelled);
    if (one.transfer.what.from == rank_) {
      exchange_->deliveries().in_ram({number});
    } else {
      exchange_->deliveries().has_room({number});
    }
  });
}

// --- from the exchange

void Progress::post_message(RankId to, std::span<const std::byte> bytes) {
  transport_->post_message(to, bytes);
}

void Progress::bring(TransferId id) {
  Carried& one = carried_.at(id.value);
  one.state = Carried::State::asked;
  transfers_->bring(*one.task);
}
void Progress::make_room(TransferId id) {
  Carried& one = carried_.at(id.value);
  one.state = Carried::State::asked;
  transfers_->hold(*one.task);
}

void Progress::put_down(TransferId id) {
  Carried& one = carried_.at(id.value);
  one.state = Carried::State::idle;
  transfers_->put_down(*one.task);
}

namespace {
// Where a piece of what the view shows lies, and how. It begins and ends with a column, or there are no gaps. Simulated content
// lies nowhere.
OperandView part_of(const OperandView& view, Piece piece) {
  if (piece.bytes == view.layout.bytes().value) return view;
  const auto at = [&](std::uint64_t offset) {
    return view.address != nullptr ? view.address + offset : nullptr;
  };
  if (view.layout.contiguous()) {
    return {at(piece.offset), {piece.bytes, 1, piece.bytes, view.layout.element_bytes}};
  }
  const std::uint64_t column = view.layout.column_bytes;
  Layout layout = view.layout;
  layout.columns = piece.bytes / column;
  return {at(piece.offset / column * layout.stride_bytes), layout};
}
}  // namespace

void Progress::send(PayloadId payload, TransferId id, RankId to, Channel channel, Piece piece) {
  const graph::Task& task = *carried_.at(id.value).task;
  const OperandView part = part_of(engine::Transfers::view(task), piece);
  ++payloads_;
  posts(*task.accesses()[0].handle);
  transport_->post_send(to, channel, part.address, part.layout, payload);
}

void Progress::receive(PayloadId payload, TransferId id, RankId from, Channel channel,
                       Piece piece) {
  const graph::Task& task = *carried_.at(id.value).task;
  const OperandView part = part_of(engine::Transfers::view(task), piece);
  ++payloads_;
  posts(*task.accesses()[0].handle);
  transport_->post_receive(from, channel, part.address, part.layout, payload);
}

void Progress::read(TransferId id, std::span<std::byte> content) {
  const OperandView view = engine::Transfers::view(*carried_.at(id.value).task);
  if (!content.empty() && !rules_.is_simulated)
    engine::gather(content.data(), view.address, view.layout, 0, content.size());
}

void Progress::write(TransferId id, std::span<const std::byte> content) {
  const OperandView view = engine::Transfers::view(*carried_.at(id.value).task);
  if (content.empty() || rules_.is_simulated) return;
  engine::scatter(view.address, view.layout, content.data(), 0, content.size());
}

void Progress::share(TransferId id) {
  Carried& one = carried_.at(id.value);
  if (std::exchange(one.is_awaited, false)) engine_->awaited().end(now());
  transfers_->share(*one.task);
}

// Counted first: who waits for it looks at the counts then.
void Progress::end(TransferId id) {
  {
    const std::lock_guard lock(mutex_);
    count();
  }
  Carried& one = carried_.at(id.value);
  if (one.task == nullptr) {
    one.is_done = true;
    return;
  }
  end_with(id.value, Outcome::done);
}

// The choices of the field `direction`.
namespace {
std::uint64_t direction(const Hop& hop) {
  return hop.is_sent ? 0 : 1;
}
}  // namespace

void Progress::began(const Hop& hop) {
  engine_->begin_message(hop.bytes);
  if (!engine_->recorder().on(trace::Category::transfers)) return;
  engine_->recorder().record<trace::Event::message_began>(
      hop.other.value, carried_.at(hop.id.value).task->accesses()[0].handle->id.value,
      direction(hop), hop.datum.value, hop.version, hop.bytes.value);
}

void Progress::ended(const Hop& hop) {
  engine_->end_message(hop.bytes);
  if (!engine_->recorder().on(trace::Category::transfers)) return;
  engine_->recorder().record<trace::Event::message_ended>(
      hop.other.value, carried_.at(hop.id.value).task->accesses()[0].handle->id.value,
      direction(hop), hop.datum.value, hop.version);
}

void Progress::count() {
  counts_.deliveries = exchange_->deliveries().counts();
  counts_.link = exchange_->deliveries().link().cost();
  counts_.messages = exchange_->messages();
}

void Progress::end_with(std::uint64_t number, Outcome outcome) {
  const auto found = carried_.find(number);
  graph::Task* const task = found->second.task;
  if (found->second.is_awaited) engine_->awaited().end(now());
  carried_.erase(found);
  transfers_->end(*task, outcome);
  under_way_.fetch_sub(1, std::memory_order_acq_rel);
}

// What is on its way is given up first: its memory goes back to the engine then. What was asked of the engine ends when
// the answer has come.
void Progress::run_failed(const std::string& text) {
  transport_->cancel();
  payloads_ = 0;
  engine_->errors().cancel(std::make_exception_ptr(RankError(text)));
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, one] : carried_) {
    if (one.task != nullptr && one.state != Carried::State::asked) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) end_with(number, Outcome::cancelled);
  {
    const std::lock_guard lock(mutex_);
    failure_ = text;
    state_ = State::failed;
  }
  run_has_failed();
  changed_.notify_all();
  engine_->notify_waiters();
}

std::string Progress::name_of(DatumId datum) {
  return voice_->name_of(datum);
}

std::string Progress::status() {
  return voice_->status();
}

std::string Progress::report() {
  return voice_->report();
}

void Progress::tell_stall(const std::string& text) {
  base::process_log().warn(text);
}

Time Progress::clock() {
  return {trace::monotonic_raw_now()};
}

void Progress::clock_compared(const ClockComparison& comparison) {
  {
    const std::lock_guard lock(mutex_);
    compared_ = comparison;
  }
  record(comparison);
}

void Progress::record(const ClockComparison& comparison) {
  if (!engine_->recorder().on(trace::Category::always)) return;
  engine_->recorder().record<trace::Event::clock_compared>(
      0, comparison.at.ns, comparison.offset.ns, comparison.error.ns);
}

// --- from the transport

// A rank may be in its next runtime, which has not begun here: its second hello, and what comes behind it. Who has none
// beats and leaves.
void Progress::message_arrived(RankId from, std::span<const std::byte> bytes) {
  ParsedMessage message;
  const bool is_message = parse(bytes, message);
  const MessageKind kind = message.header.kind;
  if (is_message && kind == MessageKind::left) has_left_[from.value] = true;
  if (is_message && kind == MessageKind::hello) {
    if (!exchange_ || has_said_hello_[from.value]) is_ahead_[from.value] = true;
    if (exchange_) has_said_hello_[from.value] = true;
  }
  if (kind != MessageKind::alive) hears_ = true;
  if (!exchange_ && kind == MessageKind::asks_alive) {
    transport_->post_message(from, to_bytes({.kind = MessageKind::alive}));
  }
  const bool is_of_rank =
      kind == MessageKind::alive || kind == MessageKind::asks_alive || kind == MessageKind::left;
  if (exchange_ && (!is_ahead_[from.value] || is_of_rank)) {
    exchange_->message_arrived(from, bytes);
  } else if (is_ahead_[from.value] && !is_of_rank) {
    early_.emplace_back(from, MessageBytes(bytes.begin(), bytes.end()));
  }
}

void Progress::payload_ended(PayloadId payload) {
  --payloads_;
  hears_ = true;
  if (exchange_) exchange_->deliveries().payload_ended(payload);
}

void Progress::rank_lost(RankId rank, const std::string& why) {
  losses_.emplace_back(rank, why);
  if (exchange_) exchange_->rank_lost(rank, why);
}

// --- turns

void Progress::tell(Command command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
  }
  wake();
}

void Progress::tell_and_wait(const Command& command) {
  bool is_done = false;
  tell([&] {
    guarded(command);
    const std::lock_guard lock(mutex_);
    is_done = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  await(lock, [&] { return is_done; });
}

bool Progress::carry_out() {
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (const Command& command : commands) guarded(command);
  return !commands.empty();
}

// Nobody could catch what is thrown here (no memory, a transport that is used wrongly): the run is over.
void Progress::guarded(const Command& step) {
  try {
    step();
  } catch (const std::exception& error) {
    const std::string text = "rank " + std::to_string(rank_.value) + ": " + error.what();
    if (!exchange_ || exchange_->has_failed()) return base::process_log().warn(text);
    exchange_->fail(text);
  }
}

// A task that fails, or a cancellation, ends the run on all ranks.
void Progress::look_at_errors() {
  if (exchange_->has_failed() || !engine_->errors().cancelling()) return;
  const std::exception_ptr first = engine_->errors().first();
  if (!first && !engine_->errors().cancelling()) return;  // a wait has just taken it, and tells it
  exchange_->fail("rank " + std::to_string(rank_.value) +
                  (first ? ": " + text_of(first) : " has cancelled the run"));
}

void Progress::publish() {
  const std::lock_guard lock(mutex_);
  count();
  any_is_limited_ = exchange_->any_is_limited();
  run_ = exchange_->run();
  if (state_ == State::begins && exchange_->all_have_begun()) {
    state_ = State::runs;
  } else if (state_ == State::runs && exchange_->all_have_finished()) {
    state_ = State::finished;
  } else {
    return;
  }
  changed_.notify_all();
}

void Progress::use(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
  const std::lock_guard lock(mutex_);
  rank_ = transport_->rank();
  ranks_ = transport_->ranks();
  has_left_.assign(ranks_, false);
  is_ahead_.assign(ranks_, false);
}

bool Progress::turn() {
  hears_ = carry_out();
  bool any = hears_;
  guarded([&] { any |= transport_->poll(*this); });
  guarded([&] {
    if (!exchange_) return between_runtimes();
    look_at_errors();
    exchange_->tick(now());
    publish();
  });
  return any;
}

}  // namespace vicinal::comm
