#include "comm/progress_thread.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "comm/poll_pace.hpp"

namespace vicinal::comm {

namespace {
constexpr std::chrono::nanoseconds kSleepBetweenRuntimes = std::chrono::milliseconds(2);
}  // namespace

ProgressThread::ProgressThread(MakeTransport make, const ExchangeRules& rules,
                               std::optional<Time> patience)
    : Progress(rules), patience_(patience) {
  thread_ = base::start_thread("that talks to other ranks",
                               [this, make = std::move(make)] { run(make); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ranks_ > 0 || no_transport_; });
  if (!no_transport_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(no_transport_);
}

ProgressThread::~ProgressThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Time ProgressThread::now() const {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

void ProgressThread::run(const MakeTransport& make) {
  try {
    use(make());
  } catch (...) {
    const std::lock_guard lock(mutex_);
    no_transport_ = std::current_exception();
  }
  changed_.notify_all();
  if (!transport_) return;
  PollPace pace;
  for (;;) {
    const bool any = turn();
    if (exchange_) end_process_in_time();
    if (any) {
      if (hears_) pace.traffic();
      continue;
    }
    // MPI may move a payload on with each poll: a core that nobody else wants is used for it.
    if (payloads_ > 0) {
      std::this_thread::yield();
      continue;
    }
    std::unique_lock lock(mutex_);
    if (!commands_.empty()) continue;
    if (ends_) break;
    wake_.wait_for(lock, exchange_ ? pace.next_sleep() : kSleepBetweenRuntimes);
  }
  if (!failed_at_) {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if (rank != rank_.value)
        transport_->post_message({rank}, to_bytes({.kind = MessageKind::left}));
    }
  }
  transport_.reset();
}

// A rank that computes without a runtime is not lost.
void ProgressThread::between_runtimes() {
  const Time time = now();
  if (ranks_ == 1 || failed_at_ || (beaten_ && time - *beaten_ < rules_.beat)) return;
  beaten_ = time;
  transport_->post_message({(rank_.value + 1) % ranks_}, to_bytes({.kind = MessageKind::alive}));
}

void ProgressThread::end_process_in_time() {
  if (!patience_ || !failed_at_ || is_told_.load(std::memory_order_relaxed)) return;
  if (now() - *failed_at_ < *patience_) return;
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text = failure_;
  }
  base::process_log().warn(text +
                           "; this process ends, for its program computes and cannot be told");
  std::_Exit(EXIT_FAILURE);  // destructors would wait for who computes
}

}  // namespace vicinal::comm
