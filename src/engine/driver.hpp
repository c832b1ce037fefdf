// The contract of a driver: the memory nodes and workers of one kind of device.
//
// The engine decides, a driver does: it gives memory, starts copies and tasks, and says when they
// have ended. A device is one class. The template for a new one is drivers/simulated.
#pragma once

#include <cstring>
#include <exception>
#include <optional>

#include "base/function_ref.hpp"
#include "graph/task.hpp"
#include "memory/copy.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

// Where a driver reports. Implemented by the engine; every method may be called from any thread of
// the driver that holds no lock, also from inside start_copy and start_task.
class Completions {
 public:
  virtual ~Completions() = default;
  // The copy has ended. `error` is null, or holds a DeviceError that names data and cause; then the
  // content of the destination is undefined. `copy`: Copy::id, once for each copy. An id that names no copy in flight
  // changes no memory: the run is cancelled, and the next wait throws a DeviceError that names it.
  virtual void copy_done(memory::CopyId copy, std::exception_ptr error) = 0;
  // The worker has nothing running: gives it a task to run if there is one (through start_task) and
  // says whether there was. The driver calls it for an idle worker after start and after each wake,
  // until it returns false. Then the worker may sleep: any task that becomes runnable for it later is
  // followed by a wake.
  virtual bool advance(WorkerId worker) = 0;
  // The task given to start_task has ended. `error` is null or what the kernel threw. `run_time`: as the
  // driver has measured it; else the time since start_task is taken, which is right for a driver that runs
  // tasks inside it. One call of this and of advance at a time per worker, from any thread.
  virtual void task_done(graph::Task& task, WorkerId worker, std::exception_ptr error,
                         std::optional<Time> run_time) = 0;
  // Calls a kernel's function on another thread than that which calls advance() for its worker: what it asks of the
  // runtime is asked inside a task.
  virtual void call_apart(base::FunctionRef<void()> kernel) { kernel(); }
};

class Driver {
 public:
  virtual ~Driver() = default;
  // Called once, before any other call but reserve; the driver may start its threads.
  virtual void start(Completions& completions) = 0;
  // A range of `bytes` of the node's memory, 4 KiB aligned, for the replicas under a limit; called at
  // most once per node, before start. In simulation any number that is not dereferenced.
  virtual std::byte* reserve(NodeId node, Bytes bytes) = 0;
  // One replica outside any limit (RAM without a limit). Aligned as the node's copies need it: with a disk it begins
  // at a page and owns all of its last one. Throws CapacityError.
  virtual std::byte* allocate(NodeId node, Bytes bytes) = 0;
  virtual void release(NodeId node, std::byte* address, Bytes bytes) = 0;
  // Moves content within the reserved range of a node, at once; the ranges may overlap and nobody
  // uses either. To be overridden where addresses are not the host's.
  virtual void relocate(NodeId /*node*/, std::byte* to, const std::byte* from, Bytes bytes) {
    std::memmove(to, from, bytes.value);
  }
  // RAM that many copies will come from and go to, until it is unpinned: a device may prepare it. Any thread. Throws
  // DeviceError, CapacityError.
  virtual void pin(std::byte* /*address*/, Bytes /*bytes*/) {}
  virtual void unpin(std::byte* /*address*/) noexcept {}
  // RAM of a replica outside any limit, until it is unpinned: a device may prepare it once copies come from or go to it.
  // False: it will not. Any thread.
  virtual bool offer(std::byte* /*address*/, Bytes /*bytes*/) noexcept { return false; }
  // Memory of the application on the node, by its address, is as good as what reserve gives: for copies and for tasks.
  virtual bool takes_addresses() const { return false; }
  // Starts a copy of which one end is a node of this driver. Does not block for the copy's time. The
  // engine keeps at most LinkDescription::copies_in_flight started per link.
  virtual void start_copy(const memory::Copy& copy) = 0;
  // Starts a runnable task on an idle worker of this driver, inside advance(). May run it at once and
  // call task_done before it returns.
  virtual void start_task(graph::Task& task, WorkerId worker) = 0;
  // The worker may have something to run: advance() is to be called soon. Any thread, any locks.
  virtual void wake(WorkerId worker) = 0;
  // Tasks are in flight, although a worker was told that there is nothing for it: it takes several at a time.
  virtual bool runs_any() const { return false; }
  // How long tasks have kept the worker busy so far, where the driver knows better than the engine,
  // which counts from advance() to advance(): where a worker is given a task while it runs another.
  virtual std::optional<Time> busy(WorkerId /*worker*/) const { return std::nullopt; }
  // The process ends inside a task: no further task is started, as far as that is easily done; stop is never called.
  virtual void leave() {}
  // Ends copies in flight, joins threads. Nothing is called afterwards.
  virtual void stop() = 0;
};

}  // namespace vicinal::engine
