// The runs whose recordings a command is given.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/event_source.hpp"

namespace vicinal::trace {

// One file is one run. Several are those of all ranks of one run, or, if `most` is 2 and so many are given, two runs
// that are compared: files that are of no run of several ranks, or of the same rank of two runs. Throws what Reader and
// JoinedRecording throw.
std::vector<std::unique_ptr<EventSource>> open_runs(std::span<const std::string> files,
                                                    std::size_t most);

// "run.vtrace", "run.rank0.vtrace to run.rank3.vtrace".
std::string name_of(const EventSource& source);

}  // namespace vicinal::trace
