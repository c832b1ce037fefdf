#include "engine/errors.hpp"

#include <new>
#include <string>
#include <utility>

#include "base/sure_memory.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

bool Errors::any() const {
  const std::lock_guard lock(mutex_);
  return error_ != nullptr;
}

void Errors::report(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

void Errors::cancel(std::exception_ptr cause) {
  if (cause) report(std::move(cause));
  cancelling_.store(true, std::memory_order_release);
  sleepers_.wake_all();
}

void Errors::cancel_broken(const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(told_broken_, true)) return;
    if (!error_) error_ = error;
    cancelling_.store(true, std::memory_order_release);
  }
  sleepers_.wake_all();
}

void Errors::fail(const graph::Task& task, const std::exception_ptr& error) {
  const auto told = [&](const std::string& what) {
    return "task " + std::string(task.name()) + what;
  };
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    cancel(base::make_error<TaskError>(
        [&] { return told(" failed: out of memory (std::bad_alloc)"); }));
  } catch (const std::exception& e) {
    cancel(base::make_error<TaskError>([&] { return told(std::string(" failed: ") + e.what()); }));
  } catch (...) {
    cancel(base::make_error<TaskError>(
        [&] { return told(" threw something that is no std::exception"); }));
  }
}

void Errors::report_poisoned(const graph::Task& task, const graph::Handle& handle) {
  report(base::make_error<PoisonedError>([&] {
    return "task " + std::string(task.name()) + " reads handle " + handle.name +
           ", whose writer failed or was cancelled; write it anew first";
  }));
}

Errors::Taken Errors::take() {
  const std::lock_guard lock(mutex_);
  cancelling_.store(false, std::memory_order_release);
  return {std::exchange(error_, nullptr), std::exchange(told_broken_, false)};
}

}  // namespace vicinal::engine
