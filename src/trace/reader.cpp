#include "trace/reader.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "trace/decision_words.hpp"
#include "trace/event_walk.hpp"
#include "trace/file_error.hpp"
#include "trace/head_reader.hpp"
#include "trace/mapped_file.hpp"
#include "trace/segments.hpp"

namespace vicinal::trace {

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

ClockScale scale_of(const FileHead& head, const std::optional<ClockPair>& last) {
  if (head.clock != ClockKind::counter) return {};
  if (!last || last->ns - head.origin.ns < kNsPerMs) return ClockScale(head.ns_per_tick);
  if (last->ticks <= head.origin.ticks) return ClockScale(0);
  return {head.origin, *last};
}

bool is_far(std::int64_t value) {
  return value > kLongestRecording || value < -kLongestRecording;
}

// From the rules and measures of the file to those of this version. False: it does not know one of them.
bool translate_decision(const FileHead& head, RecordedEvent& event,
                        std::vector<std::uint64_t>& room) {
  const std::optional<Reason>& rule = head.rules[event.first];
  if (!rule) return false;
  event.first = static_cast<std::uint32_t>(*rule);
  if (head.same_measures) return true;
  std::vector<std::uint64_t> translated(event.rest.begin(), event.rest.end());
  const std::size_t tail = entry(Event::decision).field_count() - 1;
  bool all_known = true;
  visit_measures(event.tail(), [&](std::size_t place) {
    std::uint64_t& word = translated[tail + place];
    const std::optional<Measure>& measure = head.measures[word];
    if (measure) word = static_cast<std::uint64_t>(*measure);
    all_known = all_known && measure.has_value();
  });
  room = std::move(translated);
  event.rest = room;
  return all_known;
}

}  // namespace

struct Reader::Parts {
  Parts(std::string its_path) : path(std::move(its_path)), file(path), bytes(file.bytes()) {}
  Parts(std::span<const std::byte> its_bytes, std::string name)
      : path(std::move(name)), bytes(its_bytes) {
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) == 0) return;
    copy.resize(bytes.size() / sizeof(std::uint64_t) + 1);
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    bytes = std::as_bytes(std::span(copy)).first(bytes.size());
  }

  void read() {
    head = read_head(bytes, path);
    segments = find_segments(bytes, head.end, path);
    if (segments.last_clock &&
        (is_far(segments.last_clock->ticks) || is_far(segments.last_clock->ns))) {
      refuse_damaged(path, head.end, "the clock of the recording has a time that cannot be");
    }
    scale = scale_of(head, segments.last_clock);
    if (!is_pace(scale.ns_per_tick())) {
      refuse_damaged(path, head.end, "the clocks of the recording contradict each other");
    }
    const auto most = static_cast<std::int64_t>(static_cast<double>(kLongestRecording) /
                                                std::max(scale.ns_per_tick(), 1.0));
    const TicksRange range{head.origin.ticks - most, head.origin.ticks + most};
    std::uint64_t lost = 0;
    std::vector<std::uint64_t> room;
    for (const Segment& segment : segments.data) {
      lost += check_events(segment, head, range, path, room);
    }
    events_lost = segments.events_lost.value_or(lost);
  }

  std::int64_t ns_at(std::int64_t ticks) const {
    const std::int64_t since = ticks - head.origin.ticks;
    if (since <= 0) return 0;  // a thread was faster than the one that began the recording
    if (head.clock != ClockKind::counter) return since;
    return scale.ns_since(head.origin.ticks, ticks);
  }

  bool translate(std::span<const std::uint64_t> words, RecordedEvent& event,
                 std::vector<std::uint64_t>& room) const;

  std::string path;
  MappedFile file;
  std::vector<std::uint64_t> copy;
  std::span<const std::byte> bytes;
  FileHead head;
  Segments segments;
  ClockScale scale;
  std::uint64_t events_lost = 0;
};

// From the numbers of the file to those of this version. False: this version does not know all of it.
bool Reader::Parts::translate(std::span<const std::uint64_t> words, RecordedEvent& event,
                              std::vector<std::uint64_t>& room) const {
  const EventHead numbers(words[1]);
  const FileEvent& known = head.events[numbers.number];
  if (!known.event) return false;
  for (const FileEvent::Choice& choice : known.choices) {
    if ((choice.place == 0 ? numbers.first : words[choice.place + 1]) >= choice.known) return false;
  }
  event.event = *known.event;
  event.first = numbers.first;
  event.rest = words.subspan(2);
  const std::size_t fields = entry(event.event).field_count() - 1;  // behind the first
  if (known.fields > fields + 1) {
    room.assign(event.rest.begin(), event.rest.begin() + static_cast<std::ptrdiff_t>(fields));
    const auto tail = event.rest.subspan(known.fields - 1);
    room.insert(room.end(), tail.begin(), tail.end());
    event.rest = room;
  }
  return event.event != Event::decision || translate_decision(head, event, room);
}

std::string_view RecordedEvent::text() const {
  const auto words = tail();
  std::string_view text(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  const std::size_t last = text.find_last_not_of('\0');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

Reader::Reader(std::string path) : parts_(std::make_unique<Parts>(std::move(path))) {
  parts_->read();
}
Reader::Reader(std::span<const std::byte> bytes, std::string name)
    : parts_(std::make_unique<Parts>(bytes, std::move(name))) {
  parts_->read();
}
Reader::~Reader() = default;

const std::string& Reader::path() const {
  return parts_->path;
}
std::string_view Reader::run() const {
  return parts_->head.run;
}
Categories Reader::recorded() const {
  return parts_->head.recorded;
}
bool Reader::is_simulated() const {
  return parts_->head.clock == ClockKind::simulated;
}
bool Reader::is_complete() const {
  return parts_->segments.events_lost.has_value();
}
std::uint64_t Reader::cut_bytes() const {
  return parts_->segments.cut_bytes;
}
std::uint64_t Reader::events_lost() const {
  return parts_->events_lost;
}
std::uint64_t Reader::bytes() const {
  return parts_->bytes.size();
}

std::int64_t Reader::origin_ns() const {
  return parts_->head.origin.ns;
}

struct Reader::Walk::State {
  // A thread's events, as far as they were visited.
  struct Cursor {
    std::uint32_t lane = 0;
    std::span<const Segment> segments = {};  // behind the one that is visited
    std::int64_t ticks = 0;                  // of the next event
    std::size_t at = 0;                      // in `words`
    std::span<const std::uint64_t> words = {};
    std::vector<std::uint64_t> room = {};  // see Segment::events

    // False: there is none. A time before that of the thread's last event becomes that.
    bool find_next() {
      while (at >= words.size()) {
        if (segments.empty()) return false;
        // All have been unpacked before, to be checked.
        words = segments.front().events(room).value_or(words.first(0));
        segments = segments.subspan(1);
        at = 0;
      }
      ticks = std::max(ticks, static_cast<std::int64_t>(words[at]));
      return true;
    }
  };
  struct Later {
    bool operator()(const Cursor& a, const Cursor& b) const {
      return std::tie(a.ticks, a.lane) > std::tie(b.ticks, b.lane);
    }
  };

  explicit State(const Parts& its_parts) : parts(its_parts) {
    std::span<const Segment> segments = parts.segments.data;
    while (!segments.empty()) {
      const std::uint32_t lane = segments.front().lane;
      std::size_t count = 1;
      while (count < segments.size() && segments[count].lane == lane) ++count;
      Cursor cursor{lane, segments.first(count), std::numeric_limits<std::int64_t>::min()};
      if (cursor.find_next()) heap.push_back(std::move(cursor));
      segments = segments.subspan(count);
    }
    std::ranges::make_heap(heap, Later{});
    if (!heap.empty()) std::ranges::pop_heap(heap, Later{});
  }

  // Behind the event that was given last.
  void advance() {
    Cursor& cursor = heap.back();
    cursor.at += given;
    if (!cursor.find_next()) {
      heap.pop_back();
    } else if (heap.size() == 1 || !Later{}(cursor, heap.front())) {
      return;  // no other thread has an earlier one
    } else {
      std::ranges::push_heap(heap, Later{});
    }
    if (!heap.empty()) std::ranges::pop_heap(heap, Later{});
  }

  const Parts& parts;
  std::vector<Cursor> heap;  // but for the last one, whose event is the next
  std::size_t given = 0;     // words of that event, once it was given
  std::vector<std::uint64_t> room;
};

Reader::Walk::Walk(const Reader& reader) : state_(std::make_unique<State>(*reader.parts_)) {}
Reader::Walk::~Walk() = default;
Reader::Walk::Walk(Walk&&) noexcept = default;
Reader::Walk& Reader::Walk::operator=(Walk&&) noexcept = default;

bool Reader::Walk::next(RecordedEvent& event) {
  State& state = *state_;
  while (true) {
    if (state.given != 0) state.advance();
    state.given = 0;
    if (state.heap.empty()) return false;
    const State::Cursor& cursor = state.heap.back();
    const auto words = cursor.words.subspan(cursor.at);
    event.time = state.parts.ns_at(cursor.ticks);
    event.lane = cursor.lane;
    state.given = EventHead(words[1]).words;
    if (state.parts.translate(words.first(state.given), event, state.room)) return true;
  }
}

void Reader::each(base::FunctionRef<void(const RecordedEvent&)> visit) const {
  Walk walk(*this);
  RecordedEvent event;
  while (walk.next(event)) visit(event);
}

}  // namespace vicinal::trace
