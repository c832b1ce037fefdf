// SimGrid's smpirun, as tests call it.
//
// Its programs are run, nothing is linked: Debian's libsimgrid (LGPL) brings ns-3, which is under the GPL.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

namespace vicinal::testing::simgrid {

// Of the network: flows share bandwidth, and nothing else.
inline constexpr const char* kNetworkOptions =
    " --cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0"
    " --cfg=network/latency-factor:1 --cfg=network/bandwidth-factor:1 --cfg=network/weight-S:0"
    // By default it takes what is within 10 microseconds (smpirun: 1 ns) for simultaneous.
    " --cfg=surf/precision:1e-12"
    // A send ends when its content is there, however short.
    " --cfg=smpi/send-is-detached-thresh:0 --cfg=smpi/host-speed:1f"
    " --log=xbt_cfg.thresh:warning";

// What the command writes. Throws std::runtime_error unless it ends well.
inline std::string output_of(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  std::string output;
  char buffer[4096];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.append(buffer, n);
  if (pclose(pipe) != 0) throw std::runtime_error(command + "\n" + output);
  return output;
}

}  // namespace vicinal::testing::simgrid
