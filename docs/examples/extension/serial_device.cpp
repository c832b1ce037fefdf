#include "serial_device.hpp"

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vicinal/error.hpp>

namespace {

using namespace vicinal;

class SerialDevice final : public drivers::DeviceDriver {
 public:
  explicit SerialDevice(const drivers::DeviceRequest& request)
      : DeviceDriver("the serial device"), request_(request) {}
  ~SerialDevice() override { stop(); }
  SerialDevice(const SerialDevice&) = delete;
  SerialDevice& operator=(const SerialDevice&) = delete;

  void start(engine::Completions& completions) override {
    completions_ = &completions;
    thread_ = std::thread([this] { run(); });
  }

  std::byte* reserve(NodeId /*node*/, Bytes bytes) override {
    const std::size_t pages = (bytes.value + drivers::kPageBytes - 1) / drivers::kPageBytes;
    memory_.reset(static_cast<std::byte*>(
        std::aligned_alloc(drivers::kPageBytes, pages * drivers::kPageBytes)));
    if (memory_ == nullptr) throw CapacityError("serial device: no memory; ask for less");
    return memory_.get();
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
    const drivers::KernelSite site{.worker = worker,
                                   .node = request_.node,
                                   .kind = ProcessorKind::emulated,
                                   .check_reads = request_.check_reads};
    completions_->task_done(task, worker, drivers::run_kernel(task, site), std::nullopt);
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
        engine::strided_copy(copy.to.address, copy.to.layout, copy.from.address, copy.from.layout);
        completions_->copy_done(copy.id, nullptr);
      } else if (stopping_) {
        return;
      } else {
        woken_ = false;  // before looking for work: a wake meanwhile is not lost
        lock.unlock();
        const WorkerId worker = request_.worker;
        if (completions_->advance(worker)) wake(worker);  // look again, after copies that came
      }
    }
  }

  const drivers::DeviceRequest request_;
  engine::Completions* completions_ = nullptr;
  std::unique_ptr<std::byte, Free> memory_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<memory::Copy> copies_;
  bool woken_ = true;  // looks for work after start
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

drivers::OpenedDevice open_serial_device(const drivers::DeviceRequest& request) {
  return {.driver = std::make_unique<SerialDevice>(request),
          .memory = request.limit.value_or(64_MiB),
          .description = "a thread"};
}
