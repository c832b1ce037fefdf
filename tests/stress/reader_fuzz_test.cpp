// Recordings that were damaged on purpose are read, or refused with an UsageError: nothing else is thrown, nothing
// crashes, and what is read holds together. A seed is a hundred inputs; 20 seeds here, TEST_SEEDS_VICINAL=10000 for a
// million inputs. A failure names its seed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/recorded_run.hpp"
#include "base/random.hpp"
#include "support/random_runs.hpp"
#include "support/recording_builder.hpp"
#include "trace/head.hpp"
#include "trace/joined_recording.hpp"
#include "trace/reader.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using testing::RecordingBuilder;
using trace::Event;
using trace::SegmentHead;

constexpr int kInputsOfASeed = 100;

// --- recordings to damage

constexpr const char* kRun = R"({"command":"vicinal run","policy":"darts","options":{"seed":"1"},
  "machine":{"nodes":[{"name":"ram","kind":"ram","limit":4096},{"name":"gpu0","kind":"device"}],
             "workers":[{"kind":"cpu","node":0},{"kind":"gpu","node":1}],
             "links":[{"from":0,"to":1,"bandwidth":1e9,"latency_ns":5000}]}})";

trace::Decision victim(std::uint64_t task) {
  trace::Decision decision(trace::Reason::latest_next_use, trace::Among::handles, Time{});
  decision.task = TaskId{task};
  decision.node = NodeId{1};
  decision.scores = {{trace::Measure::priority, 4}};
  decision.consider({3, {{trace::Measure::next_use, 9}, {trace::Measure::queued, 0}}});
  decision.consider({4, {{trace::Measure::next_use, 12}}}, true);
  return decision;
}

// Two threads, all kinds of events, several segments of each thread.
void record_some(RecordingBuilder& recording, std::uint32_t rank = 0) {
  constexpr std::uint64_t kKey = 0x5eed;
  recording.lane(0).at(10).add(Event::rank_known, rank, {2, kKey});
  recording.add(Event::clock_compared, 0, {0, 40, 7}).add(Event::clock_compared, 0, {500, 42, 7});
  const std::uint32_t other = 1 - rank;
  recording.add(Event::message_began, other, {3, rank, 17, 1, 4096});
  recording.add(Event::message_ended, other, {3, rank, 17, 1});
  const std::uint32_t gemm = recording.name("gemm");
  recording.add_text(Event::thread_named, "main", 0xffffffff).fact("application", "cholesky");
  recording.registered(2, "A", 8192).registered(3, "A(0,0)", 4096, 0, 2);
  recording.registered(4, "A(1,0)", 4096, 0xffffffff, 2);
  for (std::uint64_t task = 1; task <= 4; ++task) {
    recording.submitted(task, gemm, {{3, AccessMode::RW}, {4, AccessMode::R}}, -2, task == 4);
  }
  recording.submitted(5, gemm, {{3, AccessMode::commute}, {2, AccessMode::reduction}});
  recording.add_text(Event::task_named, "gemm(1,0)", 0, {2}).add(Event::task_after, 0, {3, 1});
  recording.cut().at(20).add_text(Event::region_began, "all of it", 0, {1});
  recording.add_text(Event::mark, "here").add(Event::region_ended, 0, {1});

  recording.lane(1);
  for (std::uint64_t task = 1; task <= 3; ++task) {
    const auto start = static_cast<std::int64_t>(100 * task);
    recording.at(start).add(Event::task_ready, 0, {task}).add(Event::task_scheduled, 1, {task});
    recording.add(Event::operands_wanted, 1, {task}).decided(victim(task));
    recording.add(Event::room_taken, 1, {3, 4096}).add(Event::room_granted, 1, {task});
    recording.add(Event::copy_wanted, 1, {3, 0});
    recording.copied(3, 0, 1, 4096, 70, start + 10, start + 20);
    recording.add(Event::operands_ready, 1, {task, 0});
    recording.ran(task, gemm, 1, start + 20, start + 50);
    recording.add(Event::evicted, 1, {3, 1}).add(Event::room_freed, 1, {3, 0});
    recording.add(Event::became_void, 0, {3}).add(Event::task_moved, 1, {4});
    recording.add(Event::worker_slept, 1).cut();
  }
  recording.at(600).add(Event::worker_woke, 1).add(Event::task_ended, 0xffffffff, {4, 2, 0});
  recording.add(Event::events_lost, 3).add(Event::handle_unregistered, 0, {3});
}

// --- damage

struct Segment {
  SegmentHead head;
  std::vector<std::uint64_t> words;
  bool checksum_fits = true;
};

// A recording taken apart.
class Damage {
 public:
  Damage(std::span<const std::byte> bytes, base::Random& random) : random_(random) {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + 16, sizeof size);
    head_.assign(reinterpret_cast<const char*>(bytes.data()) + trace::kFrontBytes, size);
    for (std::size_t at = trace::kFrontBytes + size; at < bytes.size();) {
      Segment segment;
      std::memcpy(&segment.head, bytes.data() + at, sizeof segment.head);
      segment.words.resize(segment.head.bytes / 8);
      std::memcpy(segment.words.data(), bytes.data() + at + sizeof segment.head,
                  segment.head.bytes);
      at += sizeof segment.head + segment.head.bytes;
      segments_.push_back(std::move(segment));
    }
  }

  void once() {
    constexpr void (Damage::*kWays[])() = {
        &Damage::change_word,   &Damage::change_word,      &Damage::change_word,
        &Damage::change_event,  &Damage::change_event,     &Damage::insert_words,
        &Damage::erase_words,   &Damage::change_head_text, &Damage::change_head_number,
        &Damage::copy_segment,  &Damage::erase_segment,    &Damage::swap_segments,
        &Damage::change_segment};
    (this->*kWays[below(std::size(kWays))])();
  }

  // Put together again, and perhaps damaged without a checksum that fits.
  std::vector<std::uint64_t> bytes(std::size_t& size) {
    while (head_.size() % 8 != 0) head_ += ' ';
    std::string file = trace::make_front(head_);
    for (Segment& segment : segments_) {
      if (segment.checksum_fits) {
        segment.head.checksum = trace::checksum(segment.head, segment.words);
      }
      file.append(reinterpret_cast<const char*>(&segment.head), sizeof segment.head);
      file.append(reinterpret_cast<const char*>(segment.words.data()), segment.words.size() * 8);
    }
    if (below(8) == 0) {
      for (std::uint64_t flips = 1 + below(4); flips > 0; --flips) {
        file[below(file.size())] ^= static_cast<char>(1U << below(8));
      }
    }
    if (below(8) == 0) file.resize(below(file.size() + 1));
    if (below(32) == 0) file.append(below(100), static_cast<char>(below(2) * 0x5a));
    size = file.size();
    std::vector<std::uint64_t> words((size + 7) / 8);
    if (size > 0) std::memcpy(words.data(), file.data(), size);
    return words;
  }

 private:
  std::size_t below(std::size_t bound) { return random_.below(bound); }

  std::uint64_t odd_word() {
    constexpr std::uint64_t kOdd[] = {0,
                                      1,
                                      2,
                                      0xf,
                                      0xffff,
                                      0x10000,
                                      0xffffffff,
                                      0x100000000,
                                      std::uint64_t{1} << 62,
                                      std::uint64_t{1} << 63,
                                      ~std::uint64_t{0},
                                      ~std::uint64_t{0} >> 1};
    switch (below(4)) {
      case 0:
        return random_.next();
      case 1:
        return below(16);
      case 2:
        return kOdd[below(std::size(kOdd))] + below(3) - 1;
      default: {
        const Segment& other = segments_[below(segments_.size())];
        return other.words.empty() ? 0 : other.words[below(other.words.size())];
      }
    }
  }

  Segment* any_segment() {
    if (segments_.empty()) return nullptr;
    Segment& segment = segments_[below(segments_.size())];
    return segment.words.empty() ? nullptr : &segment;
  }

  void change_word() {
    Segment* const segment = any_segment();
    if (segment == nullptr) return;
    std::uint64_t& word = segment->words[below(segment->words.size())];
    word = below(2) == 0 ? odd_word() : word ^ std::uint64_t{1} << below(64);
  }
  // The second word of one that may be an event: its number, its words, its first field.
  void change_event() {
    Segment* const segment = any_segment();
    if (segment == nullptr || segment->head.kind != SegmentHead::kData) return;
    std::vector<std::size_t> starts;
    for (std::size_t at = 0; at + 1 < segment->words.size();) {
      starts.push_back(at);
      at += std::max<std::size_t>(segment->words[at + 1] >> 16 & 0xffff, 1);
    }
    if (starts.empty()) return;
    std::uint64_t& word = segment->words[starts[below(starts.size())] + 1];
    const unsigned shift = below(2) == 0 ? 0 : below(2) == 0 ? 16 : 32;
    const std::uint64_t mask = (shift == 32 ? 0xffffffff : std::uint64_t{0xffff}) << shift;
    const std::uint64_t value = below(2) == 0 ? below(40) : odd_word();
    word = (word & ~mask) | (value << shift & mask);
  }
  void insert_words() {
    Segment* const segment = any_segment();
    if (segment == nullptr) return;
    for (std::uint64_t count = 1 + below(4); count > 0; --count) {
      const auto at = static_cast<std::ptrdiff_t>(below(segment->words.size() + 1));
      segment->words.insert(segment->words.begin() + at, odd_word());
    }
    segment->head.bytes = segment->words.size() * 8;
  }
  void erase_words() {
    Segment* const segment = any_segment();
    if (segment == nullptr) return;
    const std::size_t from = below(segment->words.size());
    const std::size_t count = std::min(1 + below(8), segment->words.size() - from);
    const auto first = segment->words.begin() + static_cast<std::ptrdiff_t>(from);
    segment->words.erase(first, first + static_cast<std::ptrdiff_t>(count));
    segment->head.bytes = segment->words.size() * 8;
  }
  void change_head_text() {
    if (head_.empty()) return;
    const std::size_t at = below(head_.size());
    switch (below(4)) {
      case 0:
        head_[at] = static_cast<char>(below(256));
        break;
      case 1:
        head_[at] = "{}[]\",:0-9e.ntfu\\"[below(17)];
        break;
      case 2:
        head_.erase(at, 1 + below(40));
        break;
      default:
        head_.insert(below(head_.size()), head_.substr(at, 1 + below(200)));
    }
  }
  void change_head_number() {
    const std::size_t at =
        head_.find_first_of("0123456789", head_.empty() ? 0 : below(head_.size()));
    if (at == std::string::npos) return;
    const std::size_t end = std::min(head_.find_first_not_of("0123456789", at), head_.size());
    constexpr std::string_view kNumbers[] = {"0",
                                             "1",
                                             "-1",
                                             "65535",
                                             "65536",
                                             "4294967296",
                                             "1e400",
                                             "1e18",
                                             "0.5",
                                             "18446744073709551615",
                                             "9223372036854775807",
                                             "99999999999999999999",
                                             "null",
                                             "[]"};
    head_.replace(at, end - at, kNumbers[below(std::size(kNumbers))]);
  }
  void copy_segment() {
    if (segments_.empty()) return;
    const Segment copy = segments_[below(segments_.size())];
    const auto at = static_cast<std::ptrdiff_t>(below(segments_.size() + 1));
    segments_.insert(segments_.begin() + at, copy);
    if (below(2) == 0) segments_[static_cast<std::size_t>(at)].head.number += 1 + below(3);
  }
  void erase_segment() {
    if (segments_.empty()) return;
    segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(below(segments_.size())));
  }
  void swap_segments() {
    if (segments_.empty()) return;
    std::swap(segments_[below(segments_.size())], segments_[below(segments_.size())]);
  }
  void change_segment() {
    if (segments_.empty()) return;
    Segment& segment = segments_[below(segments_.size())];
    switch (below(6)) {
      case 0:
        segment.head.kind = below(2) == 0 ? SegmentHead::kEnd : SegmentHead::kClock;
        break;
      case 1:
        segment.head.lane = static_cast<std::uint32_t>(odd_word());
        break;
      case 2:
        segment.head.number = odd_word();
        break;
      case 3:
        segment.head.offset = odd_word();
        break;
      case 4:
        segment.head.bytes = below(2) == 0 ? odd_word() : segment.head.bytes + 8 - below(3) * 8;
        break;
      default:
        segment.checksum_fits = false;
        segment.head.checksum = odd_word();
    }
  }

  base::Random& random_;
  std::string head_;
  std::vector<Segment> segments_;
};

// --- what is read holds together

void expect_below(std::uint32_t number, std::size_t count) {
  EXPECT_TRUE(number == analysis::kNobody || number < count) << number;
}

// The sum of all that is looked at, so that it is.
std::uint64_t look_at_events(const trace::EventSource& reader) {
  std::uint64_t sum = 0;
  std::int64_t last = 0;
  reader.each([&](const trace::RecordedEvent& event) {
    EXPECT_GE(event.time, last);
    last = event.time;
    const trace::EventEntry& entry = trace::entry(event.event);
    for (std::size_t i = 0; i < entry.field_count(); ++i) sum += event.field(i);
    for (const std::uint64_t word : event.tail()) sum += word;
    if (entry.tail == trace::Tail::text) sum += event.text().size();
  });
  return sum;
}

void look_at_run(const analysis::RecordedRun& run) {
  const std::size_t workers = run.facts.machine.workers.size();
  const std::size_t nodes = run.facts.machine.nodes.size();
  for (std::uint32_t i = 0; i < run.tasks.size(); ++i) {
    const analysis::TaskOfRun& task = run.tasks[i];
    EXPECT_LT(task.name, run.names.size());
    expect_below(task.own_name, run.names.size());
    expect_below(task.worker, workers);
    expect_below(task.releasing, workers);
    EXPECT_TRUE(!task.ran() || task.started <= task.ended);
    EXPECT_LE(task.ended, run.end);
    EXPECT_EQ(run.task_of(TaskId{task.id}), i);
    for (const analysis::AccessOfTask& access : run.accesses_of(task)) {
      EXPECT_LT(access.datum, run.data.size());
    }
    EXPECT_NE(run.find_task(run.name_of(i)), analysis::kNobody);
  }
  for (const analysis::DatumOfRun& datum : run.data) {
    expect_below(datum.home, nodes);
    expect_below(datum.part_of, run.data.size());
  }
  for (const analysis::CopyOfRun& copy : run.copies) {
    EXPECT_LT(copy.datum, run.data.size());
    EXPECT_LT(copy.to, nodes);
    expect_below(copy.from, nodes);
  }
  for (const analysis::RoomChange& change : run.room) {
    EXPECT_LT(change.datum, run.data.size());
    EXPECT_LT(change.node, nodes);
  }
  for (const analysis::SleepOfWorker& sleep : run.sleeps) EXPECT_LT(sleep.worker, workers);
  for (const analysis::MessageOfRun& message : run.messages) {
    expect_below(message.sent, run.data.size());
    expect_below(message.received, run.data.size());
    if (run.ranks.empty()) continue;
    EXPECT_LT(message.from, run.ranks.size());
    EXPECT_LT(message.to, run.ranks.size());
  }
  const auto before = analysis::predecessors(run);
  ASSERT_EQ(before.size(), run.tasks.size());
  for (std::uint32_t i = 0; i < before.size(); ++i) {
    for (const std::uint32_t each : before[i]) EXPECT_LT(each, i);
  }
}

// True: it was read.
bool read(std::span<const std::byte> bytes) {
  try {
    const trace::Reader reader(bytes, "damaged");
    look_at_events(reader);
    look_at_run(analysis::RecordedRun(reader));
    return true;
  } catch (const UsageError& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with("damaged: ")) << error.what();
    return false;
  }
}

// The same with a whole recording of the other rank.
bool read_joined(std::span<const std::byte> bytes, std::span<const std::byte> whole) {
  try {
    std::vector<trace::RankRecording> ranks;
    ranks.emplace_back(std::make_unique<trace::Reader>(bytes, "damaged"));
    ranks.emplace_back(std::make_unique<trace::Reader>(whole, "whole"));
    const trace::JoinedRecording joined(std::move(ranks));
    look_at_events(joined);
    look_at_run(analysis::RecordedRun(joined));
    return true;
  } catch (const UsageError& error) {
    const std::string_view text = error.what();
    EXPECT_TRUE(text.starts_with("damaged") || text.starts_with("whole: ")) << text;
    return false;
  }
}

TEST(DamagedRecordings, AreReadOrRefused) {
  RecordingBuilder simulated({.run = kRun});
  RecordingBuilder counted({.clock = trace::ClockKind::counter,
                            .origin = {.ticks = -50, .ns = 1'000},
                            .ns_per_tick = 0.4});
  record_some(simulated);
  record_some(counted);
  counted.clock({.ticks = 3'000'000, .ns = 1'200'000});
  RecordingBuilder packed({.run = kRun});
  packed.packing();
  record_some(packed);
  const std::span<const std::byte> recordings[] = {simulated.bytes(), counted.bytes(),
                                                   packed.bytes()};
  ASSERT_LT(recordings[2].size() + 1000, recordings[0].size());
  RecordingBuilder other_rank({.run = kRun});
  record_some(other_rank, 1);
  const auto whole = other_rank.bytes();
  for (const auto& bytes : recordings) ASSERT_TRUE(read(bytes));
  ASSERT_TRUE(read_joined(recordings[0], whole));
  ASSERT_FALSE(read_joined(recordings[1], whole));  // it describes no machine

  std::uint64_t read_all = 0;
  std::uint64_t refused = 0;
  testing::for_each_seed(20, [&](base::Random& random, std::uint64_t /*seed*/) {
    for (int i = 0; i < kInputsOfASeed; ++i) {
      Damage damage(recordings[random.below(std::size(recordings))], random);
      for (std::uint64_t times = 1 + random.below(3); times > 0; --times) damage.once();
      std::size_t size = 0;
      const std::vector<std::uint64_t> words = damage.bytes(size);
      const auto damaged = std::as_bytes(std::span(words)).first(size);
      ++(read(damaged) ? read_all : refused);
      read_joined(damaged, whole);
      if (::testing::Test::HasFailure()) return;
    }
  });
  RecordProperty("read", std::to_string(read_all));
  RecordProperty("refused", std::to_string(refused));
}

}  // namespace
}  // namespace vicinal
