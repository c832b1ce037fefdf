// Plays a random program on a random simulated machine at the tightest limits, twice the same, and
// checks what can be checked: it ends, in the order of the dependencies, within the limits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/content.hpp"
#include "support/random_machine.hpp"
#include "support/random_program.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

class SimulatedProgram {
 public:
  explicit SimulatedProgram(std::uint64_t seed) {
    base::Random random(seed);
    machine_ = MachineMaker(random).make();
    codelets_ = random_codelets(machine_, random);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      neutral_.expected[kind] = Time{1 + static_cast<std::int64_t>(random.below(1'000'000))};
      combine_.expected[kind] = Time{1 + static_cast<std::int64_t>(random.below(1'000'000))};
    }
    options_ = random_simulated_options(random);
    ProgramShape shape{.sizes = {0, 1, 4096, 4097, 10'000, 65'536, 1 << 20, 3'000'001, 5ULL << 30},
                       .most_steps = 150,
                       .files = true};
    if (chance(random, 4)) {
      shape.failures = true;
      shape.cancels = !excluded().cancel;
      shape.retires = !excluded().retire;
    }
    faults_ = shape.failures;
    std::vector<ProgramPlace> places(1);
    places[0].workers = machine_.workers;
    places[0].nodes = static_cast<std::uint32_t>(machine_.nodes.size());
    if (machine_.disk()) places[0].disk = machine_.disk()->value;
    places[0].codelets = &codelets_;
    if (faults_ && excluded().window_with_failures) {
      options_.window_tasks = 0;
      options_.window_bytes = Bytes{0};
    }
    window_ = options_.window_tasks > 0 || options_.window_bytes.value > 0;
    places[0].window = window_;
    places[0].simulated = true;
    program_ = ProgramMaker(seed, shape, places).make();
    set_limits(places[0], random);
    const bool reduces = std::ranges::any_of(program_.data, &ProgramData::reduced);
    const bool waits_for_copies = reduces && !machine_.disk() && machine_.nodes[0].limit;
    // A combination that is submitted before the task may be cancelled at once, and what comes behind it.
    others_come_first_ = window_ || waits_for_copies || (reduces && faults_);
    if (others_come_first_) machine_.submit_overhead = Time{0};
  }

  std::string label() const {
    return "policy " + options_.policy + ", " + std::to_string(machine_.workers.size()) +
           " workers, " + std::to_string(machine_.nodes.size()) + " nodes" +
           (faults_ ? ", with failures" : "") + (window_ ? ", window" : "") +
           (options_.compute_priorities ? ", computed priorities" : "") +
           (options_.memory_rules.empty() ? "" : ", memory rules " + options_.memory_rules) +
           (machine_.submit_overhead.ns > 0 ? ", submissions take time" : "");
  }

  // All that the run says of itself. In a world that others may share submissions always take time.
  std::string run(Watchdog& watchdog, bool is_shared = false) {
    text_.clear();
    submitted_.assign(program_.tasks.size(), Submitted{});
    last_users_.assign(program_.data.size(), {});
    group_ = std::make_unique<Group>();
    ends_ = calls_ = notes_ = 0;
    SimulatedWorld world;
    MachineDescription machine = machine_;
    if (is_shared) machine.submit_overhead.ns += 1000;
    std::unique_ptr<Runtime> made = is_shared ? std::make_unique<Runtime>(machine, options_, world)
                                              : std::make_unique<Runtime>(machine, options_);
    Runtime& runtime = *made;
    const Watched watched(watchdog, runtime);
    runtime_ = &runtime;
    handles_.clear();
    for (std::size_t d = 0; d < program_.data.size(); ++d) handles_.push_back(add(d));
    for (std::size_t d = 0; d < program_.data.size(); ++d) {
      if (program_.data[d].shared() && program_.data[d].home == Home::none)
        acquire(d, AccessMode::W);
      if (program_.data[d].reduced) {
        runtime.set_reduction(handles_[d], {.neutral = &neutral_, .combine = &combine_});
      }
    }
    for (const ProgramStep& step : program_.threads[0]) {
      guarded([&] { do_step(step); });
    }
    guarded([&] { runtime.wait(); });
    guarded([&] { runtime.wait(); });  // throws nothing again
    check_and_describe();
    for (const Handle handle : handles_) {
      if (handle) guarded([&] { runtime.unregister(handle); });
    }
    describe_time();
    return text_;
  }

 private:
  using Kind = ProgramStep::Kind;
  struct Submitted {
    TaskId id;
    bool submitted = false;
    bool ended = false;
    bool noted = false;
    std::uint64_t call = 0;           // so many were noted before
    std::uint64_t turn = 0;           // when it was noted
    std::vector<std::size_t> before;  // tasks that must have ended when it ends
  };

  // Tasks: the last one that excludes others, or the last that do not exclude each other, and those before them.
  struct LastUsers {
    AccessMode mode = AccessMode::RW;
    std::vector<std::size_t> users;
    std::vector<std::size_t> before;
  };

  void set_limits(const ProgramPlace& place, base::Random& random) {
    for (NodeDescription& node : machine_.nodes) {
      const Bytes least = place.least[node.id.value];
      if (node.kind == NodeKind::disk) {
        if (chance(random, 3)) node.limit = (place.unhomed + Bytes{1 << 20}) * 4;
      } else if (node.kind == NodeKind::ram && !place.disk) {
        if (chance(random, 2)) node.limit = std::max(least, place.unhomed);
      } else if (!chance(random, 8)) {
        node.limit = least * (1 + (chance(random, 4) ? random.below(3) : 0));
      }
    }
  }

  // What may throw in a program with failures, and in no other.
  void guarded(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      const std::string what = error.what();
      if (!faults_ || what.find("nothing is left to simulate") != std::string::npos) throw;
      text_ += what.substr(0, what.find('\n')) + "\n";
    }
  }

  Handle add(std::size_t d) {
    const ProgramData& data = program_.data[d];
    const std::string name = "h" + std::to_string(d);
    switch (data.home) {
      case Home::none:
        return runtime_->register_empty(Bytes{data.bytes}, name);
      case Home::file:
        return runtime_->register_simulated(Bytes{data.bytes}, *machine_.disk(), name);
      default:
        return runtime_->register_simulated(Bytes{data.bytes}, kRam, name);
    }
  }
  void acquire(std::size_t d, AccessMode mode) { runtime_->acquire(handles_[d], mode); }

  void do_step(const ProgramStep& step) {
    const Handle handle = handles_[step.data];
    switch (step.kind) {
      case Kind::task:
        return submit(step.task);
      case Kind::acquire: {
        const Acquired acquired = runtime_->acquire(handle, step.mode);
        if (step.task != ProgramStep::kNone) submit(step.task);
        return;
      }
      case Kind::wait_handle:
        return runtime_->wait(handle);
      case Kind::wait:
        return runtime_->wait();
      case Kind::wait_group:
        return runtime_->wait(*group_);
      case Kind::prefetch:
        return runtime_->prefetch(handle, NodeId{step.node});
      case Kind::wont_use:
        return runtime_->wont_use(handle);
      case Kind::invalidate:
        return runtime_->invalidate(handle);
      case Kind::renew:
        handles_[step.data] = {};
        runtime_->unregister(handle, step.write_back);
        handles_[step.data] = add(step.data);
        return;
      case Kind::look:
        static_cast<void>(runtime_->statistics());
        static_cast<void>(runtime_->stall_report());
        return;
      case Kind::cancel:
        return runtime_->cancel();
      case Kind::retire:
        handles_[step.data] = {};
        return runtime_->unregister(handle, step.write_back);
    }
  }

  void submit(std::size_t t) {
    const ProgramTask& task = program_.tasks[t];
    std::vector<Operand> operands;
    for (const RandomAccess& access : task.accesses) {
      operands.push_back({handles_[access.data], access.mode});
    }
    if (task.scratch.value > 0) operands.push_back(Scratch(task.scratch));
    std::vector<TaskId> after;
    for (const std::size_t before : task.after) {
      if (submitted_[before].submitted) after.push_back(submitted_[before].id);
    }
    TaskSpec spec;
    spec.codelet = &codelets_[task.codelet];
    spec.operands = operands;
    spec.priority = task.priority;
    if (task.worker) spec.worker = WorkerId{*task.worker};
    if (task.node) spec.node = NodeId{*task.node};
    if (task.node && !task.accesses.empty()) runtime_->advise(operands.front().handle, spec.node);
    if (task.in_group) spec.group = group_.get();
    spec.after = after;
    spec.on_end = [this, t](Outcome outcome) { ended(t, outcome); };
    spec.name = "t" + std::to_string(t);
    // Others may be submitted in the call before this one, or time may pass behind it.
    submitted_[t].call = notes_;
    if (!others_come_first_) note_order(t);
    submitted_[t].submitted = true;
    ++calls_;
    try {
      submitted_[t].id = runtime_->submit(spec);
    } catch (...) {
      --calls_;
      submitted_[t].submitted = false;
      submitted_[t].ended = true;
      throw;
    }
    if (others_come_first_) note_order(t);
  }

  void note_order(std::size_t t) {
    if (std::exchange(submitted_[t].noted, true)) return;
    submitted_[t].turn = ++notes_;
    const ProgramTask& task = program_.tasks[t];
    for (const std::size_t before : task.after) submitted_[t].before.push_back(before);
    for (const RandomAccess& access : task.accesses) {
      LastUsers& last = last_users_[access.data];
      // Reducing tasks share the datum with the readers before them.
      const bool joins = access.mode == AccessMode::reduction && last.mode == AccessMode::R;
      if (is_exclusive(access.mode) || (access.mode != last.mode && !joins)) {
        last.before = std::exchange(last.users, {});
      }
      last.mode = access.mode;
      for (const std::size_t before : last.before) {
        if (comes_before(before, t)) submitted_[t].before.push_back(before);
      }
      last.users.push_back(t);
    }
  }

  // A call that cancels tasks leaves the order of the tasks submitted in the call unknown.
  bool comes_before(std::size_t before, std::size_t t) const {
    const bool in_call = faults_ && submitted_[before].turn > submitted_[t].call;
    return before != t && !in_call;
  }

  void ended(std::size_t t, Outcome outcome) {
    note_order(t);
    EXPECT_FALSE(submitted_[t].ended) << "t" << t << " ended twice";
    submitted_[t].ended = true;
    ++ends_;
    for (const std::size_t before : submitted_[t].before) {
      EXPECT_TRUE(submitted_[before].ended || !submitted_[before].submitted)
          << "t" << t << " ended before t" << before;
    }
    text_ += "t" + std::to_string(t) + " " + std::to_string(static_cast<int>(outcome)) + " at " +
             std::to_string(runtime_->statistics().now.ns) + "\n";
    const ProgramTask& task = program_.tasks[t];
    for (const std::size_t next : task.at_its_end) submit_late(next);
    if (task.end_throws) throw std::runtime_error("t" + std::to_string(t) + " does not end well");
  }
  void submit_late(std::size_t t) {
    for (const RandomAccess& access : program_.tasks[t].accesses) {
      if (!handles_[access.data]) return;  // retired
    }
    guarded([&] { submit(t); });
  }

  void check_and_describe() {
    const Statistics s = runtime_->statistics();
    // Acquisitions and what is asked for after the tasks so far count as well.
    EXPECT_GE(s.tasks_submitted, calls_);
    EXPECT_EQ(s.tasks_done + s.tasks_failed + s.tasks_cancelled, s.tasks_submitted);
    EXPECT_EQ(ends_, calls_);
    if (!faults_) {
      EXPECT_EQ(s.tasks_done, s.tasks_submitted);
    }
    for (std::size_t n = 0; n < s.nodes.size(); ++n) {
      if (const auto limit = machine_.nodes[n].limit) {
        EXPECT_LE(s.nodes[n].peak, *limit) << machine_.nodes[n].name;
      }
    }
    for (const auto& link : s.links) text_ += " " + std::to_string(link.copies);
    for (const auto& worker : s.workers) {
      text_ += "; " + std::to_string(worker.tasks) + " tasks " + std::to_string(worker.busy.ns);
    }
  }
  void describe_time() {
    const Statistics s = runtime_->statistics();
    text_ += "\n" + std::to_string(s.now.ns) + " ns";
    for (const auto& node : s.nodes) {
      text_ += "; " + std::to_string(node.bytes_in.value) + " in " +
               std::to_string(node.bytes_out.value) + " out, peak " +
               std::to_string(node.peak.value) + ", " + std::to_string(node.evictions) + " gone " +
               std::to_string(node.write_backs);
    }
  }

  bool faults_ = false;
  bool window_ = false;
  bool others_come_first_ = false;
  MachineDescription machine_;
  std::vector<Codelet> codelets_;
  Codelet neutral_{.name = "neutral"};
  Codelet combine_{.name = "combine"};
  Options options_;
  Program program_;
  // --- of one run
  Runtime* runtime_ = nullptr;
  std::unique_ptr<Group> group_;
  std::vector<Handle> handles_;
  std::vector<Submitted> submitted_;   // by task
  std::vector<LastUsers> last_users_;  // by datum
  std::uint64_t calls_ = 0;
  std::uint64_t ends_ = 0;
  std::uint64_t notes_ = 0;
  std::string text_;
};

}  // namespace vicinal::testing
