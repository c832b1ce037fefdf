// The queue where io_uring is not to be had: threads that block in pread and pwrite.

#include <cerrno>
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/file_size_signal.hpp"
#include "base/start_thread.hpp"
#include "drivers/cpu/binding.hpp"
#include "drivers/disk/io_queue.hpp"

namespace vicinal::drivers {

namespace {

class ThreadQueue final : public IoQueue {
 public:
  ThreadQueue(IoListener& listener, std::uint32_t threads) : listener_(listener) {
    threads_.reserve(threads);
    try {
      for (std::uint32_t i = 0; i < threads; ++i) {
        threads_.push_back(base::start_thread("of the disk", [this] { run(); }));
      }
    } catch (...) {  // those that run use what is about to go
      stop();
      throw;
    }
  }
  ~ThreadQueue() override { stop(); }

  void submit(IoRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push(request);
    }
    changed_.notify_one();
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void run() {
    name_this_thread("disk");
    shorten_latency_of_this_thread();
    base::block_file_size_signal();  // a file that may not grow is an error
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      // What the other threads submit in io_done, they do themselves.
      if (waiting_.empty()) return;
      IoRequest& request = waiting_.pop();
      lock.unlock();
      perform(request);
      listener_.io_done(request);
    }
  }

  IoListener& listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  IoList waiting_;         // under mutex_
  bool stopping_ = false;  // under mutex_
  std::vector<std::thread> threads_;
};

std::int64_t or_errno(std::int64_t result) {
  return result < 0 ? -errno : result;
}

}  // namespace

void perform(IoRequest& request) {
  const auto offset = static_cast<off_t>(request.offset);
  switch (request.kind) {
    case IoKind::read:
      request.result = or_errno(pread(request.file, request.address, request.bytes, offset));
      break;
    case IoKind::write:
      request.result = or_errno(pwrite(request.file, request.address, request.bytes, offset));
      break;
    case IoKind::flush:
      request.result = or_errno(sync_file_range(
          request.file, offset, request.bytes,
          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
      break;
    case IoKind::drop:  // returns the error number
      request.result = -posix_fadvise(request.file, offset, request.bytes, POSIX_FADV_DONTNEED);
      break;
  }
}

std::unique_ptr<IoQueue> make_thread_queue(IoListener& listener, std::uint32_t threads) {
  return std::make_unique<ThreadQueue>(listener, threads);
}

}  // namespace vicinal::drivers
