// Records events into memory of the thread that they happen on; a thread of its own writes them to a file.
//
//   recorder.start({.file = "run.vtrace", .categories = kAllCategories, ...});
//   if (recorder.on(Category::tasks)) recorder.record<Event::task_started>(worker, task, name);
//   recorder.stop();
//
// A thread takes no lock that others take: its events go to a chunk of memory, full chunks are left in a list of its
// own, and the writer has put a spare chunk there before. When the memory that a recording may take is used up, events
// are left out and counted. In simulation nobody waits for the processor's time: there the thread that records writes
// full chunks itself, none is left out, and the same run gives the same file.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/clock.hpp"
#include "trace/decision.hpp"
#include "trace/event.hpp"
#include "vicinal/trace.hpp"
#include "vicinal/units.hpp"

namespace vicinal::trace {

class SharedRecording;

struct RecordingOptions {
  std::string file;
  Categories categories = kAllCategories;
  Bytes memory = Bytes{256ULL << 20};  // that events not yet written may take
  std::string run = "{}";              // JSON: what the head says of the run
  SharedRecording* shared =
      nullptr;  // of a simulated rank: it and its number; what others have begun they share
  std::uint32_t rank = 0;
};

struct RecordingSummary {
  std::string file = {};    // empty: nothing was recorded
  std::uint64_t bytes = 0;  // of the file
  std::uint64_t events_lost = 0;
  std::string error;  // not empty: the file could not be written, and has what came before
};
// For people: there were such.
std::string about_lost_events(std::uint64_t events);

// A name that a thread has used, by the address of what has it.
struct UsedName {
  const void* key = nullptr;
  std::uint32_t number = 0;
  std::string text;
};

// Where the next event of a thread goes, and the names that it used last. The thread alone writes them.
struct WriteCursor {
  std::atomic<std::uint64_t*> at{nullptr};
  std::uint64_t* end = nullptr;
  std::array<UsedName, 64> names;
  UsedName& used_name(const void* key) {
    return names[reinterpret_cast<std::uintptr_t>(key) / 16 % names.size()];
  }
};
// The place of a thread in the recording that it took part in last.
struct OwnCursor {
  std::uint64_t session = 0;
  WriteCursor* place = nullptr;
  std::uint64_t thread = 0;  // its number, once it has taken part in one
};

}  // namespace vicinal::trace

// As public headers call it.
struct vicinal::internals::Recorder {};

namespace vicinal::trace {

// Each may be called by any thread but where it says otherwise.
class Recorder final : public internals::Recorder, public DecisionListener {
 public:
  // `simulated_now`: the clock of a simulation; none: a real run.
  explicit Recorder(std::function<Time()> simulated_now = {});
  ~Recorder() override;  // stops
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // One thread at a time, like stop. Throws UsageError: it records already, the file cannot be written, or others that it
  // shares a recording with record into another one.
  void start(const RecordingOptions& options);
  // Events of other threads that are on their way may or may not be in the file. Of a shared recording the last one to
  // stop tells its bytes.
  RecordingSummary stop();
  bool records() const { return categories() != 0; }

  Categories categories() const {
    return categories_.load(std::memory_order_relaxed) & kAllCategories;
  }
  bool on(Category category) const { return any(bit(category)); }
  // Some of these, or of the bits above them that somebody has set who asks for both at once.
  bool any(Categories of) const { return (categories_.load(std::memory_order_relaxed) & of) != 0; }
  // Before others use it. They stay, whatever is recorded.
  void set_above(Categories bits);

  // After `on`. The first field has 32 bits.
  template <Event event, typename... Fields>
  void record(std::uint32_t first, Fields... rest) {
    static_assert(sizeof...(Fields) + 1 == entry(event).field_count());
    static_assert(entry(event).tail == Tail::none);
    constexpr std::size_t words = 2 + sizeof...(Fields);
    WriteCursor* const place = take(words);
    if (place == nullptr) [[unlikely]]
      return;
    std::uint64_t* const at = place->at.load(std::memory_order_relaxed);
    at[0] = static_cast<std::uint64_t>(now());
    at[1] = head(event, words, first);
    std::uint64_t* field = at + 2;
    ((*field++ = static_cast<std::uint64_t>(rest)), ...);
    place->at.store(at + words, std::memory_order_release);  // pairs with the writer's look at it
  }
  // An event with a tail.
  template <Event event, typename... Fields>
  void record_text(std::string_view text, std::uint32_t first, Fields... rest) {
    static_assert(sizeof...(Fields) + 1 == entry(event).field_count());
    static_assert(entry(event).tail == Tail::text);
    const std::uint64_t fields[] = {static_cast<std::uint64_t>(rest)..., 0};
    put_text(event, first, std::span(fields).first(sizeof...(Fields)), text);
  }
  // The fields behind the first, and the tail behind them. More words than an event holds are cut.
  void record_words(Event event, std::uint32_t first, std::span<const std::uint64_t> words);

  // The number of a name; `key` is the address of what has it, which may change its name.
  std::uint32_t name(const void* key, std::string_view text) {
    if (const auto known = known_name(key, text)) [[likely]]
      return *known;
    return new_name(key, text);
  }

  // The same where this thread has a number for it.
  std::optional<std::uint32_t> known_name(const void* key, std::string_view text) {
    WriteCursor* const own = place();
    if (own == nullptr) [[unlikely]]
      return std::nullopt;
    const UsedName& known = own->used_name(key);
    if (known.key == key && same(known.text, text)) [[likely]]
      return known.number;
    return std::nullopt;
  }

  // Decisions are recorded, and handed on.
  void hear(Decision decision) noexcept override;
  void hand_on_to(DecisionListener* next);  // before others use it; null: nobody

 private:
  friend class SharedRecording;
  struct Lane;
  struct Session;
  static constexpr std::uint64_t head(Event event, std::size_t words, std::uint32_t first) {
    return static_cast<std::uint64_t>(event) | std::uint64_t{words} << 16 |
           std::uint64_t{first} << 32;
  }
  // Room for so many words; null: there is none, which has been noted.
  WriteCursor* take(std::size_t words) {
    WriteCursor* const place = this->place();
    if (place == nullptr) [[unlikely]]
      return nullptr;
    const std::uint64_t* const at = place->at.load(std::memory_order_relaxed);
    if (at != nullptr && static_cast<std::size_t>(place->end - at) >= words) [[likely]]
      return place;
    return begin_chunk(*place, words);
  }
  WriteCursor* place() {
    const std::uint64_t session = session_number_.load(std::memory_order_acquire);
    if (own_.session == session) [[likely]]
      return own_.place;
    return enter(session);
  }
  WriteCursor* enter(std::uint64_t session);
  std::uint32_t new_name(const void* key, std::string_view text);
  // Names are short; a call of memcmp costs more than all of an event.
  static bool same(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    if (a.size() > 16) [[unlikely]]
      return a == b;
    if (a.size() >= 8) return same_ends<std::uint64_t>(a, b);
    if (a.size() >= 4) return same_ends<std::uint32_t>(a, b);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  // Of texts that a word from the front and one from the back cover.
  template <typename Word>
  static bool same_ends(std::string_view a, std::string_view b) {
    const auto word = [](const char* at) {
      Word it = 0;
      std::memcpy(&it, at, sizeof it);
      return it;
    };
    const std::size_t last = a.size() - sizeof(Word);
    return word(a.data()) == word(b.data()) && word(a.data() + last) == word(b.data() + last);
  }
  WriteCursor* begin_chunk(WriteCursor& place, std::size_t words);
  std::int64_t now() const {
    return clock_ == ClockKind::counter ? base::ticks_now() : other_now();
  }
  std::int64_t other_now() const;
  void put_text(Event event, std::uint32_t first, std::span<const std::uint64_t> fields,
                std::string_view text);
  void record_decision(const Decision& decision);
  void update_listening();

  static inline constinit thread_local OwnCursor own_{};

  const std::function<Time()> simulated_now_;
  const ClockKind clock_;
  std::atomic<Categories> categories_{0};  // and bits above them
  Categories above_ = 0;
  std::atomic<std::uint64_t> session_number_{0};
  DecisionListener* next_ = nullptr;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<Session> session_;
  SharedRecording* shared_ = nullptr;  // that the session is of
  std::uint32_t rank_ = 0;
  std::vector<std::shared_ptr<Session>> ended_;  // threads may still be about to write there
};

// What the recorders of simulated ranks have in common: they record into one file, and one thread makes all their calls. The
// first that starts begins the file, the last that stops ends it. It outlives them.
class SharedRecording {
 public:
  explicit SharedRecording(std::uint32_t ranks) : ranks_(ranks) {}
  std::uint32_t ranks() const { return ranks_; }
  // Into which some of them record now; empty: none does.
  std::string file() const;

 private:
  friend class Recorder;
  std::shared_ptr<Recorder::Session> join(const RecordingOptions& options, ClockKind clock);
  RecordingSummary leave();

  const std::uint32_t ranks_;
  std::shared_ptr<Recorder::Session> session_;
  std::uint32_t recorders_ = 0;  // that record now
};

}  // namespace vicinal::trace
