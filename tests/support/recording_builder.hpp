// Makes the file of a recording by hand: events by lane and time, in segments with their checksums.
//
//   RecordingBuilder recording;
//   const std::uint32_t gemm = recording.name("gemm");
//   recording.at(100).add(trace::Event::task_started, worker, {task, gemm});
//   recording.at(250).add(trace::Event::task_ended, worker, {task, 0, 0});
//   const trace::Reader reader(recording.bytes(), "by hand");
//
// Times are those of a simulated run, in ns, if the builder is not told otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "trace/clock.hpp"
#include "trace/decision.hpp"
#include "trace/decision_words.hpp"
#include "trace/event.hpp"
#include "trace/head.hpp"
#include "trace/packed_events.hpp"
#include "trace/reader.hpp"
#include "vicinal/access.hpp"

namespace vicinal::testing {

class RecordingBuilder {
 public:
  struct Setup {
    trace::ClockKind clock = trace::ClockKind::simulated;
    trace::ClockPair origin = {};
    double ns_per_tick = 1;
    trace::Categories recorded = trace::kAllCategories;
    std::string run = "{}";
  };
  using Words = std::vector<std::uint64_t>;
  struct Access {
    std::uint64_t handle = 0;
    AccessMode mode = AccessMode::R;
  };

  RecordingBuilder() : RecordingBuilder(Setup()) {}
  explicit RecordingBuilder(const Setup& setup)
      : head_(trace::make_head(setup.clock, setup.origin, setup.ns_per_tick, setup.recorded,
                               setup.run)) {}

  // Of the events that follow.
  RecordingBuilder& at(std::int64_t ticks) {
    ticks_ = ticks;
    return *this;
  }
  RecordingBuilder& lane(std::uint32_t lane) {
    lane_ = lane;
    return *this;
  }

  // The fields behind the first, and the tail behind them.
  RecordingBuilder& add(trace::Event event, std::uint32_t first, const Words& rest = {}) {
    return add_number(static_cast<std::uint16_t>(event), first, rest);
  }
  // Of an event that the table need not have.
  RecordingBuilder& add_number(std::uint16_t event, std::uint32_t first, const Words& rest = {}) {
    Words& words = open_[lane_];
    words.push_back(static_cast<std::uint64_t>(ticks_));
    words.push_back(event | std::uint64_t{rest.size() + 2} << 16 | std::uint64_t{first} << 32);
    words.insert(words.end(), rest.begin(), rest.end());
    return *this;
  }
  RecordingBuilder& add_text(trace::Event event, std::string_view text, std::uint32_t first = 0,
                             Words rest = {}) {
    const std::size_t fields = rest.size();
    rest.resize(fields + (text.size() + 7) / 8);
    if (!text.empty()) std::memcpy(rest.data() + fields, text.data(), text.size());
    return add(event, first, rest);
  }

  // --- events with more to them

  std::uint32_t name(std::string_view text) {
    add_text(trace::Event::name_given, text, ++names_);
    return names_;
  }
  RecordingBuilder& fact(const std::string& name, const std::string& value) {
    return add_text(trace::Event::fact, name + "\n" + value);
  }
  // `part_of` 0: of none.
  RecordingBuilder& registered(std::uint64_t handle, std::string_view name, std::uint64_t bytes,
                               std::uint32_t home = 0, std::uint64_t part_of = 0) {
    return add_text(trace::Event::handle_registered, name, home, {handle, bytes, part_of});
  }
  // `name`: what `name` gave for the codelet.
  RecordingBuilder& submitted(std::uint64_t task, std::uint32_t name,
                              const std::vector<Access>& accesses, std::int32_t priority = 0,
                              std::uint64_t kind = 0) {
    Words rest{task, name, kind};
    for (const Access& access : accesses) {
      rest.push_back(access.handle << 4 | static_cast<std::uint64_t>(access.mode));
    }
    return add(trace::Event::task_submitted, static_cast<std::uint32_t>(priority), rest);
  }
  // From `start` to `end`.
  RecordingBuilder& ran(std::uint64_t task, std::uint32_t name, std::uint32_t worker,
                        std::int64_t start, std::int64_t end) {
    at(start).add(trace::Event::task_started, worker, {task, name});
    return at(end).add(trace::Event::task_ended, worker, {task, 0, 0});
  }
  // `copy`: a number that no other copy has meanwhile.
  RecordingBuilder& copied(std::uint64_t handle, std::uint32_t from, std::uint32_t to,
                           std::uint64_t bytes, std::uint64_t copy, std::int64_t start,
                           std::int64_t end, std::uint64_t cause = 0, bool urgent = true) {
    at(start).add(trace::Event::copy_started, to,
                  {handle, from, copy, bytes, cause, std::uint64_t{urgent}});
    return at(end).add(trace::Event::copy_ended, to, {copy, 0});
  }
  RecordingBuilder& decided(const trace::Decision& decision) {
    Words words(trace::words_of(decision));
    trace::put_decision(decision, words.data());
    return add(trace::Event::decision, static_cast<std::uint32_t>(decision.reason), words);
  }

  // --- the file

  // The events of the lane that are there so far become a segment.
  RecordingBuilder& cut() {
    Words words;
    words.swap(open_[lane_]);
    trace::SegmentHead head;
    head.lane = lane_;
    head.number = chunks_[lane_]++;
    if (packs_) pack(head, words);
    put(head, words);
    return *this;
  }
  // Segments that are cut from here on are packed, as far as that makes them shorter.
  RecordingBuilder& packing() {
    packs_ = true;
    return *this;
  }
  RecordingBuilder& clock(const trace::ClockPair& pair) {
    put({.kind = trace::SegmentHead::kClock},
        {static_cast<std::uint64_t>(pair.ticks), static_cast<std::uint64_t>(pair.ns)});
    return *this;
  }
  // Any segment, with the length and the checksum that it should have.
  RecordingBuilder& put(trace::SegmentHead head, const Words& words) {
    head.bytes = words.size() * sizeof(std::uint64_t);
    head.checksum = trace::checksum(head, words);
    append(segments_, &head, sizeof head);
    append(segments_, words.data(), head.bytes);
    return *this;
  }
  // Another one than make_head makes.
  RecordingBuilder& replace_head(std::string_view from, std::string_view to) {
    const std::size_t at = head_.find(from);
    if (at == std::string::npos) throw std::logic_error("the head has no " + std::string(from));
    head_.replace(at, from.size(), to);
    head_.resize((head_.size() + 7) / 8 * 8, ' ');
    return *this;
  }
  const std::string& head() const { return head_; }

  // All lanes are cut. Valid until the next call.
  std::span<const std::byte> bytes(bool with_end = true, std::uint64_t events_lost = 0) {
    for (const auto& [lane_number, words] : std::map(open_)) {
      if (!words.empty()) lane(lane_number).cut();
    }
    const std::size_t without_end = segments_.size();
    if (with_end) put({.kind = trace::SegmentHead::kEnd}, {events_lost});
    const std::string file = trace::make_front(head_) + segments_;
    segments_.resize(without_end);
    file_.assign((file.size() + 7) / 8, 0);
    std::memcpy(file_.data(), file.data(), file.size());
    return std::as_bytes(std::span(file_)).first(file.size());
  }
  void write(const std::string& path, bool with_end = true) {
    const auto all = bytes(with_end);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  }

 private:
  static void pack(trace::SegmentHead& head, Words& words) {
    Words packed(4 * words.size() + 64);
    packed.resize(trace::pack_events(words, packed));
    if (packed.empty()) return;
    head.kind = trace::SegmentHead::kPacked;
    words.swap(packed);
  }
  static void append(std::string& file, const void* bytes, std::size_t count) {
    if (count != 0) file.append(static_cast<const char*>(bytes), count);
  }

  std::string head_;
  std::int64_t ticks_ = 0;
  std::uint32_t lane_ = 0;
  std::uint32_t names_ = 0;
  bool packs_ = false;
  std::map<std::uint32_t, Words> open_;  // by lane: events that are in no segment yet
  std::map<std::uint32_t, std::uint64_t> chunks_;
  std::string segments_;
  std::vector<std::uint64_t> file_;
};

}  // namespace vicinal::testing
