#include "trace/event_walk.hpp"

#include <fmt/format.h>

#include "trace/decision_words.hpp"
#include "trace/file_error.hpp"

namespace vicinal::trace {

namespace {

// Of the four bits that an access gives to its mode.
constexpr unsigned kModes = 1U << 0 | 1U << 1 | 1U << 2 | 1U << 3 | 1U << 7 | 1U << 10;

class SegmentCheck {
 public:
  SegmentCheck(const Segment& segment, const FileHead& head, const TicksRange& range,
               const std::string& name)
      : segment_(segment), head_(head), range_(range), name_(name) {}

  std::uint64_t lost(std::vector<std::uint64_t>& room) {
    const auto words = segment_.events(room);
    if (!words) refuse("the events of the segment cannot be unpacked");
    std::uint64_t lost = 0;
    while (at_ < words->size()) {
      const std::span<const std::uint64_t> left = words->subspan(at_);
      if (left.size() < 2) refuse("the segment ends within an event");
      const EventHead event(left[1]);
      if (event.words > left.size()) refuse("the event is longer than its segment");
      if (event.number >= head_.events.size() || !head_.events[event.number].in_table) {
        refuse(fmt::format("the head has no event {}", event.number));
      }
      check(head_.events[event.number], event, left.first(event.words));
      if (head_.events[event.number].event == Event::events_lost) lost += event.first;
      at_ += event.words;
    }
    return lost;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    const std::size_t within = segment_.is_packed ? 0 : at_ * sizeof(std::uint64_t);
    refuse_damaged(name_, segment_.at + within, what);
  }

  void check(const FileEvent& known, const EventHead& event,
             std::span<const std::uint64_t> words) const {
    if (words.size() < known.fields + 1 ||
        (known.tail == Tail::none && words.size() != known.fields + 1)) {
      refuse(fmt::format("an event of {} words cannot have its fields", words.size()));
    }
    const auto ticks = static_cast<std::int64_t>(words[0]);
    if (ticks < range_.first || ticks > range_.last) refuse("the time of the event cannot be");
    for (const FileEvent::Choice& choice : known.choices) {
      const std::uint64_t value = choice.place == 0 ? event.first : words[choice.place + 1];
      if (value >= choice.in_file) refuse("a field of the event has none of its choices");
    }
    if (!known.event) return;
    const auto tail = words.subspan(known.fields + 1);
    if (known.tail == Tail::accesses) check_accesses(tail);
    if (known.tail == Tail::scores) check_decision(event.first, tail);
  }

  void check_accesses(std::span<const std::uint64_t> accesses) const {
    for (const std::uint64_t access : accesses) {
      if ((kModes >> (access & 0xfU) & 1U) == 0) refuse("there is no such mode of access");
    }
  }

  void check_decision(std::uint32_t rule, std::span<const std::uint64_t> tail) const {
    if (rule >= head_.rules.size()) refuse(fmt::format("the head has no rule {}", rule));
    const bool good = visit_measures(tail, [&](std::size_t place) {
      if (tail[place] >= head_.measures.size()) refuse("the head has no such measure");
    });
    if (!good) refuse("the scores of the decision are not whole");
  }

  const Segment& segment_;
  const FileHead& head_;
  const TicksRange& range_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

std::uint64_t check_events(const Segment& segment, const FileHead& head, const TicksRange& range,
                           const std::string& name, std::vector<std::uint64_t>& room) {
  return SegmentCheck(segment, head, range, name).lost(room);
}

}  // namespace vicinal::trace
