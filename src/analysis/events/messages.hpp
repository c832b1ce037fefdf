// The messages between ranks, each put together from the words of its sender and of its receiver.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "analysis/events/data.hpp"
#include "analysis/recorded_run.hpp"
#include "trace/event_source.hpp"

namespace vicinal::analysis {

class MessagesOfRun {
 public:
  MessagesOfRun(RecordedRun& run, DataOfRun& data, const std::string& path)
      : run_(run), data_(data), path_(path) {}

  // False: the event is not about a message. Throws UsageError: there is no such rank.
  bool take(const trace::RecordedEvent& event);

 private:
  struct Name {  // the same on both ranks
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t datum = 0;
    std::uint64_t number = 0;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  std::uint32_t own_rank(const trace::RecordedEvent& event) const;

  RecordedRun& run_;
  DataOfRun& data_;
  const std::string& path_;
  std::map<Name, std::uint32_t> places_;  // in run_.messages
};

}  // namespace vicinal::analysis
