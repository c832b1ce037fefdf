// Random programs for the public API, as data: what is registered, which tasks there are, what each
// thread of the application does. They keep to the contract, so whatever goes wrong is the library's.
//
// Each thread has data of its own, whose content is that of its own tasks in their order. All share some
// data, which tasks only read or count up: their sums do not depend on the order. A program may use
// several runtimes; a task's operands belong to one of them. Tasks that other tasks submit use shared
// data only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "support/random_case.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

inline constexpr std::uint32_t kNobody = 0xffffffff;  // owns what all share

struct ProgramData : RandomData {
  std::uint32_t runtime = 0;
  std::uint32_t owner = kNobody;  // a thread
  bool reduced = false;           // tasks reduce into it, too; one that all share
  bool shared() const { return owner == kNobody; }
};

struct ProgramTask {
  std::uint64_t key = 0;  // of what it computes
  std::uint32_t runtime = 0;
  std::uint32_t codelet = 0;
  std::vector<RandomAccess> accesses;
  Bytes scratch;  // of the operand behind them; 0: there is none
  int priority = 0;
  std::optional<std::uint32_t> worker;
  std::optional<std::uint32_t> node;  // that it names, and advises for its first operand
  bool in_group = false;
  bool fails = false;
  bool end_throws = false;
  bool late = false;                    // submitted by another task, not by a thread
  std::uint64_t spin = 0;               // of a kernel that runs
  std::vector<std::size_t> after;       // of the same thread and runtime
  std::vector<std::size_t> in_kernel;   // tasks that its kernel submits
  std::vector<std::size_t> at_its_end;  // and its on_end
};

struct ProgramStep {
  enum class Kind : std::uint8_t {
    task,
    acquire,      // `task` is submitted while it is held, unless kNone
    wait_handle,  // what follows is named as the function of Runtime
    wait,
    wait_group,
    prefetch,
    wont_use,
    invalidate,
    renew,  // unregister, register again
    look,   // statistics and the machine
    cancel,
    retire  // unregister what all share
  };
  static constexpr std::size_t kNone = SIZE_MAX;
  Kind kind = Kind::task;
  std::uint32_t runtime = 0;
  std::size_t task = kNone;
  std::size_t data = 0;
  AccessMode mode = AccessMode::R;
  std::uint32_t node = 0;
  WriteBack write_back = WriteBack::yes;
};

// What the tasks of one runtime may be given.
struct ProgramPlace {
  std::vector<WorkerDescription> workers;
  std::uint32_t nodes = 1;  // 0 is RAM
  std::optional<std::uint32_t> disk;
  const std::vector<Codelet>* codelets = nullptr;  // each with a worker that can run it
  bool window = false;                             // submit may wait
  bool simulated = false;
  std::vector<Bytes> least;  // filled in: by node, the tightest limits under which all tasks run
  Bytes unhomed;             // filled in: of all that has no other home, and the scratch of a task
};

struct ProgramShape {
  std::vector<std::uint64_t> sizes;
  std::uint32_t threads = 1;
  std::size_t most_steps = 100;  // of each thread
  std::size_t most_operands = 40;
  bool files = false;
  bool failures = false;  // tasks that throw, on_end that throws
  bool cancels = false;
  bool retires = false;
  bool across = false;  // tasks of one runtime submit to another
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<ProgramData> data;
  std::vector<ProgramTask> tasks;
  std::vector<std::vector<ProgramStep>> threads;
};

// What tasks do with what all share.
inline bool changes(AccessMode mode) {
  return writes(mode) || mode == AccessMode::reduction;
}

inline bool can_run(const Codelet& codelet, ProcessorKind kind, bool simulated) {
  return codelet.implementation(kind) ||
         (simulated && codelet.expected[static_cast<std::size_t>(kind)].ns > 0);
}

class ProgramMaker {
 public:
  // Changes the places: their limits.
  ProgramMaker(std::uint64_t seed, const ProgramShape& shape, std::vector<ProgramPlace>& places)
      : shape_(shape), places_(places), random_(seed * 2 + 1) {
    program_.seed = seed;
  }
  Program make() {
    // Shared data are longs that are counted up.
    for (std::uint32_t r = 0; r < places_.size(); ++r) add_data(r, kNobody, 1 + random_.below(4));
    program_.threads.resize(shape_.threads);
    written_.assign(program_.data.size(), true);
    for (std::uint32_t t = 0; t < shape_.threads; ++t) {
      for (std::uint32_t r = 0; r < places_.size(); ++r) {
        add_data(r, t, 1 + random_.below(chance(4) ? 40 : 8));
      }
    }
    for (std::size_t d = written_.size(); d < program_.data.size(); ++d) {
      written_.push_back(program_.data[d].home != Home::none);
    }
    for (std::uint32_t t = 0; t < shape_.threads; ++t) {
      recent_.assign(places_.size(), {});
      const std::size_t steps = 1 + random_.below(shape_.most_steps);
      for (std::size_t i = 0; i < steps; ++i) add_step(t);
    }
    for (std::uint32_t r = 0; r < places_.size(); ++r) set_limits(r);
    return std::move(program_);
  }

 private:
  using Kind = ProgramStep::Kind;
  bool chance(std::uint64_t in) { return random_.below(in) == 0; }
  template <typename T>
  const T& one_of(const std::vector<T>& list) {
    return list[random_.below(list.size())];
  }

  void add_data(std::uint32_t runtime, std::uint32_t owner, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      ProgramData data;
      data.runtime = runtime;
      data.owner = owner;
      data.bytes = one_of(shape_.sizes);
      if (data.shared()) data.bytes = (data.bytes / 8 + 1) * 8;
      data.reduced = data.shared() && chance(2);
      const std::uint64_t home = random_.below(8);
      data.home = home < 4   ? Home::none
                  : home < 5 ? Home::buffer
                  : home < 6 ? Home::strided
                             : Home::file;
      if (data.home == Home::file && (!shape_.files || !places_[runtime].disk)) {
        data.home = Home::none;
      }
      if (data.home == Home::strided) {
        data.columns = 1 + random_.below(5);
        data.bytes -= data.bytes % (8 * data.columns);
      }
      program_.data.push_back(data);
    }
  }
  std::vector<std::size_t> data_of(std::uint32_t runtime, std::uint32_t owner) const {
    std::vector<std::size_t> list;
    for (std::size_t d = 0; d < program_.data.size(); ++d) {
      const ProgramData& data = program_.data[d];
      if (data.runtime == runtime && data.owner == owner) list.push_back(d);
    }
    return list;
  }

  void add_step(std::uint32_t thread) {
    ProgramStep step;
    step.runtime = static_cast<std::uint32_t>(random_.below(places_.size()));
    const std::vector<std::size_t> own = data_of(step.runtime, thread);
    const std::vector<std::size_t> shared = data_of(step.runtime, kNobody);
    const std::uint64_t kind = random_.below(64);
    if (kind < 48) {
      step.kind = Kind::task;
      step.task = add_task(step.runtime, own, shared);
    } else if (kind < 52) {
      const bool of_all = chance(4);
      step.kind = Kind::acquire;
      step.data = one_of(of_all ? shared : own);
      step.mode = random_mode(step.data);
      if (step.mode == AccessMode::reduction) step.mode = AccessMode::RW;
      if (!may_wait(step.runtime) && chance(3)) {
        step.task = add_task(step.runtime, own, shared);
      }
    } else if (!describe_other(step, kind, own, shared)) {
      return;
    }
    program_.threads[thread].push_back(step);
  }
  // False: not with these data.
  bool describe_other(ProgramStep& step, std::uint64_t kind, const std::vector<std::size_t>& own,
                      const std::vector<std::size_t>& shared) {
    const ProgramPlace& place = places_[step.runtime];
    step.data = one_of(chance(4) ? shared : own);
    step.node = static_cast<std::uint32_t>(random_.below(place.nodes));
    switch (kind) {
      case 52:
        step.kind = Kind::wait_handle;
        return written_[step.data];
      case 53:
        step.kind = chance(3) ? Kind::wait : Kind::look;
        return true;
      case 54:
        step.kind = Kind::wait_group;
        return true;
      case 55:
      case 56:
        step.kind = Kind::prefetch;
        return written_[step.data];
      case 57:
        step.kind = Kind::wont_use;
        return true;
      case 58:
        step.kind = Kind::invalidate;
        step.data = one_of(own);
        written_[step.data] = false;
        return true;
      case 59:
      case 60:
        step.kind = Kind::renew;
        step.data = one_of(own);
        step.write_back = chance(3) ? WriteBack::no : WriteBack::yes;
        written_[step.data] = program_.data[step.data].home != Home::none;
        return true;
      case 61:
        step.kind = Kind::cancel;
        return shape_.cancels && chance(2);
      case 62:
        step.kind = Kind::retire;
        step.data = one_of(shared);
        return shape_.retires && chance(4);
      default:
        return false;
    }
  }

  // What nobody has written is written first; what all share is counted up or read.
  AccessMode random_mode(std::size_t data) {
    if (program_.data[data].shared()) {
      if (program_.data[data].reduced && chance(2)) return AccessMode::reduction;
      if (chance(2)) return AccessMode::R;
      return chance(2) ? AccessMode::commute : AccessMode::RW;
    }
    const auto mode =
        written_[data] ? static_cast<AccessMode>(1 + random_.below(3)) : AccessMode::W;
    written_[data] = true;
    return mode;
  }

  std::size_t add_task(std::uint32_t runtime, const std::vector<std::size_t>& own,
                       const std::vector<std::size_t>& shared) {
    ProgramTask task = plain_task(runtime);
    const std::uint64_t many = random_.below(16);
    const std::size_t operands = many == 0   ? 0
                                 : many == 1 ? random_.below(shape_.most_operands + 1)
                                             : 1 + random_.below(6);
    std::vector<std::size_t> fresh;  // to be written, also if it is named twice
    for (std::size_t i = 0; i < operands; ++i) {
      const std::size_t data = one_of(chance(6) ? shared : own);
      if (program_.data[data].shared() && names(task, data)) continue;  // counted once
      RandomAccess access{data, AccessMode::W};
      if (std::ranges::find(fresh, data) == fresh.end()) {
        if (!written_[data]) fresh.push_back(data);
        access.mode = random_mode(data);
      }
      task.accesses.push_back(access);
    }
    task.in_group = chance(4);
    for (std::uint64_t i = chance(8) ? 1 + random_.below(3) : 0; i > 0; --i) {
      if (!recent_[runtime].empty()) task.after.push_back(one_of(recent_[runtime]));
    }
    task.fails = shape_.failures && chance(30);
    task.end_throws = shape_.failures && chance(60);
    if (chance(12)) task.in_kernel = late_tasks(runtime);
    if (chance(12)) task.at_its_end = late_tasks(runtime);
    program_.tasks.push_back(task);
    recent_[runtime].push_back(program_.tasks.size() - 1);
    return program_.tasks.size() - 1;
  }
  static bool names(const ProgramTask& task, std::size_t data) {
    return std::ranges::any_of(task.accesses, [&](const auto& a) { return a.data == data; });
  }
  ProgramTask plain_task(std::uint32_t runtime) {
    const ProgramPlace& place = places_[runtime];
    ProgramTask task;
    task.key = random_.next();
    task.runtime = runtime;
    task.codelet = static_cast<std::uint32_t>(random_.below(place.codelets->size()));
    task.priority = chance(3) ? static_cast<int>(random_.below(9)) - 4 : 0;
    task.spin = chance(20) ? 100'000 : chance(3) ? random_.below(3000) : 0;
    if (task.key / 64 % 8 == 0) task.scratch = Bytes{1 + task.key / 512 % 20'000};
    if (task.key % 6 == 0) task.node = static_cast<std::uint32_t>(task.key / 6 % place.nodes);
    if (chance(8)) {
      const WorkerDescription& worker = one_of(place.workers);
      if (runs_on(task, worker)) task.worker = worker.id.value;
    }
    return task;
  }
  std::vector<std::size_t> late_tasks(std::uint32_t from) {
    std::vector<std::size_t> list;
    for (std::uint64_t i = 1 + random_.below(3); i > 0; --i) {
      const auto runtime =
          shape_.across ? static_cast<std::uint32_t>(random_.below(places_.size())) : from;
      ProgramTask task = plain_task(runtime);
      task.late = true;
      // It cannot wait for private copies to leave room for its scratch.
      if (any_reduced(runtime)) task.scratch = Bytes{0};
      for (const std::size_t data : data_of(runtime, kNobody)) {
        if (chance(2)) task.accesses.push_back({data, random_mode(data)});
      }
      program_.tasks.push_back(task);
      list.push_back(program_.tasks.size() - 1);
    }
    return list;
  }

  // --- limits
  bool runs_on(const ProgramTask& task, const WorkerDescription& worker) const {
    if (task.worker && *task.worker != worker.id.value) return false;
    const ProgramPlace& place = places_[task.runtime];
    return can_run((*place.codelets)[task.codelet], worker.kind, place.simulated);
  }
  // Who submits waits for the window, or for private copies to leave room.
  bool may_wait(std::uint32_t runtime) const {
    const ProgramPlace& place = places_[runtime];
    return place.window || (!place.disk && any_reduced(runtime));
  }
  bool any_reduced(std::uint32_t runtime) const {
    return std::ranges::any_of(program_.data, [&](const ProgramData& data) {
      return data.runtime == runtime && data.reduced;
    });
  }
  // A task that reduces works on a copy, which has no home.
  Bytes footprint(const RandomAccess& access, std::uint32_t node) const {
    if (access.mode == AccessMode::reduction) return padded(program_.data[access.data].bytes);
    return footprint(access.data, node);
  }
  Bytes footprint(std::size_t data, std::uint32_t node) const {
    const Home home = program_.data[data].home;
    const bool at_home = node == 0 && (home == Home::buffer || home == Home::strided);
    return at_home ? Bytes{0} : padded(program_.data[data].bytes);
  }
  Bytes working_set(const ProgramTask& task, std::uint32_t node) const {
    std::vector<RandomAccess> once = task.accesses;
    std::ranges::sort(once, {}, &RandomAccess::data);
    const auto same_data = [](const RandomAccess& a, const RandomAccess& b) {
      return a.data == b.data;
    };
    once.erase(std::unique(once.begin(), once.end(), same_data), once.end());
    Bytes sum = padded(task.scratch.value);
    for (const RandomAccess& access : once) sum += footprint(access, node);
    return sum;
  }
  // A task needs one node where it may run and all its operands fit; what is acquired, and what goes to
  // an accelerator or comes from it, fits in RAM one by one.
  void set_limits(std::uint32_t runtime) {
    ProgramPlace& place = places_[runtime];
    place.least.assign(place.nodes, Bytes{4096});
    for (std::size_t d = 0; d < program_.data.size(); ++d) {
      if (program_.data[d].runtime != runtime) continue;
      place.least[0] = std::max(place.least[0], footprint(d, 0));
      if (program_.data[d].home == Home::none) place.unhomed += padded(program_.data[d].bytes);
      if (program_.data[d].reduced) make_combinable(place, padded(program_.data[d].bytes));
    }
    Bytes scratch;
    for (const ProgramTask& task : program_.tasks) {
      if (task.runtime != runtime) continue;
      make_fit(place, task);
      scratch = std::max(scratch, padded(task.scratch.value));
    }
    place.unhomed += scratch;  // of one task, beside those
  }
  void make_fit(ProgramPlace& place, const ProgramTask& task) {
    make_fit(
        place, [&](const WorkerDescription& worker) { return runs_on(task, worker); },
        [&](std::uint32_t node) { return working_set(task, node); });
  }
  template <typename Runs, typename Size>
  void make_fit(ProgramPlace& place, Runs runs, Size size) {
    std::vector<std::uint32_t> nodes;
    for (const WorkerDescription& worker : place.workers) {
      if (!runs(worker)) continue;
      if (size(worker.node.value) <= place.least[worker.node.value]) return;
      nodes.push_back(worker.node.value);
    }
    const std::uint32_t node = one_of(nodes);
    place.least[node] = size(node);
  }
  // A private copy stays in RAM, or passes through it; two are combined somewhere, by any worker.
  void make_combinable(ProgramPlace& place, Bytes copy) {
    place.unhomed += copy;
    place.least[0] = std::max(place.least[0], copy);
    make_fit(
        place, [](const WorkerDescription&) { return true; },
        [&](std::uint32_t) { return copy * 2; });
  }

  const ProgramShape& shape_;
  std::vector<ProgramPlace>& places_;
  base::Random random_;
  Program program_;
  std::vector<bool> written_;                     // by data
  std::vector<std::vector<std::size_t>> recent_;  // tasks of this thread, by runtime
};

}  // namespace vicinal::testing
