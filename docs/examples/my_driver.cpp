// A complete driver and its trial: RAM, and a device with a memory of its own whose only thread
// copies and computes in turn. See docs/write-a-driver.md.

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/clock.hpp"
#include "drivers/run_kernel.hpp"
#include "drivers/strided_copy.hpp"
#include "engine/driver.hpp"
#include "engine/lifecycle.hpp"
#include "sched/policy.hpp"
#include "vicinal/error.hpp"

// --- the driver

namespace {

using namespace vicinal;

constexpr NodeId kDevice{1};
constexpr WorkerId kWorker{0};

class SerialDevice final : public engine::Driver {
 public:
  SerialDevice() = default;
  ~SerialDevice() override { stop(); }
  SerialDevice(const SerialDevice&) = delete;
  SerialDevice& operator=(const SerialDevice&) = delete;

  void start(engine::Completions& completions) override {
    completions_ = &completions;
    thread_ = std::thread([this] { run(); });
  }

  std::byte* reserve(NodeId node, Bytes bytes) override {
    device_memory_.reset(allocate(node, bytes));
    return device_memory_.get();
  }

  std::byte* allocate(NodeId /*node*/, Bytes bytes) override {
    auto* const address =
        static_cast<std::byte*>(std::aligned_alloc(4096, (bytes.value + 4095) / 4096 * 4096));
    if (address == nullptr) throw CapacityError("serial device: no memory left for a replica");
    return address;
  }
  void release(NodeId /*node*/, std::byte* address, Bytes /*bytes*/) override {
    std::free(address);
  }

  // Queued, and copied by the thread: start_copy must not take the copy's time.
  void start_copy(const memory::Copy& copy) override {
    {
      const std::lock_guard lock(mutex_);
      copies_.push_back(copy);
    }
    changed_.notify_one();
  }

  // Called by the engine inside advance(), so on the device's thread: the kernel may run here.
  void start_task(graph::Task& task, WorkerId worker) override {
    completions_->task_done(
        task, worker,
        drivers::run_kernel(task,
                            {.worker = worker, .node = kDevice, .kind = ProcessorKind::emulated}),
        std::nullopt);
  }

  void wake(WorkerId /*worker*/) override {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    changed_.notify_one();
  }

  void stop() override {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  struct Free {
    void operator()(std::byte* address) const { std::free(address); }
  };

  // Copies first: tasks may wait for them. Reports are made under no lock.
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || woken_ || !copies_.empty(); });
      if (!copies_.empty()) {
        const memory::Copy copy = copies_.front();
        copies_.pop_front();
        lock.unlock();
        drivers::strided_copy(copy.to.address, copy.to.layout, copy.from.address, copy.from.layout);
        completions_->copy_done(copy.id, nullptr);
      } else if (stopping_) {
        return;
      } else {
        woken_ = false;  // before looking for work: a wake meanwhile is not lost
        lock.unlock();
        if (completions_->advance(kWorker)) wake(kWorker);  // look again, after copies that came
      }
    }
  }

  engine::Completions* completions_ = nullptr;
  std::unique_ptr<std::byte, Free> device_memory_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<memory::Copy> copies_;
  bool woken_ = true;  // looks for work after start
  bool stopping_ = false;
  std::thread thread_;
};

// --- the trial: each of 100 vectors is doubled on the device, whose memory holds three

constexpr std::size_t kVectors = 100;
constexpr std::size_t kLength = 1000;  // of doubles: 8000 bytes, two pages each on the device

void twice(KernelContext& k) {
  for (std::size_t i = 0; i < k.count<double>(0); ++i) k.data<double>(0)[i] *= 2;
}

MachineDescription machine() {
  const BytesPerSecond unknown{0};
  return {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt},
                    {kDevice, "device0", NodeKind::device, Bytes{3 * 8192}}},
          .links = {{kRam, kDevice, unknown, Time{0}, 2}, {kDevice, kRam, unknown, Time{0}, 2}},
          .workers = {{kWorker, ProcessorKind::emulated, kDevice}}};
}

// What a waiting thread sleeps on; the engine tells when to look again.
class Waiting {
 public:
  void notify() {
    const std::lock_guard lock(mutex_);
    ++changes_;
    changed_.notify_all();
  }
  template <typename Done>
  void until(Done done) {
    std::unique_lock lock(mutex_);
    for (auto seen = changes_;; seen = changes_) {
      lock.unlock();
      if (done()) return;
      lock.lock();
      changed_.wait(lock, [&] { return changes_ != seen; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
};

// Brings the content home, as Runtime::unregister does.
void flush(engine::Engine& engine, Waiting& waiting, graph::Handle& handle) {
  graph::Access access;
  access.handle = &handle;
  memory::Request request;
  request.kind = memory::RequestKind::flush;
  request.node = kRam;
  request.operands = {&access, 1};
  engine.request(request);
  waiting.until([&] { return request.state.load() == memory::RequestState::ready; });
  engine.release(request);
  waiting.until([&] { return engine.remove(handle); });
}

bool doubles_all() {
  Waiting waiting;
  engine::EngineConfig config;
  config.machine = machine();
  config.policy = sched::make_policy("eager");
  config.now = drivers::monotonic_now;
  config.notify_waiters = [&] { waiting.notify(); };
  engine::Engine engine(std::move(config));
  SerialDevice device;
  engine.attach({&device, &device}, {&device});  // by node; by worker
  device.start(engine);

  const Codelet codelet{.name = "twice", .cpu = twice};
  std::vector<std::vector<double>> vectors(kVectors, std::vector<double>(kLength, 21.0));
  std::vector<graph::Handle> handles(kVectors);
  for (std::size_t i = 0; i < kVectors; ++i) {
    handles[i].layout = {kLength * sizeof(double), 1, kLength * sizeof(double), sizeof(double)};
    handles[i].home.kind = graph::HomeKind::buffer;
    handles[i].home.address = reinterpret_cast<std::byte*>(vectors[i].data());
    handles[i].content = graph::Content::written;
    engine.add(handles[i]);
    graph::Task& task = engine.new_task(kNoWorker);
    task.codelet = &codelet;
    task.access_count = 1;
    task.inline_accesses[0] = graph::Access(handles[i], AccessMode::RW);
    engine.submit(task, {}, kNoWorker);
  }
  engine.submission_closed();
  waiting.until([&] { return engine.counts().all_ended(); });
  for (graph::Handle& handle : handles) flush(engine, waiting, handle);
  device.stop();  // before the engine goes

  bool right = engine.take_error() == nullptr;
  for (const auto& vector : vectors) right = right && vector.front() == 42 && vector.back() == 42;
  std::printf("%llu copies in, %llu out\n",
              static_cast<unsigned long long>(engine.statistics().links[0].copies),
              static_cast<unsigned long long>(engine.statistics().links[1].copies));
  return right;
}

}  // namespace

int main() {
  return doubles_all() ? 0 : 1;
}
