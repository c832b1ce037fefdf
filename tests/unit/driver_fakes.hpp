// What stands in for the engine in the tests of drivers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "drivers/run_kernel.hpp"
#include "engine/driver.hpp"
#include "memory/replica.hpp"

namespace vicinal::drivers {

// Keeps how copies and tasks ended; the test waits for them.
class FakeEngine : public engine::Completions {
 public:
  using Clock = std::chrono::steady_clock;

  // Tests number copies by the slot of their ids.
  void copy_done(memory::CopyId copy, std::exception_ptr error) override {
    const std::uint64_t copy_id = copy.slot;
    if (on_copy_done) on_copy_done(copy_id);
    const std::lock_guard lock(mutex_);
    copies_.emplace(copy_id, error);
    if (error && !first_error_) first_error_ = error;
    changed_.notify_all();
  }
  bool advance(WorkerId worker) override {
    ++calls;
    return on_advance ? on_advance(worker) : false;
  }
  void task_done(graph::Task& task, WorkerId worker, std::exception_ptr error,
                 std::optional<Time> /*run_time*/) override {
    const std::lock_guard lock(mutex_);
    tasks_.emplace(&task, std::pair(worker, error));
    changed_.notify_all();
  }

  // Empty, or the message of the copy's error.
  std::string copy_error(std::uint64_t copy_id) {
    std::unique_lock lock(mutex_);
    await(
        lock, [&] { return copies_.contains(copy_id); }, "copy");
    return message(copies_.find(copy_id)->second);
  }
  std::string task_error(const graph::Task& task) {
    std::unique_lock lock(mutex_);
    await(
        lock, [&] { return tasks_.contains(&task); }, "task");
    return message(tasks_.find(&task)->second.second);
  }
  std::size_t copies_ended() {
    const std::lock_guard lock(mutex_);
    return copies_.size();
  }
  std::string first_error() {
    const std::lock_guard lock(mutex_);
    return message(first_error_);
  }

  std::function<void(std::uint64_t)> on_copy_done;
  std::function<bool(WorkerId)> on_advance;
  std::atomic<std::uint64_t> calls{0};

 private:
  template <typename Condition>
  void await(std::unique_lock<std::mutex>& lock, Condition condition, const char* what) {
    if (!changed_.wait_for(lock, std::chrono::seconds(60), condition)) {
      throw std::runtime_error(std::string("no end of the ") + what + " after 60 s");
    }
  }
  static std::string message(const std::exception_ptr& error) {
    if (!error) return {};
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& exception) {
      return exception.what();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::exception_ptr> copies_;
  std::map<const graph::Task*, std::pair<WorkerId, std::exception_ptr>> tasks_;
  std::exception_ptr first_error_;
};

// A device on RAM whose tasks run elsewhere: its worker's thread starts one, a second thread runs and ends it
// and says how long it took. So devices with queues do.
class LateDriver final : public engine::Driver {
 public:
  explicit LateDriver(Time run_time) : run_time_(run_time) {}
  ~LateDriver() override { stop(); }
  LateDriver(const LateDriver&) = delete;
  LateDriver& operator=(const LateDriver&) = delete;

  void start(engine::Completions& completions) override {
    completions_ = &completions;
    worker_ = std::thread([this] { look_for_work(); });
    device_ = std::thread([this] { run_tasks(); });
  }
  std::byte* reserve(NodeId, Bytes) override { return nullptr; }
  std::byte* allocate(NodeId, Bytes) override { return nullptr; }
  void release(NodeId, std::byte*, Bytes) override {}
  void start_copy(const memory::Copy&) override {}
  void start_task(graph::Task& task, WorkerId) override {
    const std::lock_guard lock(mutex_);
    started_ = &task;
    changed_.notify_all();
  }
  void wake(WorkerId) override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (worker_.joinable()) worker_.join();
    if (device_.joinable()) device_.join();
  }

 private:
  static constexpr WorkerId kWorker{0};

  // Not while a task runs: one call at a time for each worker.
  void look_for_work() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || (woken_ && started_ == nullptr); });
        if (stopping_) return;
        woken_ = false;
      }
      completions_->advance(kWorker);
    }
  }
  void run_tasks() {
    for (;;) {
      graph::Task* task = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || started_ != nullptr; });
        if (stopping_) return;
        task = started_;
      }
      completions_->task_done(*task, kWorker, run_kernel(*task, {.worker = kWorker, .node = kRam}),
                              run_time_);
      const std::lock_guard lock(mutex_);
      started_ = nullptr;
      woken_ = true;
      changed_.notify_all();
    }
  }

  const Time run_time_;
  engine::Completions* completions_ = nullptr;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  graph::Task* started_ = nullptr;
  bool woken_ = true;
  bool stopping_ = false;
  std::thread worker_;
  std::thread device_;
};

// Replicas of handles, as memory would have placed them.
class FakeReplicas {
 public:
  void set(graph::Handle& handle, NodeId node, OperandView view) {
    auto& replicas = replicas_[&handle];
    if (replicas == nullptr) replicas = std::make_unique<memory::Replica[]>(kNodes);
    replicas[node.value].address = view.address;
    handle.layout = view.layout;
    handle.replicas = replicas.get();
  }

 private:
  static constexpr std::size_t kNodes = 4;
  std::map<const graph::Handle*, std::unique_ptr<memory::Replica[]>> replicas_;
};

inline Layout packed_layout(std::uint64_t bytes) {
  return {.column_bytes = bytes, .columns = 1, .stride_bytes = bytes, .element_bytes = 1};
}

}  // namespace vicinal::drivers
