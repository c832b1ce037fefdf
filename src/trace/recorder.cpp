#include "trace/recorder.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <pthread.h>
#include <utility>

#include <fmt/format.h>

#include "trace/decision_words.hpp"
#include "trace/session.hpp"
#include "vicinal/error.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::trace {

namespace {

// Of all recorders of the process: a thread knows by it whether its lane is of the present recording. Threads that record take
// their numbers from it as well.
std::atomic<std::uint64_t> sessions{0};

}  // namespace

Recorder::Recorder(std::function<Time()> simulated_now)
    : simulated_now_(std::move(simulated_now)),
      clock_(simulated_now_         ? ClockKind::simulated
             : has_steady_counter() ? ClockKind::counter
                                    : ClockKind::monotonic_raw) {
  listens_.store(false, std::memory_order_relaxed);
}

Recorder::~Recorder() {
  stop();
}

std::string about_lost_events(std::uint64_t events) {
  return fmt::format(
      "the recording lacks {} events for which there was no memory; raise the option trace_memory, "
      "or record fewer categories (trace_events)",
      events);
}

void Recorder::start(const RecordingOptions& options) {
  const std::lock_guard lock(mutex_);
  if (session_) {
    throw UsageError("trace: a recording is active; stop it before the next is started");
  }
  const std::uint64_t number = sessions.fetch_add(1, std::memory_order_relaxed) + 1;
  if (options.shared != nullptr) {
    session_ = options.shared->join(options, clock_);
    shared_ = options.shared;
    rank_ = options.rank;
  } else {
    auto session = std::make_shared<Session>(options, clock_);
    session->begin_writer();
    session_ = std::move(session);
  }
  session_number_.store(number, std::memory_order_release);
  // Release: who sees a category finds the session.
  categories_.store(session_->categories | bit(Category::always) | above_,
                    std::memory_order_release);
  beginnings_.fetch_add(1, std::memory_order_relaxed);
  update_listening();
}

RecordingSummary Recorder::stop() {
  const std::lock_guard lock(mutex_);
  if (!session_) return {};
  categories_.store(above_, std::memory_order_seq_cst);
  update_listening();
  RecordingSummary summary = shared_ != nullptr ? shared_->leave() : session_->end();
  shared_ = nullptr;
  ended_.push_back(std::move(session_));
  return summary;
}

// --- a recording that several share

std::string SharedRecording::file() const {
  return session_ ? session_->path : std::string();
}

std::shared_ptr<Recorder::Session> SharedRecording::join(const RecordingOptions& options,
                                                         ClockKind clock) {
  if (!session_) {
    session_ = std::make_shared<Recorder::Session>(options, clock);
  } else if (session_->path != options.file) {
    throw UsageError(fmt::format(
        "trace: all simulated ranks record into one file, \"{}\" now; name the same, or "
        "stop the recording on all ranks before one begins the next",
        session_->path));
  }
  ++recorders_;
  return session_;
}

RecordingSummary SharedRecording::leave() {
  if (--recorders_ > 0) return {.file = session_->path, .error = {}};
  return std::exchange(session_, nullptr)->end();
}

void Recorder::set_above(Categories bits) {
  above_ |= bits;
  categories_.fetch_or(bits, std::memory_order_relaxed);
}

std::int64_t Recorder::other_now() const {
  return clock_ == ClockKind::simulated ? simulated_now_().ns : monotonic_raw_now();
}

// --- the thread's place

// The first event of the thread in this recording, or the first since it has recorded for another recorder. One that began
// before a recording was stopped may come after that.
WriteCursor* Recorder::enter(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (!session_ || session_number_.load(std::memory_order_relaxed) != number) return nullptr;
  try {
    if (own_.thread == 0) own_.thread = sessions.fetch_add(1, std::memory_order_relaxed) + 1;
    const Session::FoundLane found = session_->lane_of(own_.thread);
    own_ = {number, &found.lane, own_.thread};
    if (shared_ != nullptr) record<Event::of_rank>(rank_);
    if (!found.is_new) return own_.place;
    char name[32] = {};
    if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) name[0] = 0;
    record_text<Event::thread_named>(name, kNoWorker.value);
    return own_.place;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

WriteCursor* Recorder::begin_chunk(WriteCursor& place, std::size_t words) {
  constexpr std::size_t kLossWords = 2;
  Lane& lane = static_cast<Lane&>(place);
  if (words > kMostWords || !lane.session->next_chunk(lane)) {
    ++lane.lost;
    lane.lost_in_all.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (lane.lost > 0) {
    std::uint64_t* const at = lane.at.load(std::memory_order_relaxed);
    at[0] = static_cast<std::uint64_t>(now());
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(lane.lost, 0xffffffffU));
    at[1] = head(Event::events_lost, kLossWords, count);
    lane.lost = 0;
    lane.at.store(at + kLossWords, std::memory_order_release);
  }
  return &place;
}

// --- events with a tail

void Recorder::put_text(Event event, std::uint32_t first, std::span<const std::uint64_t> fields,
                        std::string_view text) {
  text = text.substr(0, (kMostWords - kMostFields - 2) * 8);
  const std::size_t text_words = (text.size() + 7) / 8;
  const std::size_t words = 2 + fields.size() + text_words;
  WriteCursor* const place = take(words);
  if (place == nullptr) return;
  std::uint64_t* const at = place->at.load(std::memory_order_relaxed);
  at[0] = static_cast<std::uint64_t>(now());
  at[1] = head(event, words, first);
  std::uint64_t* const tail = std::ranges::copy(fields, at + 2).out;
  if (text_words > 0) tail[text_words - 1] = 0;
  std::memcpy(tail, text.data(), text.size());
  place->at.store(at + words, std::memory_order_release);
}

void Recorder::record_words(Event event, std::uint32_t first,
                            std::span<const std::uint64_t> fields) {
  const std::size_t words = std::min(fields.size() + 2, kMostWords);
  WriteCursor* const place = take(words);
  if (place == nullptr) return;
  std::uint64_t* const at = place->at.load(std::memory_order_relaxed);
  at[0] = static_cast<std::uint64_t>(now());
  at[1] = head(event, words, first);
  std::ranges::copy(fields.first(words - 2), at + 2);
  place->at.store(at + words, std::memory_order_release);
}

std::uint32_t Recorder::new_name(const void* key, std::string_view text) {
  WriteCursor* const own = place();
  if (own == nullptr) return 0;
  UsedName& slot = own->used_name(key);
  try {
    slot.text = text;
  } catch (const std::bad_alloc&) {
    return 0;
  }
  slot.key = key;
  slot.number =
      static_cast<Lane&>(*own).session->next_name.fetch_add(1, std::memory_order_relaxed) + 1;
  record_text<Event::name_given>(text, slot.number);
  return slot.number;
}

// --- decisions

void Recorder::hand_on_to(DecisionListener* next) {
  next_ = next;
  update_listening();
}

void Recorder::update_listening() {
  listens_.store(next_ != nullptr || on(Category::decisions), std::memory_order_relaxed);
}

void Recorder::record_decision(const Decision& decision) {
  const std::size_t words = 2 + words_of(decision);
  WriteCursor* const place = take(words);
  if (place == nullptr) return;
  std::uint64_t* const at = place->at.load(std::memory_order_relaxed);
  at[0] = static_cast<std::uint64_t>(now());
  at[1] = head(Event::decision, words, static_cast<std::uint32_t>(decision.reason));
  put_decision(decision, at + 2);
  place->at.store(at + words, std::memory_order_release);
}

void Recorder::hear(Decision decision) noexcept {
  if (on(Category::decisions)) record_decision(decision);
  if (next_ != nullptr) next_->hear(std::move(decision));
}

}  // namespace vicinal::trace
