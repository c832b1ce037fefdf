// Recordings of several ranks, made by hand: each begins with what it says of its rank.
//
//   RankBuilder rank(1, {.ranks = 2, .origin_ns = 500});
//   rank.builder.at(10).add(...);
//   rank.compared(510, -400, 3);
//   rank.sent(0, 7, 1, 800, 20, 30);
//   const trace::JoinedRecording joined = joined_of({&rank, ...});
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/recording_builder.hpp"
#include "trace/joined_recording.hpp"

namespace vicinal::testing {

class RankBuilder {
 public:
  struct Setup {
    std::uint64_t ranks = 2;
    std::int64_t origin_ns = 0;
    std::uint64_t key = 0x0123456789abcdef;
    std::string run = R"({"command": "made", "policy": "eager", "machine": {
      "nodes": [{"name": "ram", "kind": "ram"}, {"name": "gpu0", "kind": "device"}],
      "workers": [{"kind": "cpu", "node": 0}, {"kind": "cpu", "node": 0}, {"kind": "gpu", "node": 1}],
      "links": [{"from": 0, "to": 1, "bandwidth": 1e9, "latency_ns": 10, "segments": [0],
                 "serialised": [0]}],
      "segments": [{"name": "bus", "bandwidth": 2e9}]}})";
    bool says_its_rank = true;
  };

  RankBuilder(std::uint32_t rank, const Setup& setup)
      : builder({.clock = trace::ClockKind::monotonic_raw,
                 .origin = {setup.origin_ns, setup.origin_ns},
                 .run = setup.run}),
        name(fmt::format("run.rank{}.vtrace", rank)),
        origin_(setup.origin_ns) {
    builder.at(origin_);
    if (setup.says_its_rank) {
      builder.add(trace::Event::rank_known, rank, {setup.ranks, setup.key});
    }
  }

  // Of the rank's clock.
  RankBuilder& at(std::int64_t time) {
    builder.at(time);
    return *this;
  }
  RankBuilder& compared(std::int64_t at, std::int64_t offset, std::uint64_t error) {
    builder.add(trace::Event::clock_compared, 0,
                {static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(offset), error});
    return *this;
  }
  struct Message {
    std::uint32_t other = 0;  // rank
    std::uint64_t handle = 0;
    std::uint64_t datum = 0;
    std::uint64_t number = 1;
    std::uint64_t bytes = 0;
  };
  RankBuilder& sent(const Message& message, std::int64_t begin, std::int64_t end) {
    return passed(message, 0, begin, end);
  }
  RankBuilder& received(const Message& message, std::int64_t begin, std::int64_t end) {
    return passed(message, 1, begin, end);
  }
  trace::RankRecording recording(bool with_end = true) {
    return trace::RankRecording(std::make_unique<trace::Reader>(builder.bytes(with_end), name));
  }

  RecordingBuilder builder;
  std::string name;

 private:
  RankBuilder& passed(const Message& message, std::uint64_t direction, std::int64_t begin,
                      std::int64_t end) {
    builder.at(begin).add(
        trace::Event::message_began, message.other,
        {message.handle, direction, message.datum, message.number, message.bytes});
    builder.at(end).add(trace::Event::message_ended, message.other,
                        {message.handle, direction, message.datum, message.number});
    return *this;
  }

  std::int64_t origin_;
};

// The builders stay where they are as long as it is read.
inline std::unique_ptr<trace::JoinedRecording> joined_of(const std::vector<RankBuilder*>& ranks) {
  std::vector<trace::RankRecording> files;
  for (RankBuilder* const rank : ranks) files.push_back(rank->recording());
  return std::make_unique<trace::JoinedRecording>(std::move(files));
}

}  // namespace vicinal::testing
