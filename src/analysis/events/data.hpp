// The data of a run. One that was registered before the recording began has an id, and no name or size.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/events/machine_of_run.hpp"
#include "analysis/recorded_run.hpp"
#include "base/id_map.hpp"
#include "trace/event_source.hpp"

namespace vicinal::analysis {

class DataOfRun {
 public:
  DataOfRun(std::vector<DatumOfRun>& data, MachineOfRun& machine, const std::string& path)
      : data_(data), machine_(machine), path_(path) {}

  std::uint32_t place(std::uint64_t id) {
    std::uint32_t& place = by_id_[id];
    if (place == base::IdMap::kNone) {
      place = static_cast<std::uint32_t>(data_.size());
      data_.emplace_back().id = id;
    }
    return place;
  }
  void take_registered(const trace::RecordedEvent& event);
  // After the last event. Throws UsageError: parts of each other.
  void finish() const;
  base::IdMap take_index() { return std::move(by_id_); }

 private:
  std::vector<DatumOfRun>& data_;
  MachineOfRun& machine_;
  const std::string& path_;
  base::IdMap by_id_;
  std::vector<bool> registered_;  // by place
};

}  // namespace vicinal::analysis
