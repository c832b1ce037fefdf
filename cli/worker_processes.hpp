// Work that is shared by several processes of this program, so that one that dies takes nothing with it but the job it
// was at.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace vicinal::cli {

// A block of jobs goes to one process, which may keep data that the jobs share.
using Blocks = std::vector<std::vector<std::size_t>>;

struct EndedJob {
  std::size_t job = 0;
  std::string text;   // what the work returned
  std::string error;  // not empty: what it threw, or how the process died
};

// Calls `work` for each job, in so many processes at once, and `ended` in this one as they end. The processes begin as
// copies of this one, and end with it. One: the work is done here. Throws DeviceError where there can be no process.
void in_processes(std::size_t processes, const Blocks& blocks,
                  const std::function<std::string(std::size_t)>& work,
                  const std::function<void(const EndedJob&)>& ended);

}  // namespace vicinal::cli
