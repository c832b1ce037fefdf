// SMPI as an oracle: a program in MPI, in simulated time on the network of a cluster.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "machine/network_model.hpp"
#include "simgrid/smpirun.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::testing::simgrid {

// Hosts on one switch with a NIC each, of as much bandwidth out as in.
inline std::string platform_of(const machine::NetworkModel& network) {
  if (network.tree || network.backplane || network.nics != 1) {
    throw std::invalid_argument("platform_of: not all hosts are on one switch");
  }
  // A message passes two links; all have the same latency, as SimGrid shares bandwidth in the inverse ratio of latencies.
  const double latency = static_cast<double>(network.latency_between(0, 1).ns) * 1e-9 / 2;
  return fmt::format(
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n"
      "<cluster id=\"cluster\" prefix=\"h\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" bw=\"{:.17g}Bps\""
      " lat=\"{:.17g}s\" sharing_policy=\"SPLITDUPLEX\"/>\n"
      "</platform>\n",
      network.hosts - 1, network.nic.value, latency);
}

// What broadcast.c prints, in lines, for a file with this text.
inline std::vector<std::string> run_broadcasts(const machine::NetworkModel& network,
                                               const std::string& text) {
  const TemporaryFolder folder("smpi");
  std::ofstream(folder.file("platform.xml")) << platform_of(network);
  std::ofstream(folder.file("broadcasts")) << text;
  std::ofstream hosts(folder.file("hosts"));
  for (std::uint32_t host = 0; host < network.hosts; ++host) hosts << 'h' << host << '\n';
  hosts.close();
  // Not linked with SimGrid's library: the program that loads it is.
  output_of(fmt::format("SMPI_NO_UNDEFINED_CHECK=1 '{}' -O1 '{}' -o '{}' 2>&1", VICINAL_SMPICC,
                        VICINAL_SMPI_BROADCAST, folder.file("broadcast")));
  std::istringstream output(output_of(fmt::format(
      "cd '{}' && '{}' -np {} -no-privatize -platform platform.xml -hostfile hosts{}"
      // Time passes in messages alone.
      " --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 ./broadcast broadcasts 2>&1",
      folder.path(), VICINAL_SMPIRUN, network.hosts, kNetworkOptions)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(output, line);) {
    if (line.starts_with("came ")) lines.push_back(line);
  }
  return lines;
}

}  // namespace vicinal::testing::simgrid
