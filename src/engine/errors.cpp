#include "engine/errors.hpp"

#include <new>
#include <string>
#include <utility>

#include "base/nested_error.hpp"
#include "base/sure_memory.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

std::exception_ptr Errors::first() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

bool Errors::is_told() const {
  const std::lock_guard lock(mutex_);
  return is_told_;
}

void Errors::set_first(const std::exception_ptr& error, const std::exception_ptr& failure) {
  if (error_) return;
  error_ = error;
  failure_ = failure;
  is_told_ = false;
}

void Errors::report(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  set_first(error, error);
}

void Errors::cancel(const std::exception_ptr& cause) {
  if (cause) report(cause);
  cancelling_.fetch_or(kRun, std::memory_order_release);
  sleepers_.wake_all();
}

// Under the lock, as `take` ends what is begun here.
void Errors::cancel(graph::GroupCount& group) {
  static std::atomic<std::uint64_t> last{0};
  {
    const std::lock_guard lock(mutex_);
    if (cancellation_.load(std::memory_order_relaxed) == 0) {
      cancellation_.store(last.fetch_add(1, std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
    }
    group.cancel(cancellation_.load(std::memory_order_relaxed));
    cancelling_.fetch_or(kGroups, std::memory_order_release);
  }
  sleepers_.wake_all();
}

bool Errors::cancels_this(const graph::Task& task) const {
  if (cancelling() && (!task.hands_on() || all_.load(std::memory_order_relaxed))) return true;
  if (!task.extension || task.extension->group == nullptr) return false;
  const std::uint64_t cancellation = task.extension->group->cancellation();
  return cancellation != 0 && cancellation == cancellation_.load(std::memory_order_relaxed);
}

void Errors::cancel_all(const std::exception_ptr& cause) {
  all_.store(true, std::memory_order_relaxed);
  cancel(cause);
}

void Errors::cancel_broken(const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(told_broken_, true)) return;
    set_first(error, error);
    cancelling_.fetch_or(kRun, std::memory_order_release);
  }
  sleepers_.wake_all();
}

namespace {
// With what the user's codelets of a reduction were called for.
std::string who_fails(const graph::Task& task) {
  std::string text = "task " + std::string(task.name());
  if (!task.extension) return text;
  const graph::TaskExtension& more = *task.extension;
  if (more.neutral_for != nullptr) {
    return text + ", where the neutral element of handle " + more.neutral_for->name + " is put,";
  }
  if (more.hands_on == nullptr) return text;
  const bool combines = more.hands_on->reduction != nullptr;
  return text +
         (combines ? ", which combines what tasks reduced into handle "
                   : ", which copies between the parts and the whole of handle ") +
         more.hands_on->name + ",";
}
}  // namespace

void Errors::fail(const graph::Task& task, const std::exception_ptr& error) {
  const auto told = [&](const std::string& what) { return who_fails(task) + what; };
  std::exception_ptr failure;
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    failure = base::make_nested_error<TaskError>(
        error, [&] { return told(" failed: out of memory (std::bad_alloc)"); });
  } catch (const std::exception& e) {
    failure = base::make_nested_error<TaskError>(
        error, [&] { return told(std::string(" failed: ") + e.what()); });
  } catch (...) {
    failure = base::make_nested_error<TaskError>(
        error, [&] { return told(" threw something that is no std::exception"); });
  }
  note_lost(task, failure);
  cancel(failure);
}

void Errors::report_poisoned(const graph::Task& task, const graph::Handle& handle) {
  const std::exception_ptr failure = failure_of(handle);
  const std::exception_ptr error =
      base::make_nested_error<PoisonedError>(base::cause_of(failure), [&] {
        return "task " + std::string(task.name()) + " reads handle " + handle.name +
               ", whose writer failed or was cancelled; write it anew first" +
               base::text_behind(failure);
      });
  const std::lock_guard lock(mutex_);
  set_first(error, failure);
}

// --- why content is lost

// Of what was lost already an unknown cause tells nothing new.
void Errors::note_lost(const graph::Task& task, const std::exception_ptr& failure) {
  base::SureVector<std::exception_ptr>
      before;  // what they hold is the application's: they go under no lock
  const std::lock_guard lock(mutex_);
  const auto note = [&](const graph::Handle& handle) {
    std::exception_ptr& known = failures_[&handle];
    if (failure != nullptr) before.push_back(std::exchange(known, failure));
  };
  for (const graph::Access& access : task.accesses()) {
    if (writes(access.mode)) note(*access.handle);
  }
  if (task.reduces()) {  // which has private copies while it runs
    for (const graph::ReducedOperand& operand : task.extension->reduced)
      note(*operand.reduction->of);
  }
  any_failures_.store(true, std::memory_order_relaxed);
}

void Errors::note_cancelled(const graph::Task& task) {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = failure_;
  }
  note_lost(task, failure);
}

void Errors::forget_failure(const graph::Handle& handle) {
  std::exception_ptr last;  // goes under no lock: what it holds is the application's
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(&handle);
  if (found == failures_.end()) return;
  last = std::move(found->second);
  failures_.erase(found);
}

std::exception_ptr Errors::failure_of(const graph::Handle& handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(&handle);
  return found != failures_.end() ? found->second : nullptr;
}

std::exception_ptr Errors::tell_lost(const graph::Handle& handle, const std::string& text) {
  const std::exception_ptr failure = failure_of(handle);
  {
    const std::lock_guard lock(mutex_);
    if (failure != nullptr && failure == failure_) is_told_ = true;
  }
  return base::make_nested_error<PoisonedError>(base::cause_of(failure),
                                                [&] { return text + base::text_behind(failure); });
}

Errors::Taken Errors::take() {
  const std::lock_guard lock(mutex_);
  cancelling_.fetch_and(kPoison, std::memory_order_release);
  cancellation_.store(0, std::memory_order_relaxed);
  failure_ = nullptr;
  all_.store(false, std::memory_order_relaxed);
  return {std::exchange(error_, nullptr), std::exchange(told_broken_, false)};
}

}  // namespace vicinal::engine
