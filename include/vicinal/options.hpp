// Every option of the runtime. One table gives each a name, a VICINAL_ variable, a type, a
// default and its sentence in docs/options.md.
//
//   vicinal::Options options = vicinal::Options::from_environment();   // VICINAL_MEMORY=800MiB ...
//   options.set("policy", "darts");
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vicinal/units.hpp"

namespace vicinal {

// The options with their defaults.
struct Options {
  std::string machine = {};   // simulate this one: "v100,gpus=2"; empty: the machine that is there
  std::uint32_t workers = 0;  // threads that run tasks; 0: as many as have cores
  bool submitter_works = true;  // the waiting thread is the last of them
  bool bind = true;             // bind each worker's thread to its core
  std::uint32_t worker_processors =
      1;                             // cores of each worker, for kernels with threads of their own
  std::string policy = "default";    // by what there is: horizon, darts or lws, see docs/options.md
  std::optional<Bytes> memory = {};  // limit on the replicas in RAM; none: no limit
  std::string disk = {};             // folder that holds what does not fit; empty: none
  std::optional<Bytes> disk_space = {};            // at most so much of it; none: what is free
  bool direct_io = true;                           // O_DIRECT and io_uring where they are available
  std::uint32_t disk_copies = 4;                   // copies in flight per direction
  std::uint32_t accelerators = 0;                  // emulated ones
  Bytes accelerator_memory = Bytes{256ULL << 20};  // of each emulated one
  BytesPerSecond accelerator_bandwidth = BytesPerSecond{0};  // emulated link; 0: as fast as memory
  std::string accelerator_api = "threads";                   // whose queues they are: cuda, opencl
  std::uint32_t cuda_devices = 0;                            // the first ones that CUDA shows
  std::string cuda_library = "libcuda.so.1";                 // its driver API
  std::string cublas_library = {};    // for kernels that use it; empty: the usual names
  std::string cusolver_library = {};  // likewise
  std::uint32_t opencl_devices = 0;   // the first ones that OpenCL knows
  std::string devices = {};  // of registered drivers, see driver.hpp: "name:2,other"; empty: none
  std::optional<Bytes> device_memory = {};  // of each, at most; none: most of what it has
  bool pin_memory = true;                   // RAM under a limit, for copies to CUDA devices
  std::uint32_t device_queues = 2;          // of kernels, per device
  std::uint32_t device_tasks = 8;           // in flight, per device
  // Tasks pulled from the policy and not started, per memory node; 0: as copies take to come, up to 8 in
  // RAM and 32 on accelerators.
  std::uint32_t look_ahead = 0;
  // Memory-bound tasks wait for each other where the machine says what its memory gives: auto, off; or a machine like the
  // one that is there: "henri,ranks=1".
  std::string contention = "auto";
  std::uint64_t window_tasks = 0;  // submitted and not executed, at most; 0: no bound
  Bytes window_bytes = Bytes{0};   // of their operands, at most; 0: no bound
  std::string plan = {};  // file of a plan that the run follows (vicinal plan); empty: none
  double plan_pause =
      0.01;  // s without a submission, then tasks that wait for a plan go on; 0: never
  bool compute_priorities = false;  // bottom levels, for tasks submitted with priority 0
  bool measure_scheduling = false;  // time the calls of the policy: Statistics::scheduling
  bool check_reads = false;         // a task whose kernel changes what it only reads fails
  // An error that no call has thrown when the runtime ends: "terminate" ends the program, "warn" says it.
  std::string undelivered_errors = "terminate";
  double stall_seconds = 0;  // report when nothing ended for so long; 0: never
  std::string status = {};   // file of what goes on, written once a second; empty: none
  std::string models = {};   // folder of measured run times; empty: the user's cache; "none": off
  std::string memory_rules = {};     // another runtime's, to compare with; see docs/options.md
  std::uint64_t seed = 1;            // of the runtime's random numbers
  std::string trace = {};            // file of a recording of the runtime's whole life; empty: none
  std::string trace_events = "all";  // categories of what is recorded there
  Bytes trace_memory = 256_MiB;      // of events that are not in the file yet
  std::string mpi =
      "auto";  // over which ranks work together: that of the launcher; openmpi, mpich, none
  // How a version goes to several ranks: auto, off, or a tree: chain, binary, 4-ary, binomial, delegated.
  std::string broadcast = "auto";
  std::string broadcast_finding = "sequence";  // how such versions are found: sequence, bags
  // How what tasks of several ranks reduce comes together: auto, a tree as above, or off: they reduce on the owner.
  std::string reduction_tree = "auto";
  // Where content of other ranks goes when it has come: ram, or the accelerator of the task that it is for: advised,
  // owner, random.
  std::string receive_placement = "ram";
  // Simulation, where the machine has several NUMA nodes: where data in RAM lie: first (of the first worker that uses them),
  // spread, or a node's number.
  std::string numa_placement = "first";
  // Likewise, content of other ranks: auto (where most bandwidth is left), a node's number, home (where it lay), spread.
  std::string receive_numa = "auto";
  // What a message between ranks costs, for the choice of trees: auto: measured; or latency and bandwidth: 20us,1GB/s.
  std::string rank_link = "auto";
  double rank_timeout =
      10;  // seconds without a sign of life after which a rank is taken to be lost

  // Sets one option by its name ("memory" = "800MiB"). Throws UsageError: unknown name (the nearest
  // is offered) or a value that is not of its type (the text and the accepted forms are named).
  void set(std::string_view name, std::string_view value);
  // Throws UsageError for the first value that `set` would have refused, with the same message: members may
  // be written to directly. The constructors of Runtime call it.
  void check() const;
  // Those that differ from their defaults, as text.
  std::vector<std::pair<std::string, std::string>> changed() const;
  // Defaults, changed by the VICINAL_* variables; an unknown one is an error that names the nearest.
  static Options from_environment();
};

// An option's row in the table of options.
struct OptionDescription {
  std::string_view name;           // "memory"; its variable is VICINAL_MEMORY
  std::string_view type;           // "bytes", "integer", "real", "boolean", "text"
  std::string_view default_value;  // as text
  std::string_view sentence;       // of docs/options.md
};
// All options, in the order of their names in docs/options.md.
std::span<const OptionDescription> option_table();

}  // namespace vicinal
