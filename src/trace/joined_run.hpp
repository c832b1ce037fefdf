// What the heads of several ranks say of their run, as what one head says: see Reader::run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/event_source.hpp"

namespace vicinal::trace {

// Of rank 0, with the memory nodes, workers, links and segments of all ranks one after another; the names of nodes and
// segments begin with their rank: "rank 1: ram". `runs` are those of `ranks`, whose parts of the machine are set. Throws
// UsageError that names the file: it does not describe its machine as it should.
std::string join_runs(std::span<const std::string_view> runs, std::span<RankOfSource> ranks);

}  // namespace vicinal::trace
