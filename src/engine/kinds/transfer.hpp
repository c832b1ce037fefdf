// Content that goes to another rank, or comes from there: a task that reads, or writes, one handle, in its turn among the
// other tasks of this rank. The room comm carries it, and says when the content is needed in RAM.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>

#include "engine/arrivals.hpp"
#include "engine/kinds/kind.hpp"
#include "memory/actions.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/data.hpp"

namespace vicinal::engine {

struct Application;

// Any thread, under no lock of the engine, perhaps inside the call that led to it. `number`: as Transfers was given.
class Carrier {
 public:
  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;
  // The task takes its place among those submitted. Only where it was given back for a while (SimulatedSubmitter).
  virtual void submitted(std::uint64_t number) = 0;
  // The task has access to its handle.
  virtual void ready(std::uint64_t number, graph::Task& task) = 0;
  // After Transfers::hold: the content, or room for it, is in RAM, or `error` says why not.
  virtual void held(std::uint64_t number, const std::exception_ptr& error) = 0;
};

class Transfers final : public Kind {
 public:
  explicit Transfers(Application& application) : application_(application) {}

  // Before the first transfer; it outlives them.
  void attach(Carrier& carrier) { carrier_ = &carrier; }
  // Numbers are never given twice. The data are registered here.
  void submit_send(Handle registered, std::uint64_t number, int priority);
  void submit_receive(Handle registered, std::uint64_t number, const Destination& to = {});
  // Where what is received goes; set up before the first receive.
  Arrivals& arrivals() { return arrivals_; }
  const Arrivals& arrivals() const { return arrivals_; }

  // What is to be received has room in RAM from the answer on, until the task ends.
  void hold(graph::Task& task);
  // What is to be sent can be read in RAM from the answer on, until the task ends. It waits for no room that a task or a
  // receive may have: where RAM is limited, content that lies elsewhere is read into the room that is kept for sends, one
  // after the other.
  void bring(graph::Task& task);
  // It need not be in RAM for now; it may be brought again.
  void put_down(graph::Task& task);
  // What was received is whole: tasks may read it while this one goes on to hold it in RAM.
  void share(graph::Task& task);
  // That room. False: something is sent from the room of before, which is still used.
  bool keep(std::byte* room);
  // Where it lies there, once held.
  static OperandView view(const graph::Task& task);
  // The content was sent, or is in RAM now. done: else what was received is lost.
  void end(graph::Task& task, Outcome outcome);
  static bool is_lost(const graph::Task& task);  // what was to be sent

  // A send or a receive takes its place in simulated time.
  void submitted(const graph::Task& task);
  void ready(graph::Task& task) override;
  void held(graph::Task& task, const std::exception_ptr& error) override;

 private:
  struct Data;
  static Data& data_of(const graph::Task& task);
  void read_into_room(graph::Task& task);
  void leave_room();

  void pass_on(const graph::Task& task, memory::Actions& actions);

  Application& application_;
  Carrier* carrier_ = nullptr;
  Arrivals arrivals_;
  std::mutex mutex_;           // guards what follows
  std::byte* room_ = nullptr;  // null: there is none
  bool is_taken_ = false;
  std::deque<graph::Task*> waiting_;  // for the room
};

}  // namespace vicinal::engine
