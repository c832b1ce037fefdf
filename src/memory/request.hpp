// A reservation: the operands of one task (or one piece of data) wanted on one node, all or nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <span>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "memory/copy.hpp"
#include "memory/replica.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::memory {

enum class RequestKind : std::uint8_t {
  task,      // a task that its worker can start next, or an acquisition
  relay,     // content on its way through RAM to a device
  eviction,  // content of a victim on its way to safety
  flush,     // content on its way home, before the handle is forgotten
};

enum class RequestState : std::uint8_t {
  idle,     // nothing held
  queued,   // waits for room; holds nothing
  granted,  // all operands have room and are pinned; copies are on their way
  ready,    // and their content is there
  failed,   // a copy failed: see error; nothing held
};

struct Request {
  RequestKind kind = RequestKind::task;
  NodeId node;
  std::span<graph::Access> operands;
  graph::Access single;       // the operand of the kinds that have one
  std::uint32_t missing = 0;  // copies not ended
  std::atomic<RequestState> state{RequestState::idle};
  std::exception_ptr error;
  Request* next = nullptr;    // in the node's queue
  Fetch* relayed = nullptr;   // relay: the copy that waits for it
  Replica* victim = nullptr;  // eviction
  std::uint64_t attempt = 0;  // eviction: see Residency::try_again
  std::uint64_t number = 0;   // of those that its node has queued, from 1
  bool tells =
      false;  // of a task: its owner is told when it has ended, and leaves it alone until then
  bool empties = false;  // room is there in pieces: its operands leave, and are placed anew
};

// One copy of a handle's content to one node, under whose lock it is; see links.hpp for what is under the link's, too.
struct Fetch {
  graph::Handle* handle = nullptr;
  NodeId to;
  NodeId from;
  std::uint64_t version = 0;
  bool owns = false;    // for a task that writes: the other replicas are void then
  bool behind = false;  // nobody asked for it: Residency::write_behind
  bool urgent = false;  // a firm reservation waits for it
  CopyCause cause = CopyCause::task;
  std::uint64_t number = 0;  // of all that the runtime has begun, for recordings
  // Given to the driver, or about to be: changed under the link's lock.
  std::atomic<bool> started{false};
  std::uint32_t link = 0;    // valid once it has a source
  bool has_source = false;   // `from` is pinned for it
  Request* relay = nullptr;  // it holds the source in RAM
  base::SureVector<Request*> waiters;
};

// Firm requests of one node: first in, first out. Under the node's lock.
class RequestQueue {
 public:
  bool empty() const { return first_.load(std::memory_order_relaxed) == nullptr; }  // any thread
  Request* first() const { return first_.load(std::memory_order_relaxed); }
  void push(Request& request) {
    request.next = nullptr;
    (last_ != nullptr ? last_->next : begin_) = &request;
    last_ = &request;
    publish();
  }
  // Needs no room, so that nobody else gets less.
  void push_front(Request& request) {
    request.next = begin_;
    begin_ = &request;
    if (last_ == nullptr) last_ = &request;
    publish();
  }
  void pop() {
    begin_ = begin_->next;
    if (begin_ == nullptr) last_ = nullptr;
    publish();
  }
  // It is in the queue.
  void remove(Request& request) {
    Request* before = nullptr;
    for (Request* r = begin_; r != &request; r = r->next) before = r;
    (before != nullptr ? before->next : begin_) = request.next;
    if (last_ == &request) last_ = before;
    publish();
  }

 private:
  void publish() { first_.store(begin_, std::memory_order_relaxed); }
  Request* begin_ = nullptr;
  Request* last_ = nullptr;
  std::atomic<Request*> first_{nullptr};
};

}  // namespace vicinal::memory
