// SimGrid as an oracle: it plays the sends of a file, and says when each has ended.
//
// smpirun replays traces of MPI: a pair of ranks on two hosts of their own for each sender, and a route
// between them of the links that its sends pass.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "simgrid/smpirun.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::testing::simgrid {

// Waits, then sends, then the next; each send ends before the next wait begins.
struct Send {
  std::uint64_t wait_ns = 0;
  std::uint64_t bytes = 0;
};
struct Sender {
  std::vector<Send> sends;
  std::vector<std::uint32_t> links;  // which its content passes
};
struct Platform {
  std::vector<double> bandwidths;  // of the links, bytes per second
  // Before the content of every send flows. The same for all: SimGrid shares bandwidth in the inverse
  // ratio of the latencies, which no option turns off. For different ones use Send::wait_ns.
  std::uint64_t latency_ns = 0;
};

// What MPI adds to each message. No send can be shorter.
inline constexpr std::uint64_t kEnvelopeBytes = 16;

inline std::string seconds(std::uint64_t ns) {
  return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

class Replay {
 public:
  // When each send of each sender has ended, in ns, to a thousandth.
  std::vector<std::vector<double>> ends(const Platform& platform,
                                        const std::vector<Sender>& senders) {
    write("platform.xml", platform_text(platform, senders));
    write("hosts", hosts_text(senders.size()));
    write("trace", trace_text(senders));
    write("traces", folder_.file("trace") + "\n");
    return parse(output_of(command(senders.size())), senders);
  }

 private:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
  }

  static std::string platform_text(const Platform& platform, const std::vector<Sender>& senders) {
    std::string text =
        "<?xml version='1.0'?>\n"
        "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\">\n<zone id=\"machine\" routing=\"Full\">\n";
    for (std::size_t i = 0; i < 2 * senders.size(); ++i) {
      text += fmt::format("<host id=\"h{}\" speed=\"1f\"/>\n", i);
    }
    for (std::size_t l = 0; l < platform.bandwidths.size(); ++l) {
      text += fmt::format("<link id=\"l{}\" bandwidth=\"{:.17g}Bps\" latency=\"0s\"/>\n", l,
                          platform.bandwidths[l]);
    }
    // Every flow has so much of it, whoever else passes.
    text += fmt::format(
        "<link id=\"wait\" bandwidth=\"1e15Bps\" latency=\"{}s\" sharing_policy=\"FATPIPE\"/>\n",
        seconds(platform.latency_ns));
    for (std::size_t s = 0; s < senders.size(); ++s) {
      text +=
          fmt::format("<route src=\"h{}\" dst=\"h{}\"><link_ctn id=\"wait\"/>", 2 * s, 2 * s + 1);
      for (const std::uint32_t l : senders[s].links) {
        text += fmt::format("<link_ctn id=\"l{}\"/>", l);
      }
      text += "</route>\n";
    }
    return text + "</zone>\n</platform>\n";
  }

  static std::string hosts_text(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < 2 * count; ++i) text += fmt::format("h{}\n", i);
    return text;
  }

  static std::string trace_text(const std::vector<Sender>& senders) {
    std::string text;
    for (std::size_t s = 0; s < senders.size(); ++s) {
      const std::size_t from = 2 * s;
      const std::size_t to = from + 1;
      text += fmt::format("{} init\n{} init\n", from, to);
      for (const Send& send : senders[s].sends) {
        const std::uint64_t content = send.bytes - kEnvelopeBytes;
        if (send.wait_ns > 0) text += fmt::format("{} sleep {}\n", from, seconds(send.wait_ns));
        text += fmt::format("{} send {} 0 {}\n", from, to, content);
        text += fmt::format("{} recv {} 0 {}\n", to, from, content);
      }
      text += fmt::format("{} finalize\n{} finalize\n", from, to);
    }
    return text;
  }

  std::string command(std::size_t count) const {
    return fmt::format(
        "cd '{}' && '{}' -np {} -no-privatize -platform platform.xml -hostfile hosts -replay "
        "traces{}"
        " --log=smpi_replay.thresh:verbose"
        " '--log=root.fmt:%.12r:%m%n' 2>&1",
        folder_.path(), VICINAL_SMPIRUN, 2 * count, kNetworkOptions);
  }

  // "0.123656789000:2 send 3 0 84 0.000200": when, the rank, what it did, how long that took.
  static std::vector<std::vector<double>> parse(const std::string& output,
                                                const std::vector<Sender>& senders) {
    std::vector<std::vector<double>> ends(senders.size());
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      double at = 0;
      char colon = 0;
      std::size_t rank = 0;
      std::string action;
      if (!(words >> at >> colon >> rank >> action) || action != "send") continue;
      ends.at(rank / 2).push_back(at * 1e9);
    }
    for (std::size_t s = 0; s < senders.size(); ++s) {
      if (ends[s].size() != senders[s].sends.size()) throw std::runtime_error("replay: " + output);
    }
    return ends;
  }

  TemporaryFolder folder_{"simgrid"};
};

}  // namespace vicinal::testing::simgrid
