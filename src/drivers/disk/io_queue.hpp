// Reads and writes of files that end later, on a thread of the queue. Two kinds: io_uring, and a pool
// of threads that call pread and pwrite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace vicinal::drivers {

enum class IoKind : std::uint8_t {
  read,
  write,
  flush,  // of a range: until the device has what was written through the page cache
  drop,   // of a range: its clean pages leave the page cache
};

// Filled by whoever submits it, who keeps it until io_done.
struct IoRequest {
  IoKind kind = IoKind::read;
  int file = -1;                 // descriptor
  std::byte* address = nullptr;  // read, write
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;    // may read or write fewer
  std::int64_t result = 0;    // at the end: bytes moved (0 for flush and drop), or -errno
  IoRequest* next = nullptr;  // in the queue
};

class IoListener {
 public:
  virtual ~IoListener() = default;
  // Called by a thread of the queue under no lock; may submit, also the same request again.
  virtual void io_done(IoRequest& request) = 0;
};

class IoQueue {
 public:
  virtual ~IoQueue() = default;  // stopped before
  // Any thread. Returns before the request has ended. Not after stop has returned.
  virtual void submit(IoRequest& request) = 0;
  // Returns when everything submitted has ended, also what io_done submitted meanwhile.
  virtual void stop() = 0;
};

// nullptr if io_uring is not compiled in or the system refuses it; then `why` says so.
std::unique_ptr<IoQueue> make_uring_queue(IoListener& listener, std::string& why);
std::unique_ptr<IoQueue> make_thread_queue(IoListener& listener, std::uint32_t threads);

// One request, on the calling thread; sets its result.
void perform(IoRequest& request);

// First in, first out, linked through IoRequest::next.
class IoList {
 public:
  bool empty() const { return first_ == nullptr; }
  void push(IoRequest& request) {
    request.next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = &request;
    last_ = &request;
  }
  IoRequest& pop() {
    IoRequest& request = *first_;
    first_ = request.next;
    if (first_ == nullptr) last_ = nullptr;
    return request;
  }

 private:
  IoRequest* first_ = nullptr;
  IoRequest* last_ = nullptr;
};

}  // namespace vicinal::drivers
