#include "drivers/cpu/worker_thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sched.h>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/cpu/binding.hpp"
#include "drivers/cpu/cpu_driver.hpp"
#include "drivers/cpu/wake_gate.hpp"
#include "drivers/run_kernel.hpp"
#include "unit/driver_fakes.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Time kMillisecond{1'000'000};

Time process_cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return {time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 30'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

TEST(WakeGate, AWakeBetweenEpochAndWaitIsNotLost) {
  WakeGate gate;
  const std::uint32_t epoch = gate.epoch();
  gate.wake();
  EXPECT_TRUE(gate.wait(epoch));
}

TEST(WakeGate, AWakeBeforeEpochDoesNotEndTheWait) {
  WakeGate gate;
  gate.wake();
  EXPECT_FALSE(gate.wait(gate.epoch(), kMillisecond));
}

TEST(WakeGate, AfterATimeoutTheNextWakeIsHeard) {
  WakeGate gate;
  EXPECT_FALSE(gate.wait(gate.epoch(), Time{0}));
  const std::uint32_t epoch = gate.epoch();
  std::thread waker([&] {
    std::this_thread::sleep_for(milliseconds(5));
    gate.wake();
  });
  EXPECT_TRUE(gate.wait(epoch, Time{30'000 * kMillisecond.ns}));
  waker.join();
}

// Two threads hand a number to and fro; with a lost wake-up the test hangs.
TEST(WakeGate, NoWakeIsLostInManyHandovers) {
  constexpr int kRounds = 20'000;
  WakeGate even;
  WakeGate odd;
  std::atomic<int> turn{0};
  const auto play = [&](WakeGate& own, WakeGate& other, int parity) {
    for (int next = parity; next < kRounds; next += 2) {
      for (;;) {
        const std::uint32_t epoch = own.epoch();
        if (turn.load(std::memory_order_relaxed) == next) break;
        own.wait(epoch);
      }
      turn.store(next + 1, std::memory_order_relaxed);  // published by the wake
      other.wake();
    }
  };
  std::thread second([&] { play(odd, even, 1); });
  play(even, odd, 0);
  second.join();
  EXPECT_EQ(turn.load(), kRounds);
}

TEST(WorkerThread, AsksUntilThereIsNothingAndAgainAfterEachWake) {
  FakeEngine engine;
  std::atomic<int> work{3};
  std::atomic<int> done{0};
  engine.on_advance = [&](WorkerId) {
    if (work.load() == 0) return false;
    --work;
    ++done;
    return true;
  };
  WorkerThread thread(WorkerId{7});
  thread.start(engine);
  ASSERT_TRUE(eventually([&] { return done == 3; }));
  work = 2;
  thread.wake();
  ASSERT_TRUE(eventually([&] { return done == 5; }));
  thread.stop();
  EXPECT_EQ(engine.calls.load(), 7U);  // 3 + 1 that found nothing, 2 + 1 that found nothing
}

// One piece of work per wake, given only when the one before is done: a lost wake-up hangs.
TEST(WorkerThread, NoWakeIsLost) {
  constexpr int kPieces = 20'000;
  FakeEngine engine;
  WakeGate done_gate;
  std::atomic<int> given{0};
  std::atomic<int> done{0};
  engine.on_advance = [&](WorkerId) {
    const int next = given.load(std::memory_order_relaxed);
    if (done.load(std::memory_order_relaxed) == next) return false;
    done.store(next, std::memory_order_relaxed);
    done_gate.wake();
    return true;
  };
  WorkerThread thread(WorkerId{0});
  thread.start(engine);
  for (int i = 1; i <= kPieces; ++i) {
    given.store(i, std::memory_order_relaxed);
    thread.wake();
    for (;;) {
      const std::uint32_t epoch = done_gate.epoch();
      if (done.load(std::memory_order_relaxed) == i) break;
      done_gate.wait(epoch);
    }
  }
  thread.stop();
  EXPECT_EQ(done.load(), kPieces);
}

TEST(WorkerThread, IdleThreadsTakeNoProcessorTime) {
  FakeEngine engine;
  std::vector<std::unique_ptr<WorkerThread>> threads;
  for (std::uint32_t i = 0; i < 4; ++i) {
    threads.push_back(std::make_unique<WorkerThread>(WorkerId{i}));
    threads.back()->start(engine);
  }
  ASSERT_TRUE(eventually([&] { return engine.calls == 4; }));
  const Time before = process_cpu_time();
  std::this_thread::sleep_for(milliseconds(300));
  // A thread that spins takes all of the 300 ms; the sanitizers' own threads take some.
  EXPECT_LT((process_cpu_time() - before).ns, 60 * kMillisecond.ns);
  EXPECT_EQ(engine.calls.load(), 4U);
}

TEST(WorkerThread, StopEndsASleepingThreadAndMayBeRepeated) {
  FakeEngine engine;
  WorkerThread never_started(WorkerId{0});
  never_started.stop();
  WorkerThread thread(WorkerId{1});
  thread.start(engine);
  ASSERT_TRUE(eventually([&] { return engine.calls == 1; }));
  thread.stop();
  thread.stop();
}

TEST(WorkerThread, StopEndsAThreadThatAlwaysHasWork) {
  FakeEngine engine;
  engine.on_advance = [](WorkerId) { return true; };
  WorkerThread thread(WorkerId{0});
  thread.start(engine);
  ASSERT_TRUE(eventually([&] { return engine.calls > 10; }));
  thread.stop();
}

TEST(WorkerThread, RunsOnTheProcessorItIsBoundTo) {
  const std::uint32_t last = allowed_processors().back();
  FakeEngine engine;
  std::atomic<int> seen{-1};
  engine.on_advance = [&](WorkerId) {
    seen = sched_getcpu();
    return false;
  };
  WorkerThread thread(WorkerId{0}, {last});
  thread.start(engine);
  ASSERT_TRUE(eventually([&] { return seen >= 0; }));
  thread.stop();
  bool may_bind = false;
  std::thread([&] { may_bind = bind_this_thread(last); }).join();
  if (!may_bind) GTEST_SKIP() << "binding is refused here";
  EXPECT_EQ(seen.load(), static_cast<int>(last));
}

TEST(Binding, AllowedProcessorsAreThoseOfTheAffinityMask) {
  std::thread([] {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
    const std::vector<std::uint32_t> all = allowed_processors();
    EXPECT_EQ(all.size(), static_cast<std::size_t>(CPU_COUNT(&mask)));
    for (const std::uint32_t processor : all) EXPECT_TRUE(CPU_ISSET(processor, &mask));
    if (!bind_this_thread(all.back())) return;
    EXPECT_THAT(allowed_processors(), ElementsAre(all.back()));
  }).join();
}

TEST(Binding, AProcessorThatIsNotThereIsRefusedWithoutAnError) {
  EXPECT_FALSE(bind_this_thread(100'000));
}

// --- kernels

constexpr NodeId kOtherNode{2};

void remember_views(KernelContext& context) {
  auto* const result = context.parameter<std::vector<OperandView>*>();
  for (std::size_t i = 0; i < context.operands(); ++i) result->push_back(context.operand(i));
}
void fail(KernelContext&) {
  throw std::runtime_error("the kernel's own words");
}

const Codelet kRemember{.name = "remember", .cpu = remember_views};
const Codelet kFail{.name = "fail", .cpu = fail};

// A task over handles whose replicas on kOtherNode lie at data[0], data[1], ...
struct TaskOverHandles {
  explicit TaskOverHandles(std::size_t count) : handles(count), data(count) {
    task.access_count = static_cast<std::uint8_t>(count);
    if (count > graph::kInlineAccesses) graph::allocate_outside(task, count);
    const std::span<graph::Access> accesses = task.accesses();
    for (std::size_t i = 0; i < count; ++i) {
      accesses[i].handle = &handles[i];
      replicas.set(handles[i], kOtherNode, {&data[i], packed_layout(1)});
    }
    std::vector<OperandView>* const into = &seen;
    std::memcpy(task.parameters, &into, sizeof(into));
    task.parameter_bytes = sizeof(into);
    task.codelet = &kRemember;
  }
  std::exception_ptr run(ProcessorKind kind = ProcessorKind::emulated) {
    return run_kernel(task, {.worker = WorkerId{3}, .node = kOtherNode, .kind = kind});
  }
  std::vector<const std::byte*> addresses() const {
    std::vector<const std::byte*> result;
    for (const OperandView& view : seen) result.push_back(view.address);
    return result;
  }

  std::vector<graph::Handle> handles;
  std::vector<std::byte> data;
  FakeReplicas replicas;
  graph::Task task;
  std::vector<OperandView> seen;
};

TEST(RunKernel, OperandsAreThoseOfTheSubmissionInItsOrder) {
  TaskOverHandles three(3);
  EXPECT_EQ(three.run(), nullptr);
  EXPECT_THAT(three.addresses(), ElementsAre(&three.data[0], &three.data[1], &three.data[2]));
}

TEST(RunKernel, AHandleNamedTwiceIsSeenTwice) {
  TaskOverHandles two(2);
  two.task.extension = std::make_unique<graph::TaskExtension>();
  two.task.extension->view_of = {0, 1, 0};  // submitted as R(a), R(b), W(a)
  EXPECT_EQ(two.run(), nullptr);
  EXPECT_THAT(two.addresses(), ElementsAre(&two.data[0], &two.data[1], &two.data[0]));
}

TEST(RunKernel, TakesMoreOperandsThanFitOnTheStack) {
  for (const std::size_t count : {0, 1, 4, 5, 16, 17, 60}) {
    TaskOverHandles many(count);
    EXPECT_EQ(many.run(), nullptr);
    ASSERT_EQ(many.seen.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(many.seen[i].address, &many.data[i]);
  }
}

TEST(RunKernel, LargeParametersComeFromTheExtension) {
  struct Large {
    double values[5];
    double* sum;
  };
  double sum = 0;
  const Large large{{1, 2, 3, 4, 5}, &sum};
  const Codelet add{.name = "add", .cpu = [](KernelContext& context) {
                      const auto given = context.parameter<Large>();
                      for (const double value : given.values) *given.sum += value;
                    }};
  graph::Task task;
  task.codelet = &add;
  task.extension = std::make_unique<graph::TaskExtension>();
  task.extension->parameters.resize(sizeof(large));
  std::memcpy(task.extension->parameters.data(), &large, sizeof(large));
  EXPECT_EQ(run_kernel(task, {.worker = WorkerId{0}, .node = kRam}), nullptr);
  EXPECT_EQ(sum, 15);
}

TEST(RunKernel, GivesBackWhatTheKernelThrew) {
  TaskOverHandles one(1);
  one.task.codelet = &kFail;
  const std::exception_ptr error = one.run();
  ASSERT_NE(error, nullptr);
  EXPECT_THROW(std::rethrow_exception(error), std::runtime_error);
}

TEST(RunKernel, AKernelFindsWhatItWasBoundTo) {
  int calls = 0;
  const auto closure = [&calls](KernelContext& k) { calls += static_cast<int>(k.operands()); };
  const Codelet bound{.name = "bound", .cpu = Kernel::bind(closure)};
  int other = 0;
  const Codelet by_hand{.name = "by hand",
                        .cpu = Kernel([](KernelContext& k) { ++k.bound<int>(); }, &other)};
  TaskOverHandles three(3);
  for (const Codelet* codelet : {&bound, &by_hand, &bound}) {
    three.task.codelet = codelet;
    EXPECT_EQ(three.run(), nullptr);
  }
  EXPECT_EQ(calls, 6);  // two calls, three operands each
  EXPECT_EQ(other, 1);
}

int double_or_nothing(int value) {
  return 2 * value;
}
void double_or_nothing(KernelContext& k) {
  *k.data<int>(0) = double_or_nothing(*k.data<int>(0));
}

TEST(RunKernel, AnOverloadedFunctionIsAKernelIfOneOfThemIs) {
  Codelet codelet{.name = "overloaded", .cpu = double_or_nothing};
  codelet.kernels[ProcessorKind::gpu] = double_or_nothing;
  EXPECT_TRUE(codelet.implementation(ProcessorKind::gpu));
  int value = 21;
  const OperandView view{.address = reinterpret_cast<std::byte*>(&value), .layout = {}};
  KernelContext context(&view, 1, nullptr, 0, WorkerId{0});
  codelet.cpu(context);
  EXPECT_EQ(value, 42);
}

TEST(RunKernel, HostThreadsRunTheKernelOfCoresAndOtherKindsOnlyTheirOwn) {
  const auto nothing = [](KernelContext&) {};
  const Codelet cores{.name = "cores", .cpu = nothing};
  EXPECT_TRUE(cores.implementation(ProcessorKind::cpu));
  EXPECT_TRUE(cores.implementation(ProcessorKind::emulated));  // a thread of the host
  EXPECT_FALSE(cores.implementation(ProcessorKind::gpu));
  const Codelet device{.name = "device", .kernels = {{ProcessorKind::gpu, nothing}}};
  EXPECT_FALSE(device.implementation(ProcessorKind::cpu));
  EXPECT_FALSE(device.implementation(ProcessorKind::emulated));
  EXPECT_TRUE(device.implementation(ProcessorKind::gpu));
}

TEST(RunKernel, ACodeletWithoutAnImplementationIsAnErrorThatNamesTheTask) {
  const Codelet nothing{.name = "nothing"};
  TaskOverHandles one(1);
  one.task.codelet = &nothing;
  try {
    std::rethrow_exception(one.run());
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nothing"));
  }
}

// --- the CPU driver

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 4096 == 0;
}

TEST(CpuDriver, GivesAlignedMemoryThatIsWritableToTheEndOfItsLastPage) {
  CpuDriver driver({.workers = 0});
  for (const std::uint64_t bytes : {1, 4096, 5000, 65536, 65537, 1 << 20, (4 << 20) + 1, 9 << 20}) {
    std::byte* const address = driver.allocate(kRam, Bytes{bytes});
    ASSERT_NE(address, nullptr);
    EXPECT_TRUE(aligned(address));
    std::memset(address, 1, round_up(bytes, 4096));
    driver.release(kRam, address, Bytes{bytes});
  }
  EXPECT_EQ(driver.allocate(kRam, Bytes{0}), nullptr);
  driver.release(kRam, nullptr, Bytes{0});
}

TEST(CpuDriver, RefusesMemoryThatIsNotThereNamingTheOption) {
  CpuDriver driver({.workers = 0});
  try {
    driver.allocate(kRam, Bytes{1ULL << 60});
    FAIL() << "accepted";
  } catch (const CapacityError& error) {
    EXPECT_THAT(error.what(), HasSubstr("option memory"));
  }
  EXPECT_THROW(driver.reserve(kRam, Bytes{1ULL << 60}), CapacityError);
}

TEST(CpuDriver, TheArenaIsResidentOnlyAsTouched) {
  CpuDriver driver({.workers = 0});
  // Not a tebibyte: the thread sanitizer leaves 1.5 of address space, and where its other
  // mappings lie in it by chance decides whether one fits.
  constexpr std::uint64_t kArena = 32ULL << 30;
  const std::uint64_t before = resident_bytes();
  std::byte* const arena = driver.reserve(kRam, Bytes{kArena});
  ASSERT_NE(arena, nullptr);
  EXPECT_TRUE(aligned(arena));
  arena[0] = std::byte{1};
  arena[kArena - 1] = std::byte{1};
  EXPECT_LT(resident_bytes(), before + (256U << 20));
}

TEST(CpuDriver, RunsATaskInsideStartTask) {
  TaskOverHandles one(1);
  one.replicas.set(one.handles[0], kRam, {&one.data[0], packed_layout(1)});
  FakeEngine engine;
  CpuDriver driver({.workers = 1, .submitter_works = true});
  driver.start(engine);
  driver.start_task(one.task, WorkerId{0});
  EXPECT_EQ(one.seen.size(), 1U);
  EXPECT_EQ(engine.task_error(one.task), "");
}

TEST(CpuDriver, EachWorkerHasItsThreadButTheSubmitters) {
  FakeEngine engine;
  std::array<std::atomic<int>, 4> calls{};
  engine.on_advance = [&](WorkerId worker) {
    ++calls[worker.value];
    return false;
  };
  CpuDriver driver({.first_worker = WorkerId{1}, .workers = 3, .submitter_works = true});
  driver.start(engine);
  ASSERT_TRUE(eventually([&] { return calls[1] == 1 && calls[2] == 1; }));

  const std::uint32_t epoch = driver.wake_epoch();
  EXPECT_FALSE(driver.wait_for_wake(epoch, kMillisecond));
  std::thread waker([&] { driver.wake(WorkerId{3}); });
  EXPECT_TRUE(driver.wait_for_wake(epoch));
  waker.join();
  driver.wake(WorkerId{2});
  ASSERT_TRUE(eventually([&] { return calls[2] == 2; }));
  driver.stop();
  EXPECT_EQ(calls[1], 1);
  EXPECT_EQ(calls[3], 0);
}

TEST(CpuDriver, ACopyWithinRamIsABrokenInvariant) {
  CpuDriver driver({.workers = 0});
  EXPECT_THROW(driver.start_copy({}), std::logic_error);
}

}  // namespace
}  // namespace vicinal::drivers
