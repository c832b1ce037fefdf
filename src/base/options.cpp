#include "vicinal/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unistd.h>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/process_limits.hpp"
#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal {

namespace {

using Member = std::variant<bool Options::*, std::uint32_t Options::*, std::uint64_t Options::*,
                            double Options::*, std::string Options::*, Bytes Options::*,
                            std::optional<Bytes> Options::*, BytesPerSecond Options::*>;

struct OptionEntry {
  std::string_view name;
  Member member;
  std::string_view sentence;
  // What a number may be; of a type with less room, that room.
  std::uint64_t lowest = 0;
  std::uint64_t highest = std::numeric_limits<std::int64_t>::max();
  bool of_memory = false;  // it may be a share of what this process can allocate
};

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
// A memory smaller than one page holds nothing.
constexpr std::uint64_t kPage = 4096;

// The one table: set, the environment, option_table and docs/options.md come from it. The defaults
// are those of struct Options.
constexpr OptionEntry kTable[] = {
    {"machine", &Options::machine,
     "Machine to simulate in place of the one that is there: one that comes with the library, or a "
     "machine file (it contains a / or ends in .toml), and what is to be other than it says, as in "
     "v100,gpus=2,memory=1GiB; also cpus, cuda_devices, opencl_devices, ram, and ranks=1: one host "
     "of a cluster. Kernels are not called then, and the options that describe a machine are not "
     "used; empty: none."},
    {"workers", &Options::workers,
     "Threads that run tasks; 0: one per core, or per worker_processors of them.", 0, 4096},
    {"submitter_works", &Options::submitter_works,
     "The thread that waits runs tasks meanwhile, as the last of the workers."},
    {"bind", &Options::bind, "Bind the thread of each worker to its core."},
    {"worker_processors", &Options::worker_processors,
     "With bind: cores of each worker, for kernels with threads of their own; OpenMP takes as many "
     "threads there.",
     1, 4096},
    {"policy", &Options::policy,
     "Scheduling policy: which ready task runs where, and in which order; default: horizon "
     "where memory is limited or accelerators alone run tasks, darts where cores work beside "
     "accelerators, else lws; auto: the fastest of several in simulation, of commands that "
     "simulate, "
     "and default elsewhere."},
    {"memory", &Options::memory,
     "Limit on the replicas in RAM, padding included; none: no limit; auto: 80% of what can be "
     "allocated, respecting containers and SLURM; 50%: half of that. The application's own buffers "
     "do not count.",
     kPage, std::numeric_limits<std::int64_t>::max(), true},
    {"disk", &Options::disk, "Folder that holds what does not fit in memory; empty: none."},
    {"disk_space", &Options::disk_space,
     "Limit on what is kept in that folder; none: what is free there."},
    {"direct_io", &Options::direct_io,
     "Go around the page cache (O_DIRECT) and use io_uring, where they are available."},
    {"disk_copies", &Options::disk_copies,
     "Copies in flight at once, to the disk and as many from it.", 1, 1024},
    {"accelerators", &Options::accelerators,
     "Emulated accelerators: a worker with a memory of its own, that runs the CPU kernels.", 0, 8},
    {"accelerator_memory", &Options::accelerator_memory,
     "Limit on the replicas in the memory of each.", kPage},
    {"accelerator_bandwidth", &Options::accelerator_bandwidth,
     "Bytes per second of the emulated link, in each direction; 0: as fast as memory."},
    {"accelerator_api", &Options::accelerator_api,
     "What drives them: threads; or cuda or opencl, for tests of what drives real ones: the queues "
     "of such a device, with memory that the CPU kernels can reach, too (OpenCL: on a device that "
     "runs functions of the host, as PoCL's does)."},
    {"cuda_devices", &Options::cuda_devices,
     "CUDA devices to use, the first ones of those that CUDA_VISIBLE_DEVICES leaves.", 0, 32},
    {"cuda_library", &Options::cuda_library,
     "Library with CUDA's driver API; it is looked for when there are to be CUDA devices."},
    {"cublas_library", &Options::cublas_library,
     "Library with cuBLAS, for the kernels that use it; empty: the usual names are tried."},
    {"cusolver_library", &Options::cusolver_library,
     "Library with cuSOLVER, for the kernels that use it; empty: the usual names are tried."},
    {"opencl_devices", &Options::opencl_devices,
     "OpenCL devices to use, the first ones that the system's OpenCL knows.", 0, 32},
    {"devices", &Options::devices,
     "Devices of drivers that the application has registered: name:count, with commas; empty: "
     "none."},
    {"device_memory", &Options::device_memory,
     "Limit on the replicas in the memory of each CUDA device, OpenCL device and registered one; "
     "none: nine tenths of it, or its largest buffer.",
     kPage},
    {"pin_memory", &Options::pin_memory,
     "Pin RAM of the runtime where there are CUDA devices, for copies several times faster: that "
     "under "
     "a limit at the beginning, a second per some GiB, else each replica with its first copy."},
    {"device_queues", &Options::device_queues, "Queues of kernels per device.", 1, 64},
    {"device_tasks", &Options::device_tasks,
     "Tasks that are on the queues of a device at once, at most.", 1, 1024},
    {"look_ahead", &Options::look_ahead,
     "Tasks pulled from the policy and not started, at most, per memory node, to fetch their data "
     "early; 0: as many as copies take to come, 8 in RAM and 32 on an accelerator at most.",
     0, 1'000'000},
    {"contention", &Options::contention,
     "Whether memory-bound tasks wait for each other: auto: where the machine says what its memory "
     "gives, one waits while tasks and large transfers use that up, so that what computes runs "
     "beside them, and of idle workers one polls beside a large transfer; off: none waits; or a "
     "machine, by its name or file, which the one that is there is like."},
    {"window_tasks", &Options::window_tasks,
     "Tasks submitted and not executed, at most: then submit waits; 0: no bound.", 0, kAny},
    {"window_bytes", &Options::window_bytes, "Bytes of their operands, at most; 0: no bound."},
    {"plan", &Options::plan,
     "File of a plan that the run follows: where its tasks run, in which order (vicinal plan makes "
     "one); with the policies default and horizon; empty: none."},
    {"plan_pause", &Options::plan_pause,
     "Policies that plan: seconds without a submission after which tasks that wait for a plan go "
     "on, "
     "if a worker sleeps; 0: never, they wait for a call that waits, or a full window.",
     0, 1'000'000'000},
    {"compute_priorities", &Options::compute_priorities,
     "Give tasks submitted with priority 0 their bottom level as priority."},
    {"measure_scheduling", &Options::measure_scheduling,
     "Time the calls of the policy (a tenth of a microsecond more per task)."},
    {"check_reads", &Options::check_reads,
     "Look at what a task only reads before and after its kernel, on cores and emulated "
     "accelerators, and let the task fail if it has changed."},
    {"undelivered_errors", &Options::undelivered_errors,
     "What the end of the runtime does with an error that no call has thrown: terminate ends the "
     "program, unless an exception is on its way; warn only prints it."},
    {"stall_seconds", &Options::stall_seconds,
     "Report who waits for what when no task has ended for so long; 0: never.", 0, 1'000'000'000},
    {"status", &Options::status,
     "File that is written anew once a second, and at the end, with counts of tasks, bytes and "
     "memory in Prometheus' text form; empty: none."},
    {"models", &Options::models,
     "Folder of the run times that policies which predict learn from and add to; empty: the user's "
     "cache; none: nothing is timed or kept."},
    {"memory_rules", &Options::memory_rules,
     "Rules of another runtime for a full memory, to compare with: starpu, xkaapi, or some of "
     "lru, clean, prefetch, owner, hint, pipeline, peer, saved, with commas; or unified: memory "
     "whose pages the system moves when they are touched; in simulation only; empty: none."},
    {"seed", &Options::seed, "Of the random numbers of the policy.", 0, kAny},
    {"trace", &Options::trace,
     "File that what happens is recorded in, for vicinal report, explain and export; empty: none."},
    {"trace_events", &Options::trace_events,
     "What is recorded: all, or some of tasks, transfers, memory, scheduler, submission, decisions "
     "and application, with commas."},
    {"trace_memory", &Options::trace_memory,
     "Memory for what is recorded and not yet in the file; what has no room there is left out and "
     "counted.",
     std::uint64_t{1} << 20},
    {"mpi", &Options::mpi,
     "Over which MPI the processes that a launcher has started work together: auto: that of the "
     "launcher, mpirun or srun; openmpi, mpich; none: each process runs alone."},
    {"broadcast", &Options::broadcast,
     "How data go to several ranks that read the same version: auto: along the tree that takes "
     "least time for their size and the number of ranks; off: to one after the other; along one "
     "tree: chain, binary, binomial, delegated (the first rank does it), or 4-ary, with any "
     "number. To compare with, behind it: priorities=sends or no, where priorities count (in the "
     "places of the tree and among sends if nothing is said); readers=last: content is read when "
     "it has been sent on: binary:priorities=no:readers=last."},
    {"broadcast_finding", &Options::broadcast_finding,
     "How the versions that go to several ranks together are found: sequence: all readers that are "
     "submitted when the rank comes to send the version, and those that come later, together "
     "again; bags: those submitted before the version was ready, others alone."},
    {"reduction_tree", &Options::reduction_tree,
     "How what tasks of several ranks reduce into the same data comes together at their owner, the "
     "same on all ranks: auto: along a binomial tree; flat: from one rank after the other; along "
     "another tree: chain, binary, binomial, delegated, or 4-ary, with any number; off: tasks "
     "reduce on the owner alone."},
    {"receive_placement", &Options::receive_placement,
     "Where content of other ranks goes when it has come to RAM: ram: it stays; advised: on to the "
     "accelerator that is advised for what the receiving task writes, else to the one that wrote "
     "it last; owner: to the latter; random: to any. It stays, too, where the accelerator has no "
     "room."},
    {"numa_placement", &Options::numa_placement,
     "In simulation, of a machine whose file says how cores and transfers share its memory: on "
     "which NUMA node data in RAM lie: first: that of the first worker whose task uses them; "
     "spread: of each datum the next; or the number of a node, for all."},
    {"receive_numa", &Options::receive_numa,
     "Likewise, content of other ranks: auto: where the tasks that run leave it most bandwidth, "
     "with contention=off node 0; the number of a node (the NIC is at 0); home: where the datum "
     "lies already; spread: of each receive the next."},
    {"rank_link", &Options::rank_link,
     "What a message between ranks costs, by which trees of broadcasts are chosen: auto: what is "
     "measured while the program runs; or latency and bandwidth, such as 20us,1GB/s."},
    {"rank_timeout", &Options::rank_timeout,
     "Seconds after which a rank that gives no sign of life is taken to be lost, which ends the "
     "run "
     "on all ranks. A long kernel is no silence.",
     1, 1'000'000'000},
};
constexpr std::size_t kCount = std::size(kTable);

// --- One value from text, and back ---------------------------------------------------------------

void assign(bool& value, std::string_view text, const OptionEntry&) {
  value = base::parse_bool(text);
}

void assign(std::string& value, std::string_view text, const OptionEntry&) {
  value = text;
}

template <typename Integer>
requires std::is_integral_v<Integer>
void assign(Integer& value, std::string_view text, const OptionEntry& entry) {
  const auto highest = std::min<std::uint64_t>(entry.highest, std::numeric_limits<Integer>::max());
  value = static_cast<Integer>(base::parse_count(text, entry.lowest, highest));
}

void assign(double& value, std::string_view text, const OptionEntry& entry) {
  const double parsed = base::parse_real(text);
  if (parsed < static_cast<double>(entry.lowest) || parsed > static_cast<double>(entry.highest)) {
    throw UsageError(
        fmt::format("\"{}\" is out of range. Write a number from {} to {}, such as 2.5", text,
                    entry.lowest, entry.highest));
  }
  value = parsed;
}

void assign(Bytes& value, std::string_view text, const OptionEntry& entry) {
  const Bytes parsed = base::parse_bytes(text);
  if (parsed.value < entry.lowest || parsed.value > entry.highest) {
    throw UsageError(
        fmt::format("\"{}\" is out of range. Write a number of bytes from {} to {}, such as 800MiB",
                    text, entry.lowest, entry.highest));
  }
  value = parsed;
}

// What other allocations of the process take has room in the rest.
constexpr std::string_view kAutomaticShare = "80%";

Bytes share_of_memory(std::string_view percent, const OptionEntry& entry) {
  const double share = base::parse_real(percent.substr(0, percent.size() - 1));
  if (share <= 0 || share > 100) {
    throw UsageError(
        fmt::format("\"{}\" is out of range. Write a share up to 100%, such as 50%", percent));
  }
  const std::optional<Bytes> memory = base::ProcessLimits().memory();
  if (!memory) {
    throw UsageError(
        fmt::format("\"{}\": the system does not tell how much memory can be allocated. Write a "
                    "number of bytes",
                    percent));
  }
  const auto bytes = static_cast<std::uint64_t>(static_cast<double>(memory->value) * share / 100);
  return {std::max(bytes / entry.lowest, std::uint64_t{1}) * entry.lowest};
}

void assign(std::optional<Bytes>& value, std::string_view text, const OptionEntry& entry) {
  if (text == "none") {
    value.reset();
    return;
  }
  if (entry.of_memory && (text == "auto" || text.ends_with('%'))) {
    value = share_of_memory(text == "auto" ? kAutomaticShare : text, entry);
    return;
  }
  Bytes bytes;
  try {
    assign(bytes, text, entry);
  } catch (const UsageError& error) {
    throw UsageError(
        fmt::format("{}{}, or none", error.what(), entry.of_memory ? ", auto, 50%" : ""));
  }
  value = bytes;
}

void assign(BytesPerSecond& value, std::string_view text, const OptionEntry& entry) {
  base::refuse_bits(text);
  const std::string_view amount = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
  Bytes in_a_second;
  assign(in_a_second, amount, entry);
  value = {static_cast<double>(in_a_second.value)};
}

std::string to_text(bool value) {
  return value ? "true" : "false";
}
std::string to_text(const std::string& value) {
  return value;
}
template <typename Number>
requires std::is_arithmetic_v<Number> std::string to_text(Number value) {
  return fmt::format("{}", value);
}
std::string to_text(Bytes value) {
  return value.value == 0 ? "0" : base::format_bytes(value);
}
std::string to_text(const std::optional<Bytes>& value) {
  return value ? to_text(*value) : "none";
}
std::string to_text(BytesPerSecond value) {
  return to_text(Bytes{static_cast<std::uint64_t>(value.value)});
}

// What `assign` reads as the same value, or refuses for what it is.
std::string exact_text(BytesPerSecond value) {
  if (std::isnan(value.value)) return "nan";  // also one with a sign
  // Below a byte per second is no bandwidth; 0 means another.
  if (value.value > 0 && value.value < 1) return fmt::format("{}", value.value);
  return fmt::format("{:.0f}", value.value);
}
std::string exact_text(Bytes value) {
  return fmt::format("{}", value.value);
}
std::string exact_text(const std::optional<Bytes>& value) {
  return value ? exact_text(*value) : "none";
}
std::string exact_text(const auto& value) {
  return to_text(value);
}

std::string_view type_name(bool) {
  return "boolean";
}
std::string_view type_name(const std::string&) {
  return "text";
}
std::string_view type_name(double) {
  return "real";
}
template <typename Integer>
requires std::is_integral_v<Integer> std::string_view type_name(Integer) {
  return "integer";
}
template <typename BytesLike>
requires std::is_class_v<BytesLike> std::string_view type_name(const BytesLike&) {
  return "bytes";
}

void assign_member(Options& options, const OptionEntry& entry, std::string_view text) {
  std::visit([&](auto member) { assign(options.*member, text, entry); }, entry.member);
}

// --- Names ---------------------------------------------------------------------------------------

const OptionEntry* find(std::string_view name) {
  const auto* const entry = std::find_if(std::begin(kTable), std::end(kTable),
                                         [&](const OptionEntry& e) { return e.name == name; });
  return entry == std::end(kTable) ? nullptr : entry;
}

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

constexpr std::string_view kPrefix = "VICINAL_";

std::string variable_of(std::string_view name) {
  std::string variable(kPrefix);
  for (const char c : name) variable += upper(c);
  return variable;
}

std::string_view nearest_option(std::string_view name) {
  std::array<std::string_view, kCount> names;
  std::transform(std::begin(kTable), std::end(kTable), names.begin(),
                 [](const OptionEntry& e) { return e.name; });
  return base::nearest(name, names);
}

constexpr std::string_view kAll = "docs/options.md lists those that exist";

// `assignment` is one of environ: NAME=value.
void set_from_variable(Options& options, std::string_view assignment) {
  const auto equals = assignment.find('=');
  const std::string_view variable = assignment.substr(0, equals);
  if (!variable.starts_with(kPrefix) || equals == std::string_view::npos) return;
  const auto* const entry =
      std::find_if(std::begin(kTable), std::end(kTable),
                   [&](const OptionEntry& e) { return variable_of(e.name) == variable; });
  if (entry == std::end(kTable)) {
    const std::string_view meant = nearest_option(variable.substr(kPrefix.size()));
    throw UsageError(fmt::format(
        "unknown environment variable {}: {}{}", variable,
        meant.empty() ? "unset it; " : fmt::format("did you mean {}? ", variable_of(meant)), kAll));
  }
  try {
    assign_member(options, *entry, assignment.substr(equals + 1));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("environment variable {}: {}", variable, error.what()));
  }
}

}  // namespace

void Options::set(std::string_view name, std::string_view value) {
  const OptionEntry* entry = find(name);
  if (entry == nullptr) {
    const std::string_view meant = nearest_option(name);
    throw UsageError(fmt::format("unknown option \"{}\": {}{}", name,
                                 meant.empty() ? "" : fmt::format("did you mean \"{}\"? ", meant),
                                 kAll));
  }
  try {
    assign_member(*this, *entry, value);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("option {}: {}", name, error.what()));
  }
}

void Options::check() const {
  Options as_read;
  for (const OptionEntry& entry : kTable) {
    as_read.set(entry.name,
                std::visit([&](auto member) { return exact_text(this->*member); }, entry.member));
  }
}

std::vector<std::pair<std::string, std::string>> Options::changed() const {
  const Options defaults;
  std::vector<std::pair<std::string, std::string>> result;
  for (const OptionEntry& entry : kTable) {
    const auto text = [&](const Options& options) {
      return std::visit([&](auto member) { return to_text(options.*member); }, entry.member);
    };
    if (text(*this) != text(defaults)) result.emplace_back(entry.name, text(*this));
  }
  return result;
}

// Reads environ without a lock: no other thread may change the environment meanwhile (POSIX offers
// no safe way).
Options Options::from_environment() {
  Options options;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    set_from_variable(options, *variable);
  }
  return options;
}

std::span<const OptionDescription> option_table() {
  static const auto kDefaults = [] {
    std::array<std::string, kCount> texts;
    const Options options;
    for (std::size_t i = 0; i < kCount; ++i) {
      texts[i] =
          std::visit([&](auto member) { return to_text(options.*member); }, kTable[i].member);
    }
    return texts;
  }();
  static const auto kDescriptions = [] {
    std::array<OptionDescription, kCount> descriptions;
    const Options options;
    for (std::size_t i = 0; i < kCount; ++i) {
      const OptionEntry& entry = kTable[i];
      const std::string_view type =
          std::visit([&](auto member) { return type_name(options.*member); }, entry.member);
      descriptions[i] = {entry.name, type, kDefaults[i], entry.sentence};
    }
    return descriptions;
  }();
  return kDescriptions;
}

}  // namespace vicinal
