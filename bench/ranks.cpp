// Question: what do many runtimes in one simulated world cost, each of which declares far more data than it uses? Each
// declares `declared` data, and its tasks write `used` of them, in turn. Prints resident memory before and after each
// step; bench/ranks.py compares instructions per task, and says how.
//
// Lower bound: what one runtime costs for the same data and tasks altogether.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "help.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/runtime.hpp"

namespace {

using namespace vicinal;  // NOLINT(google-build-using-namespace)
using runtime::MachineSetup;
using runtime::RuntimeImpl;
using runtime::SharedWorld;

constexpr const char* kHelp =
    R"(What many runtimes in one simulated world cost: bench/ranks.cpp says what it measures.
  --ranks N     runtimes (1000)
  --declared N  data that each declares (10000)
  --used N      of these, that its tasks use (100)
  --tasks N     tasks of each (100)
  --most MIB    exit status 1 if more is resident in the end
)";

struct Arguments {
  std::uint64_t ranks = 1000;
  std::uint64_t declared = 10'000;
  std::uint64_t used = 100;
  std::uint64_t tasks = 100;
  std::uint64_t most = 0;  // MiB; 0: any
};

bool parse(int count, char** values, Arguments& into) {
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = values[i];
    std::uint64_t* const number = name == "--ranks"      ? &into.ranks
                                  : name == "--declared" ? &into.declared
                                  : name == "--used"     ? &into.used
                                  : name == "--tasks"    ? &into.tasks
                                  : name == "--most"     ? &into.most
                                                         : nullptr;
    if (number == nullptr || i + 1 == count) return false;
    const std::string_view text = values[i + 1];
    const auto read = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return false;
  }
  return into.ranks > 0 && into.used > 0 && into.used <= into.declared;
}

double resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib / 1024;
  }
  return 0;
}

// A core, and a file server behind RAM.
MachineDescription rank() {
  constexpr NodeId kServer{1};
  const BytesPerSecond bandwidth{1e9};
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}, {kServer, "server", NodeKind::disk, {}}};
  machine.links = {{kServer, kRam, bandwidth, Time{0}}, {kRam, kServer, bandwidth, Time{0}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
  return machine;
}

class ManyRanks {
 public:
  explicit ManyRanks(const Arguments& arguments) : arguments_(arguments) {
    const auto world = std::make_shared<SharedWorld>();
    Options options;
    options.policy = "lws";
    for (std::uint64_t r = 0; r < arguments.ranks; ++r) {
      ranks_.push_back(std::make_unique<RuntimeImpl>(options, MachineSetup(rank(), world)));
    }
  }
  // By row and column, as the tiles of a matrix.
  void hear() {
    data_.resize(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint64_t d = 0; d < arguments_.declared; ++d) {
        const std::string name =
            "A(" + std::to_string(d / 100) + "," + std::to_string(d % 100) + ")";
        const Handle handle = ranks_[r]->application().declared.declare({4096, 1, 4096, 8}, name);
        if (d < arguments_.used) data_[r].push_back(handle);
      }
    }
  }
  void run() {
    static const Codelet task{.name = "task", .expected = {Time{1000}}};
    for (std::uint64_t t = 0; t < arguments_.tasks; ++t) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r]->submit({.codelet = &task, .operands = {W(data_[r][t % arguments_.used])}});
      }
    }
    for (const auto& each : ranks_) each->wait();
  }

 private:
  const Arguments arguments_;
  std::vector<std::unique_ptr<RuntimeImpl>> ranks_;
  std::vector<std::vector<Handle>> data_;
};

}  // namespace

// Counted by bench/ranks.py.
extern "C" [[gnu::noinline]] void ranks_counted(void* ranks) {
  auto& all = *static_cast<ManyRanks*>(ranks);
  all.hear();
  all.run();
}

int main(int count, char** values) {
  if (bench::helped(count, values, kHelp)) return 0;
  Arguments arguments;
  if (!parse(count, values, arguments)) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  const double before = resident_mib();
  ManyRanks ranks(arguments);
  const double made = resident_mib();
  ranks_counted(&ranks);
  const double after = resident_mib();
  const double data = static_cast<double>(arguments.ranks * arguments.declared);
  std::printf(
      "%llu runtimes: %.1f KiB each; with %llu data declared and %llu used by each: "
      "%.0f MiB more, %.1f bytes per datum; resident %.0f MiB\n",
      static_cast<unsigned long long>(arguments.ranks),
      (made - before) * 1024 / static_cast<double>(arguments.ranks),
      static_cast<unsigned long long>(arguments.declared),
      static_cast<unsigned long long>(arguments.used), after - made,
      (after - made) * 1048576 / data, after);
  std::fflush(stdout);
  const bool too_much = arguments.most > 0 && after > static_cast<double>(arguments.most);
  if (too_much)
    std::printf("more than %llu MiB\n", static_cast<unsigned long long>(arguments.most));
  return too_much ? 1 : 0;
}
