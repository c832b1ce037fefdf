// The application of one runtime in a world that several share, as an actor there. What it submits takes the time of a
// submission each, on a clock of its own: a submission becomes known when those before it have taken their time and the
// window has room. The applications of other runtimes go on meanwhile.
//
// A submission that is not known yet has been announced to the graph: it is refused when the application makes it, or never.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include "base/sure_memory.hpp"
#include "engine/deferred_tasks.hpp"
#include "engine/driver.hpp"
#include "engine/lifecycle.hpp"
#include "sim/world.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

class Submissions;

// The driver reports to it, and it to the engine: the end of a task may give the window room.
class SimulatedSubmitter final : public sim::Actor, public Completions {
 public:
  // All outlive it. `deferred`: null where nothing is deferred.
  SimulatedSubmitter(Submissions& all, sim::World& world, Engine& engine, DeferredTasks* deferred,
                     Time overhead);
  ~SimulatedSubmitter() override { world_.leave(place_); }
  SimulatedSubmitter(const SimulatedSubmitter&) = delete;
  SimulatedSubmitter& operator=(const SimulatedSubmitter&) = delete;

  // A task of the application; the window counts `bytes` of it. Refused: the task is gone when this throws.
  TaskId submit(graph::Task& task, std::span<const TaskId> after, Bytes bytes);
  // What the application asks for beside tasks, in its turn; it takes no time. The same for one that is refused.
  void submit_plain(graph::Task& task, graph::Content leaves);
  // A task inside a task is known at once. Before it comes what it names.
  void give_way(const graph::Task& task, std::span<const TaskId> after);

  // All that was submitted is known, and its time has passed.
  bool is_free() const { return !spends_ && submissions_.empty(); }
  // The time of a submission passes; nothing waits for the window.
  bool spends() const { return spends_; }
  // Some that was submitted is not known yet.
  bool any() const { return !submissions_.empty(); }
  bool will_write(const graph::Handle& handle) const;
  // Of what is not known yet.
  std::uint64_t tasks() const { return tasks_; }
  Bytes bytes() const { return bytes_; }
  // The window may have room.
  void look();
  // What is submitted is no submission of the application.
  bool within() const { return within_ > 0 || world_.stepping(); }
  class Within {
   public:
    // Null: submissions take no simulated time.
    explicit Within(SimulatedSubmitter* submitter) : submitter_(submitter) {
      if (submitter_ != nullptr) ++submitter_->within_;
    }
    ~Within() {
      if (submitter_ != nullptr) --submitter_->within_;
    }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    SimulatedSubmitter* submitter_;
  };
  // For the stall report. Any thread.
  std::string describe() const;

  void happened(std::uint64_t token) override;
  void flow_ended(std::uint64_t /*token*/) override {}
  void copy_done(memory::CopyId id, std::exception_ptr error) override;
  bool advance(WorkerId worker) override;
  void task_done(graph::Task& task, WorkerId worker, std::exception_ptr error,
                 std::optional<Time> run_time) override;

 private:
  struct Submission {
    DeferredTask entry;
    Bytes bytes;
    bool takes_time = false;
  };
  TaskId add(Submission submission, graph::Content leaves);
  void go_on();
  Submission take_first();
  void pass_on_first();
  void hand_on(const DeferredTask& entry);
  bool window_has_room();

  Submissions& all_;
  sim::World& world_;
  Engine& engine_;
  DeferredTasks* const deferred_;
  const Time overhead_;
  const sim::World::Place place_;
  base::SureVector<Submission> submissions_;  // from first_ on they are not known yet
  std::size_t first_ = 0;
  std::atomic<std::uint64_t> tasks_{0};
  Bytes bytes_;
  Time owed_;             // by submissions that became known
  bool spends_ = false;   // it does, until an event
  bool stalled_ = false;  // by the window
  std::uint32_t within_ = 0;
};

}  // namespace vicinal::engine
