// The thread of a rank that talks to the others: it alone uses the transport and the exchange. Made once per process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/progress.hpp"
#include "comm/transport.hpp"

namespace vicinal::comm {

class ProgressThread final : public Progress {
 public:
  // Called on the thread, which keeps what it returns until the end.
  using MakeTransport = std::function<std::unique_ptr<Transport>()>;
  // Throws what making the transport throws. `patience`: when the run has failed and the application is not told within
  // so long, because its thread or a kernel computes, the process ends with status 1; none: it goes on.
  explicit ProgressThread(MakeTransport make, const ExchangeRules& rules = {},
                          std::optional<Time> patience = std::nullopt);
  ~ProgressThread() override;

  void told() override { is_told_.store(true, std::memory_order_relaxed); }

 private:
  void wake() override { wake_.notify_one(); }
  void await(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_so) override {
    changed_.wait(lock, is_so);
  }
  Time now() const override;
  void run_has_failed() override { failed_at_ = now(); }
  void between_runtimes() override;
  void run(const MakeTransport& make);
  void end_process_in_time();

  const std::optional<Time> patience_;
  std::atomic<bool> is_told_{false};
  // Under mutex_.
  std::condition_variable wake_;
  bool ends_ = false;
  std::exception_ptr no_transport_;
  // Of the thread.
  std::optional<Time> beaten_;  // between runtimes
  std::optional<Time> failed_at_;

  std::thread thread_;
};

}  // namespace vicinal::comm
