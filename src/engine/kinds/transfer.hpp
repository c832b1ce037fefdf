// Content that goes to another rank, or comes from one: a task that reads, or writes, one handle, between those that
// use it here. What carries it lies outside the engine (room comm), and says when it needs the content in RAM.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "engine/kinds/kind.hpp"
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
  void submit_receive(Handle registered, std::uint64_t number);

  // Its handle is wanted in RAM, until the task ends.
  void hold(graph::Task& task);
  // Where it lies there, once held.
  static OperandView view(const graph::Task& task);
  // The content was sent, or is in RAM now. done: else what was received is lost.
  void end(graph::Task& task, Outcome outcome);
  static bool is_lost(const graph::Task& task);  // what was to be sent

  void ready(graph::Task& task) override;
  void held(graph::Task& task, const std::exception_ptr& error) override;

 private:
  struct Data;
  static Data& data_of(const graph::Task& task);

  Application& application_;
  Carrier* carrier_ = nullptr;
};

}  // namespace vicinal::engine
