// Promise 1: any limit not below the largest single task's working set completes. Random graphs, data
// and machines at exactly that limit, simulated and real; what the real ones compute is compared with
// the same tasks one after the other.
#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "support/content.hpp"
#include "support/device_queues.hpp"
#include "support/random_case.hpp"
#include "support/random_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using testing::Content;
using testing::fill;
using testing::gather;
using testing::Home;
using testing::mixed;
using testing::RandomCase;
using testing::RandomCaseMaker;
using testing::RandomData;
using testing::RandomShape;
using testing::RandomStep;
using testing::RunsOn;
using testing::scatter;
using testing::Step;
using testing::TemporaryFolder;
using testing::Watchdog;

std::string_view random_policy(base::Random& random) {
  const auto table = testing::tested_policies();
  return table[random.below(table.size())].name;
}

void expect_within_limits(const Runtime& runtime) {
  const Statistics statistics = runtime.statistics();
  for (std::size_t n = 0; n < statistics.nodes.size(); ++n) {
    if (const auto limit = runtime.machine().nodes[n].limit) {
      EXPECT_LE(statistics.nodes[n].peak, *limit) << runtime.machine().nodes[n].name;
    }
  }
}

TileShape bytes_shape(const RandomData& data, std::uint64_t gap) {
  const std::uint64_t rows = data.bytes / data.columns;
  return {rows, data.columns, rows + gap, 1};
}

// --- simulated --------------------------------------------------------------------------------

// One per place to run and per duration; constant for the whole process.
const Codelet& simulated_codelet(RunsOn runs_on, std::uint64_t length) {
  static const std::vector<Codelet> all = [] {
    std::vector<Codelet> codelets;
    for (const RunsOn place : {RunsOn::anywhere, RunsOn::devices, RunsOn::ram}) {
      for (const std::int64_t ns : {700L, 40'000L, 9'000'000L}) {
        Codelet& codelet = codelets.emplace_back();
        codelet.name = "task" + std::to_string(ns);
        if (place != RunsOn::devices) codelet.expected[0] = Time{4 * ns};
        if (place != RunsOn::ram) codelet.expected[1] = Time{ns};
      }
    }
    return codelets;
  }();
  return all[static_cast<std::size_t>(runs_on) * 3 + length];
}

MachineDescription simulated_machine(const RandomCase& the_case, base::Random& random) {
  MachineDescription machine;
  Bytes everything;
  for (const RandomData& data : the_case.data) everything += testing::padded(data.bytes);
  std::optional<Bytes> disk;
  if (random.below(2) == 0) disk = everything * 4;
  machine.nodes = {{kRam, "ram", NodeKind::ram, the_case.ram},
                   {NodeId{1}, "disk", NodeKind::disk, disk}};
  const auto join = [&](NodeId a, NodeId b, double rate, std::uint32_t copies) {
    const Time latency{static_cast<std::int64_t>(random.below(2) * 5000)};
    machine.links.push_back({a, b, BytesPerSecond{rate}, latency, copies});
    machine.links.push_back({b, a, BytesPerSecond{rate}, latency, copies});
  };
  join(kRam, NodeId{1}, 2e9, 1 + static_cast<std::uint32_t>(random.below(4)));
  const std::uint64_t cores = 1 + random.below(3);
  for (std::uint64_t i = 0; i < cores; ++i) {
    const WorkerId id{static_cast<std::uint32_t>(machine.workers.size())};
    machine.workers.push_back({id, ProcessorKind::cpu, kRam});
  }
  const bool peers = random.below(2) == 0;
  for (std::uint32_t i = 0; i < the_case.devices; ++i) {
    const NodeId node{2 + i};
    machine.nodes.push_back(
        {node, "device" + std::to_string(i), NodeKind::device, the_case.device});
    join(kRam, node, 10e9, 1 + static_cast<std::uint32_t>(random.below(2)));
    for (std::uint32_t j = 0; peers && j < i; ++j) join(NodeId{2 + j}, node, 20e9, 1);
    const std::uint64_t workers = 1 + random.below(2);
    for (std::uint64_t w = 0; w < workers; ++w) {
      const WorkerId id{static_cast<std::uint32_t>(machine.workers.size())};
      machine.workers.push_back({id, ProcessorKind::emulated, node});
    }
  }
  return machine;
}

Options simulated_options(base::Random& random) {
  Options options;
  options.policy = random_policy(random);
  options.look_ahead = 1 + static_cast<std::uint32_t>(random.below(8));
  options.seed = random.next();
  if (random.below(3) == 0) options.window_tasks = 1 + random.below(12);
  if (random.below(4) == 0) options.window_bytes = Bytes{random.below(1 << 20)};
  options.compute_priorities = random.below(3) == 0;
  return options;
}

void simulate_step(Runtime& runtime, const RandomStep& step, const std::vector<Handle>& handles) {
  const Handle first = handles[step.accesses[0].data];
  switch (step.kind) {
    case Step::task: {
      std::vector<Operand> operands;
      for (const auto& access : step.accesses)
        operands.push_back({handles[access.data], access.mode});
      const Codelet& codelet =
          simulated_codelet(step.runs_on, (step.accesses[0].data + operands.size()) % 3);
      runtime.submit({.codelet = &codelet, .operands = operands, .priority = step.priority});
      break;
    }
    case Step::acquire:
      runtime.acquire(first, step.accesses[0].mode);
      break;
    case Step::wait_handle:
      runtime.wait(first);
      break;
    case Step::wait:
      runtime.wait();
      break;
    case Step::prefetch:
      if (step.node < runtime.machine().nodes.size()) runtime.prefetch(first, NodeId{step.node});
      break;
    case Step::wont_use:
      runtime.wont_use(first);
      break;
    case Step::invalidate:
      runtime.invalidate(first);
      break;
  }
}

std::vector<Handle> register_simulated(Runtime& runtime, const RandomCase& the_case) {
  std::vector<Handle> handles;
  std::uint64_t address = 4096;  // of the user's buffers, which nobody touches
  for (const RandomData& data : the_case.data) {
    void* const buffer = reinterpret_cast<void*>(address);
    if (data.home == Home::none) {
      handles.push_back(runtime.register_empty(Bytes{data.bytes}));
    } else {
      handles.push_back(runtime.register_tile(buffer, bytes_shape(data, 16)));
      address += data.bytes + 16 * data.columns + 64;
    }
  }
  return handles;
}

// Everything a simulated run says of itself, as text.
std::string simulate(std::uint64_t seed, Watchdog& watchdog) {
  const RandomShape shape{
      .sizes = {0, 1, 4096, 4097, 10'000, 65'536, 1 << 20, 3'000'001, 5ULL << 30},
      .most_steps = 120,
      .most_devices = 4,
      .files = false};
  const RandomCase the_case = RandomCaseMaker(seed, shape).make();
  base::Random random(seed);
  const MachineDescription machine = simulated_machine(the_case, random);
  const Options options = simulated_options(random);
  SCOPED_TRACE("policy " + options.policy);
  Runtime runtime(machine, options);
  watchdog.set(&runtime);
  std::string text;
  try {
    const std::vector<Handle> handles = register_simulated(runtime, the_case);
    for (const RandomStep& step : the_case.steps) simulate_step(runtime, step, handles);
    runtime.wait();
    expect_within_limits(runtime);
    const Statistics s = runtime.statistics();
    EXPECT_EQ(s.tasks_done, s.tasks_submitted);
    text = std::to_string(s.now.ns) + " ns";
    for (const auto& node : s.nodes) {
      text += "; " + std::to_string(node.bytes_in.value) + " in " +
              std::to_string(node.bytes_out.value) + " out, peak " +
              std::to_string(node.peak.value) + ", " + std::to_string(node.evictions) + " gone " +
              std::to_string(node.write_backs);
    }
    for (const auto& link : s.links) text += " " + std::to_string(link.copies);
    for (const auto& worker : s.workers) {
      text += "; " + std::to_string(worker.tasks) + " tasks " + std::to_string(worker.busy.ns);
    }
    for (const Handle handle : handles) runtime.unregister(handle);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << runtime.stall_report();
  }
  watchdog.set(nullptr);
  return text;
}

TEST(Progress, SimulatedRunsCompleteAtTheTightestLimitsAndAreTheSameTwice) {
  testing::for_each_seed(200, [](base::Random& /*random*/, std::uint64_t seed) {
    Watchdog watchdog("simulation, seed " + std::to_string(seed), 20);
    const std::string first = simulate(seed, watchdog);
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(first, simulate(seed, watchdog));
  });
}

// --- real -------------------------------------------------------------------------------------

// A task mixes all its inputs into one key and fills all its outputs from the key.
struct Work {
  const RandomStep* step = nullptr;
  std::uint64_t index = 0;
};
void compute(KernelContext& k) {
  const Work work = k.parameter<Work>();
  std::uint64_t key = work.index;
  const auto& accesses = work.step->accesses;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (!reads(accesses[i].mode)) continue;
    const Content content = gather(k.operand(i));
    key = mixed(key, content.data(), content.size());
  }
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (!writes(accesses[i].mode)) continue;
    Content content(k.operand(i).layout.bytes().value);
    fill(content.data(), content.size(), key + i);
    scatter(content, k.operand(i));
  }
}
void compute_in_sequence(const Work& work, std::vector<Content>& data) {
  std::uint64_t key = work.index;
  for (const auto& access : work.step->accesses) {
    if (reads(access.mode)) key = mixed(key, data[access.data].data(), data[access.data].size());
  }
  for (std::size_t i = 0; i < work.step->accesses.size(); ++i) {
    const auto& access = work.step->accesses[i];
    if (writes(access.mode)) fill(data[access.data].data(), data[access.data].size(), key + i);
  }
}

const Codelet kAnywhere{.name = "anywhere", .cpu = compute};
const Codelet kOnDevices{.name = "on_devices", .kernels = {{ProcessorKind::emulated, compute}}};

class RealRun {
 public:
  // An empty folder: no disk; then the limit is that of all that has no home elsewhere.
  RealRun(std::uint64_t seed, const std::string& folder)
      : the_case_(RandomCaseMaker(seed, shape(!folder.empty())).make()),
        random_(seed),
        folder_(folder) {
    if (folder.empty()) the_case_.ram = unhomed();
    prepare_data();
    Options options;
    options.models = "none";
    options.workers = 1 + static_cast<std::uint32_t>(random_.below(3));
    options.submitter_works = random_.below(3) != 0;
    options.bind = false;
    options.policy = random_policy(random_);
    options.memory = the_case_.ram;
    options.disk = folder;
    options.direct_io = random_.below(4) != 0;
    options.disk_copies = 1 + static_cast<std::uint32_t>(random_.below(4));
    testing::use_accelerators(options, the_case_.devices, the_case_.device);
    testing::choose_queues(options, random_);
    options.look_ahead = 1 + static_cast<std::uint32_t>(random_.below(8));
    if (random_.below(3) == 0) options.window_tasks = 1 + random_.below(12);
    if (random_.below(4) == 0) options.window_bytes = Bytes{random_.below(1 << 18)};
    options.compute_priorities = random_.below(3) == 0;
    workers_ = options.workers;
    label = options.policy + ", " + std::to_string(options.workers) + " workers, " +
            std::to_string(the_case_.devices) + " devices (" + options.accelerator_api + "), ram " +
            std::to_string(the_case_.ram.value) + ", device " +
            std::to_string(the_case_.device.value);
    runtime = std::make_unique<Runtime>(options);
  }

  void run() {
    register_data();
    for (std::size_t i = 0; i < the_case_.steps.size() && !::testing::Test::HasFailure(); ++i) {
      do_step(the_case_.steps[i], i);
    }
    runtime->wait();
    expect_within_limits(*runtime);
    for (std::size_t d = 0; d < handles_.size(); ++d) finish(d);
    expect_within_limits(*runtime);
  }

  std::unique_ptr<Runtime> runtime;
  std::string label;

 private:
  static constexpr std::uint64_t kGap = 24;
  static RandomShape shape(bool files) {
    return {.sizes = {0, 1, 7, 4096, 4097, 9'999, 16'384, 50'001},
            .most_steps = 150,
            .most_devices = 4,
            .files = files};
  }
  Bytes unhomed() const {
    Bytes sum{4096};
    for (const RandomData& data : the_case_.data) {
      if (data.home == Home::none) sum += testing::padded(data.bytes);
    }
    return sum;
  }

  void prepare_data() {
    for (std::size_t d = 0; d < the_case_.data.size(); ++d) {
      const RandomData& data = the_case_.data[d];
      content_.emplace_back(data.bytes);
      fill(content_[d].data(), data.bytes, 1000 + d);
      known_.push_back(data.home != Home::none);
      buffers_.emplace_back(data.bytes + kGap * data.columns, std::uint8_t{0xEE});
      offsets_.push_back(random_.below(3) * 4096 + random_.below(2) * 13);
      if (data.home == Home::file) {
        std::ofstream file(file_of(d), std::ios::binary);
        file << std::string(offsets_[d], 'x');
        file.write(reinterpret_cast<const char*>(content_[d].data()),
                   static_cast<std::streamsize>(data.bytes));
        file << "after";
      } else if (data.home != Home::none) {
        scatter(content_[d], view_of_buffer(d));
      }
    }
  }
  std::string file_of(std::size_t d) const { return folder_ + "/data" + std::to_string(d); }
  OperandView view_of_buffer(std::size_t d) {
    const std::uint64_t gap = the_case_.data[d].home == Home::strided ? kGap : 0;
    return {reinterpret_cast<std::byte*>(buffers_[d].data()),
            bytes_shape(the_case_.data[d], gap).layout()};
  }

  void register_data() {
    for (std::size_t d = 0; d < the_case_.data.size(); ++d) {
      const RandomData& data = the_case_.data[d];
      const std::string name = "h" + std::to_string(d);
      switch (data.home) {
        case Home::none:
          handles_.push_back(runtime->register_empty(Bytes{data.bytes}, name));
          break;
        case Home::buffer:
          handles_.push_back(runtime->register_buffer(buffers_[d].data(), Bytes{data.bytes}, name));
          break;
        case Home::strided:
          handles_.push_back(
              runtime->register_tile(buffers_[d].data(), bytes_shape(data, kGap), name));
          break;
        case Home::file:
          handles_.push_back(
              runtime->register_file({file_of(d), offsets_[d]}, Bytes{data.bytes}, name));
          break;
      }
    }
  }

  void do_step(const RandomStep& step, std::size_t index) {
    const std::size_t d = step.accesses[0].data;
    const Handle first = handles_[d];
    switch (step.kind) {
      case Step::task:
        submit(step, index);
        break;
      case Step::acquire:
        acquire(d, step.accesses[0].mode, index);
        break;
      case Step::wait_handle:
        runtime->wait(first);
        break;
      case Step::wait:
        runtime->wait();
        break;
      case Step::prefetch:
        if (step.node < runtime->machine().nodes.size())
          runtime->prefetch(first, NodeId{step.node});
        break;
      case Step::wont_use:
        runtime->wont_use(first);
        break;
      case Step::invalidate:
        runtime->invalidate(first);
        known_[d] = false;
        break;
    }
  }
  void submit(const RandomStep& step, std::size_t index) {
    TaskSpec spec;
    const Work work{&step, index};
    std::vector<Operand> operands;
    for (const auto& access : step.accesses) {
      operands.push_back({handles_[access.data], access.mode});
      known_[access.data] = true;
    }
    spec.codelet = step.runs_on == RunsOn::devices ? &kOnDevices : &kAnywhere;
    spec.operands = operands;
    spec.parameters = work;
    spec.priority = step.priority;
    spec.name = "t" + std::to_string(index);
    if (step.runs_on == RunsOn::ram) {
      spec.worker = WorkerId{static_cast<std::uint32_t>(random_.below(workers_))};
    }
    runtime->submit(spec);
    compute_in_sequence(work, content_);
  }
  void acquire(std::size_t d, AccessMode mode, std::size_t index) {
    const Acquired acquired = runtime->acquire(handles_[d], mode);
    if (reads(mode)) {
      ASSERT_EQ(gather(acquired.view()), content_[d]) << "h" << d << " before step " << index;
    }
    if (writes(mode)) {
      fill(content_[d].data(), content_[d].size(), 77 + index);
      scatter(content_[d], acquired.view());
      known_[d] = true;
    }
  }
  // The result, where the user finds it.
  void finish(std::size_t d) {
    const RandomData& data = the_case_.data[d];
    if (data.home == Home::none && known_[d]) acquire(d, AccessMode::R, the_case_.steps.size());
    runtime->unregister(handles_[d]);
    if (!known_[d]) return;
    if (data.home == Home::file) {
      std::ifstream file(file_of(d), std::ios::binary);
      const std::string all((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
      const std::string expected = std::string(offsets_[d], 'x') +
                                   std::string(content_[d].begin(), content_[d].end()) + "after";
      const auto [here, there] =
          std::mismatch(all.begin(), all.end(), expected.begin(), expected.end());
      ASSERT_TRUE(all == expected) << file_of(d) << " of " << all.size() << " bytes, expected "
                                   << expected.size() << " with " << data.bytes << " at "
                                   << offsets_[d] << ", differs at byte " << here - all.begin();
    } else if (data.home != Home::none) {
      ASSERT_EQ(gather(view_of_buffer(d)), content_[d]) << "h" << d;
      // The bytes between the columns of a tile are not the runtime's.
      Content whole = buffers_[d];
      scatter(Content(data.bytes, 0xEE),
              {reinterpret_cast<std::byte*>(whole.data()), view_of_buffer(d).layout});
      ASSERT_EQ(whole, Content(whole.size(), 0xEE)) << "h" << d;
    }
  }

  RandomCase the_case_;
  base::Random random_;
  const std::string folder_;
  std::uint64_t workers_ = 1;
  std::vector<Content> content_;  // as it is after the steps so far, one after the other
  std::vector<bool> known_;       // it has content at all
  std::vector<Content> buffers_;
  std::vector<std::uint64_t> offsets_;
  std::vector<Handle> handles_;
};

void run_real(std::uint64_t seed, const std::string& folder) {
  RealRun run(seed, folder);
  const std::string label = "TEST_SEED_VICINAL=" + std::to_string(seed) + " (" + run.label + ")";
  SCOPED_TRACE(label);
  const Watchdog watchdog(run.runtime.get(), label);
  try {
    run.run();
  } catch (const std::exception& error) {
    FAIL() << error.what() << "\n" << run.runtime->stall_report();
  }
}

TEST(Progress, RealRunsCompleteAtTheTightestLimitsWithTheResultOfTheSequence) {
  for (const std::uint64_t seed : testing::seeds(15, 10)) {
    const TemporaryFolder folder("progress");
    run_real(seed, folder.path());
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Progress, WithoutADiskRoomForAllThatHasNoHomeIsEnough) {
  for (const std::uint64_t seed : testing::seeds(15, 10)) {
    run_real(seed, "");
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace vicinal
