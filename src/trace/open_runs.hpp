// The runs whose recordings a command is given.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/event_source.hpp"

namespace vicinal::trace {

// One file is one run. Several are those of all ranks of one run, or, if `most` is 2, two runs that are compared: two files
// that are of no run of several ranks, that hold all ranks of one each, or are of the same rank of two runs; or the files of
// all ranks of two runs. Throws what Reader, RanksOfFile and JoinedRecording throw, and UsageError: they are of more runs.
std::vector<std::unique_ptr<EventSource>> open_runs(std::span<const std::string> files,
                                                    std::size_t most);

// "run.vtrace", also of all ranks in one file; "run.rank0.vtrace to run.rank3.vtrace".
std::string name_of(const EventSource& source);

}  // namespace vicinal::trace
