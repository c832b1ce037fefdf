// The queue over io_uring: one thread that owns the ring and sleeps in the kernel.
//
// Submitters hand their requests over by a list and an eventfd instead of entering the ring: the kernel
// ties a request to the thread that enters it. It interrupts that thread at completion, which would
// be a worker in the middle of a kernel, and cancels the request when that thread ends, which may be
// a thread of the application.
#include "drivers/disk/io_queue.hpp"

#if VICINAL_HAVE_IO_URING

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include <liburing.h>

#include "base/file_size_signal.hpp"
#include "base/start_thread.hpp"
#include "drivers/cpu/binding.hpp"

namespace vicinal::drivers {

namespace {

constexpr unsigned kEntries = 64;  // submissions per system call, not copies in flight

class UringQueue final : public IoQueue {
 public:
  UringQueue(IoListener& listener, const io_uring& ring, int event)
      : listener_(listener),
        ring_(ring),
        event_(event),
        thread_(base::start_thread("of the disk", [this] { run(); })) {}
  ~UringQueue() override {
    stop();
    io_uring_queue_exit(&ring_);
    close(event_);
  }

  void submit(IoRequest& request) override {
    bool asleep = false;
    {
      const std::lock_guard lock(mutex_);
      submitted_.push(request);
      asleep = asleep_;
      asleep_ = false;
    }
    if (asleep) ring_bell();
  }

  void stop() override {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ring_bell();
    thread_.join();
  }

 private:
  void ring_bell() {
    const std::uint64_t one = 1;
    // Fails only when 2^64 - 2 bells were not heard.
    [[maybe_unused]] const ssize_t written = write(event_, &one, sizeof(one));
  }

  void run() {
    name_this_thread("disk");
    shorten_latency_of_this_thread();
    base::block_file_size_signal();  // a file that may not grow is an error
    listen();
    while (enter_submitted()) {
      const int result = io_uring_submit_and_wait(&ring_, 1);
      // Busy: completions overflowed, and are to be taken first.
      if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY) {
        throw std::runtime_error(std::string("io_uring_submit_and_wait: ") + strerror(-result));
      }
      take_completions();
    }
  }

  // Enters what was submitted; then nobody has submitted since, or rings. False: nothing will come.
  bool enter_submitted() {
    for (;;) {
      IoList list;
      {
        const std::lock_guard lock(mutex_);
        list = submitted_;
        submitted_ = {};
        asleep_ = list.empty();
        // stop() rings, so the read of the bell ends; then its memory is free.
        if (list.empty() && stopping_ && in_ring_ == 0 && !listening_) return false;
      }
      if (list.empty()) return true;
      while (!list.empty()) enter(list.pop());
    }
  }

  io_uring_sqe* entry() {
    for (;;) {
      if (io_uring_sqe* const sqe = io_uring_get_sqe(&ring_); sqe != nullptr) return sqe;
      const int result = io_uring_submit(&ring_);
      if (result == -EBUSY || result == -EAGAIN) take_completions();
    }
  }

  void listen() {
    io_uring_sqe* const sqe = entry();
    io_uring_prep_read(sqe, event_, &bells_, sizeof(bells_), 0);
    io_uring_sqe_set_data(sqe, nullptr);
    listening_ = true;
  }

  void enter(IoRequest& request) {
    io_uring_sqe* const sqe = entry();
    switch (request.kind) {
      case IoKind::read:
        io_uring_prep_read(sqe, request.file, request.address, request.bytes, request.offset);
        break;
      case IoKind::write:
        io_uring_prep_write(sqe, request.file, request.address, request.bytes, request.offset);
        break;
      case IoKind::flush:
        io_uring_prep_sync_file_range(
            sqe, request.file, request.bytes, request.offset,
            SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
        break;
      case IoKind::drop:
        io_uring_prep_fadvise(sqe, request.file, request.offset, request.bytes,
                              POSIX_FADV_DONTNEED);
        break;
    }
    io_uring_sqe_set_data(sqe, &request);
    ++in_ring_;
  }

  void take_completions() {
    {
      // What io_done submits is entered before the next sleep: no bell is needed.
      const std::lock_guard lock(mutex_);
      asleep_ = false;
    }
    io_uring_cqe* cqe = nullptr;
    while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
      auto* const request = static_cast<IoRequest*>(io_uring_cqe_get_data(cqe));
      const int result = cqe->res;
      io_uring_cqe_seen(&ring_, cqe);
      if (request == nullptr) {
        heard();
        continue;
      }
      --in_ring_;
      request->result = result;
      listener_.io_done(*request);
    }
  }

  void heard() {
    listening_ = false;
    bool stopping = false;
    {
      const std::lock_guard lock(mutex_);
      stopping = stopping_;
    }
    // Once stopping, only io_done submits, on this thread.
    if (!stopping) listen();
  }

  IoListener& listener_;
  // --- the queue's thread only
  io_uring ring_;
  std::uint64_t bells_ = 0;  // read from the eventfd
  bool listening_ = false;
  std::uint64_t in_ring_ = 0;
  // ---
  const int event_;
  std::mutex mutex_;
  IoList submitted_;       // under mutex_
  bool asleep_ = false;    // under mutex_: or about to sleep, so that submit must ring
  bool stopping_ = false;  // under mutex_
  std::thread thread_;
};

bool has_operations(io_uring& ring) {
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring);
  if (probe == nullptr) return false;
  bool all = true;
  for (const int operation :
       {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_SYNC_FILE_RANGE, IORING_OP_FADVISE}) {
    all = all && io_uring_opcode_supported(probe, operation) != 0;
  }
  io_uring_free_probe(probe);
  return all;
}

}  // namespace

std::unique_ptr<IoQueue> make_uring_queue(IoListener& listener, std::string& why) {
  io_uring ring{};
  if (const int result = io_uring_queue_init(kEntries, &ring, 0); result < 0) {
    why = strerror(-result);
    return nullptr;
  }
  if (!has_operations(ring)) {
    why = "the kernel is older than 5.6";
    io_uring_queue_exit(&ring);
    return nullptr;
  }
  const int event = eventfd(0, EFD_CLOEXEC);
  if (event < 0) {
    why = strerror(errno);
    io_uring_queue_exit(&ring);
    return nullptr;
  }
  try {
    return std::make_unique<UringQueue>(listener, ring, event);
  } catch (...) {
    io_uring_queue_exit(&ring);
    close(event);
    throw;
  }
}

}  // namespace vicinal::drivers

#else

namespace vicinal::drivers {

std::unique_ptr<IoQueue> make_uring_queue(IoListener& /*listener*/, std::string& why) {
  why = "built without liburing";
  return nullptr;
}

}  // namespace vicinal::drivers

#endif
