// Plays random programs on handles in parts whose tasks fail or are cancelled, for real or on a simulated machine:
// recursive tasks in which kernels throw, functions that throw, cancel(), roots that come and go, reductions of one
// thread and of all of them, several threads that submit. What each task's outcome must be follows from what it did;
// what the data must hold from the outcomes, see parts_account.hpp.
#pragma once

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/parts_account.hpp"
#include "support/parts_plan.hpp"
#include "support/policy_names.hpp"
#include "support/random_machine.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

class FailingParts {
 public:
  FailingParts(std::uint64_t seed, const std::string& folder, bool simulated)
      : random_(seed), simulated_(simulated), fails_(!chance(8)), cancels_(chance(2)) {
    if (simulated_) {
      machine_ = MachineMaker(random_).make();
      options_ = random_simulated_options(random_);
      if (options_.window_tasks > 0 || options_.window_bytes.value > 0)
        machine_->submit_overhead = Time{0};
    } else {
      choose_options(seed);
    }
    options_.undelivered_errors = "warn";
    limited_ = !simulated_ && chance(2);
    divides_reducing_ = !limited_ && chance(2);
    orderly_ = !chance(4);
    const std::size_t threads = 1 + random_.below(3);
    for (std::size_t t = 0; t < threads; ++t) threads_.push_back(make_thread());
    for (std::uint64_t i = random_.below(3); i > 0; --i) {
      shared_.push_back(make_datum(8 + random_.below(2000), true));
      shared_account_.push_back(accounted(shared_.back().home.size()));
    }
    if (limited_) set_limits(folder);
  }

  std::string label() const {
    return "policy " + options_.policy + ", " + std::to_string(threads_.size()) + " threads" +
           (simulated_ ? ""
                       : ", " + std::to_string(options_.workers) + " workers, " +
                             std::to_string(options_.accelerators) + " accelerators") +
           (limited_ ? ", " + std::to_string(options_.memory->value) + " bytes of memory" : "") +
           (options_.window_tasks > 0 ? ", window" : "") + (fails_ ? ", fails" : "") +
           (cancels_ ? ", cancels" : "") + (orderly_ ? "" : ", left to the end of the runtime");
  }

  void run(Watchdog& watchdog) {
    runtime_ = simulated_ ? std::make_unique<Runtime>(*machine_, options_)
                          : std::make_unique<Runtime>(options_);
    watchdog.set(runtime_.get());
    for (std::size_t s = 0; s < shared_.size(); ++s) add(shared_[s], shared_account_[s]);
    play_all();
    if (orderly_) end_all();
    watchdog.set(nullptr);
    runtime_.reset();
    if (!orderly_) note_homes();
    for (Thread& thread : threads_) thread.account.replay();
    for (std::size_t s = 0; s < shared_.size(); ++s) check_shared(s);
  }

 private:
  using Kind = PlannedStep::Kind;
  using Event = PartsEvent;

  struct Datum {
    std::string name;
    std::vector<std::uint64_t> home;  // as many as it has cells
    bool at_home = false;
    bool reduced = false;
    bool written = false;
    Handle handle = {};
    std::optional<std::vector<std::uint64_t>> found = {};  // at the end, of one that all share
    bool refused = false;
  };
  struct Thread {
    base::Random random{0};
    PartsPlan plan;
    std::deque<Datum> data;  // the roots, and behind them what only this thread reduces into
    PartsAccount account;
    std::vector<Handle> handles;  // of pieces
    std::vector<Parts> parts;     // of partitions
    std::size_t at = 0;           // in the plan
  };

  // --- the program

  bool chance(std::uint64_t in) { return random_.below(in) == 0; }

  void choose_options(std::uint64_t seed) {
    const std::vector<std::string> names = policy_names();
    options_.policy = names[seed % names.size()];
    options_.models = "none";
    options_.bind = false;
    options_.workers = 1 + below32(random_, 3);
    options_.accelerators = below32(random_, 3);
    options_.submitter_works = chance(2);
    options_.seed = seed;
    options_.compute_priorities = chance(4);
    if (chance(4)) options_.window_tasks = 1 + random_.below(20);
  }
  Datum make_datum(std::size_t count, bool reduced) {
    Datum datum{"data" + std::to_string(made_++), std::vector<std::uint64_t>(count)};
    datum.at_home = chance(2);
    datum.reduced = reduced;
    return datum;
  }
  Thread make_thread() {
    Thread thread;
    thread.random = base::Random(random_.next());
    PartsShape shape;
    for (std::uint64_t i = 1 + random_.below(3); i > 0; --i) {
      shape.roots.push_back(std::size_t{1} << random_.below(12));
      thread.data.push_back(make_datum(shape.roots.back(), false));
    }
    for (std::uint64_t i = random_.below(3); i > 0; --i) {
      thread.data.push_back(make_datum(8 + random_.below(2000), true));
    }
    for (const Datum& datum : thread.data) {
      thread.account.roots.push_back(accounted(datum.home.size()));
    }
    shape.steps = 10 + random_.below(60);
    shape.renews = true;
    shape.nodes =
        simulated_ ? static_cast<std::uint32_t>(machine_->nodes.size()) : 1 + options_.accelerators;
    shape.may_divide = [](std::uint32_t, const std::vector<std::size_t>&) { return true; };
    thread.plan = PartsPlanMaker(random_, shape).make();
    thread.handles.assign(thread.plan.pieces.size(), Handle{});
    thread.parts.assign(thread.plan.partitions.size(), Parts{});
    return thread;
  }

  // Room for the largest task, for a piece and all that it may be copied to, and for three copies of what is reduced.
  void set_limits(const std::string& folder) {
    const auto bytes = [](std::size_t cells) { return padded(std::uint64_t{cells} * 8).value; };
    std::uint64_t largest = 4096;
    for (const Thread& thread : threads_) {
      const auto& pieces = thread.plan.pieces;
      for (const PlannedTask& task : thread.plan.tasks) {
        std::uint64_t sum = 0;
        for (const auto& access : task.accesses) sum += bytes(pieces[access.piece].count);
        largest = std::max(largest, sum);
      }
      for (const auto& partition : thread.plan.partitions) {
        for (const std::size_t part : partition.parts) {
          largest =
              std::max(largest, bytes(pieces[partition.whole].count) + bytes(pieces[part].count));
        }
      }
      for (const Datum& datum : thread.data) largest = std::max(largest, bytes(datum.home.size()));
    }
    options_.memory = options_.accelerator_memory = Bytes{largest + 3 * bytes(2008)};
    options_.disk = folder;
  }

  // --- kernels

  static void run_kernel(KernelContext& k) {
    FailingTask& task = *k.parameter<FailingTask*>();
    EXPECT_FALSE(task.began.exchange(true)) << task.name() << " ran twice";
    const std::vector<Numbers> numbers = numbers_of(k);
    if (task.reduced) {
      const std::uint64_t number = contribution(numbers[0], task.told.key);
      for (std::size_t i = 0; i < numbers[1].count; ++i) numbers[1].data[i] += number;
    } else {
      mix(numbers, task.told);
    }
    if (!task.throws) return;
    task.threw = true;
    throw Error("on purpose");
  }
  static void set_zero(KernelContext& k) {
    std::fill_n(k.data<std::uint64_t>(0), k.count<std::uint64_t>(0), 0);
  }
  static void add_other(KernelContext& k) {
    const std::vector<Numbers> numbers = numbers_of(k);
    for (std::size_t i = 0; i < numbers[0].count; ++i) numbers[0].data[i] += numbers[1].data[i];
  }
  static Codelet codelet(const char* name, void (*kernel)(KernelContext&)) {
    Codelet made{.name = name, .cpu = kernel};
    made.expected.fill(Time{1000});
    return made;
  }
  static Codelet divided_codelet() {
    Codelet made = codelet("divided", run_kernel);
    made.recursive = submit_inside;
    return made;
  }

  static void submit_inside(Recursion& r) {
    FailingTask& task = *r.parameter<FailingTask*>();
    EXPECT_FALSE(task.began.exchange(true)) << task.name() << " was divided twice";
    task.divided = true;
    const std::uint64_t key = task.told.key;
    const Divide how = row_blocks(parts_inside(key));
    std::vector<Parts> divided;
    for (std::size_t o = 0; o < r.operands(); ++o) divided.push_back(r.parts(o, how));
    const std::size_t count = divided[0].size();
    for (std::size_t i = 0; i < count; ++i) {
      if (task.function_throws && i == count / 2) {
        task.threw = true;
        throw Error("on purpose");
      }
      std::vector<Operand> operands;
      for (std::size_t o = 0; o < divided.size(); ++o) {
        operands.push_back({divided[o][i], r.mode(o)});
      }
      if (task.reduced) operands.push_back(Reduce(task.reduced));
      const bool again = divides_again(key) && count > 2 && !task.reduced;
      task.program->submit_inner(r, task, operands, again, task.throws && i == key / 64 % count);
    }
  }
  void submit_inner(Recursion& r, FailingTask& outer, const std::vector<Operand>& operands,
                    bool again, bool throws) {
    FailingTask& task = add_task(outer.told);
    task.outer = &outer;
    task.reduced = outer.reduced;
    task.throws = throws;
    ++outer.inside;
    r.submit({.codelet = again && r.layout(0).rows() > 64 ? &divided_ : &plain_,
              .operands = operands,
              .parameters = &task,
              .on_end = [this, &task](Outcome outcome) { ended(task, outcome); },
              .recursive = Recursive::always});
  }

  // --- tasks

  FailingTask& add_task(const Told& told) {
    const std::lock_guard lock(mutex_);
    FailingTask& task = tasks_.emplace_back();
    task.program = this;
    task.number = tasks_.size();
    task.told = told;
    return task;
  }

  void ended(FailingTask& task, Outcome outcome) {
    EXPECT_EQ(task.outcome.exchange(static_cast<int>(outcome)), -1)
        << task.name() << " ended twice";
    if (task.divided) {
      EXPECT_EQ(task.inside, task.ended_inside) << task.name() << " ended too early";
      const bool failed = task.threw || task.any_failed;
      EXPECT_EQ(outcome, failed               ? Outcome::failed
                         : task.any_cancelled ? Outcome::cancelled
                                              : Outcome::done)
          << task.name();
    } else if (simulated_) {
      EXPECT_NE(outcome, Outcome::failed) << task.name();
    } else {
      EXPECT_EQ(outcome, !task.began  ? Outcome::cancelled
                         : task.threw ? Outcome::failed
                                      : Outcome::done)
          << task.name();
    }
    EXPECT_TRUE(outcome == Outcome::done || fails_ || cancels_) << task.name();
    if (task.outer == nullptr) return;
    if (outcome == Outcome::failed) task.outer->any_failed = true;
    if (outcome == Outcome::cancelled) task.outer->any_cancelled = true;
    ++task.outer->ended_inside;
  }

  // One in so many, where tasks fail at all.
  bool one_fails(std::uint64_t key, std::uint64_t in) const { return fails_ && key % in == 7; }

  void submit(FailingTask& task, const std::vector<Operand>& operands, const PlannedTask* planned) {
    const std::uint64_t key = task.told.key;
    task.throws = one_fails(key / 1024, 12);
    task.function_throws = one_fails(key / 4096, 25);
    runtime_->submit({.codelet = planned != nullptr && planned->divisible ? &divided_ : &plain_,
                      .operands = operands,
                      .parameters = &task,
                      .priority = planned != nullptr ? planned->priority : 0,
                      .on_end = [this, &task](Outcome outcome) { ended(task, outcome); },
                      .recursive = planned != nullptr ? planned->recursive : Recursive::never});
  }

  void submit(Thread& thread, const PlannedTask& planned) {
    FailingTask& task = add_task({planned.key, static_cast<std::uint32_t>(planned.writes()), 0});
    Event event{.kind = Event::Kind::task, .task = &task};
    std::vector<Operand> operands;
    for (const auto& access : planned.accesses) {
      if (access.mode == AccessMode::W) task.told.overwritten |= 1U << operands.size();
      operands.push_back({thread.handles[access.piece], access.mode});
      event.operands.push_back({cells(thread, access.piece), access.mode});
    }
    thread.account.events.push_back(event);
    submit(task, operands, &planned);
  }

  // Reads a piece, and reduces into what is the thread's own or what all share. Tasks inside a divided task come to
  // where others read between only in what is read at the end.
  void reduce(Thread& thread) {
    const bool own = thread.data.size() > thread.plan.roots.size() && thread.random.below(2) == 0;
    if (!own && shared_.empty()) return;
    const std::size_t piece = any_piece(thread);
    FailingTask& task = add_task({.key = thread.random.next()});
    Event event{.kind = Event::Kind::task, .task = &task};
    event.operands.push_back({cells(thread, piece), AccessMode::R});
    std::vector<Operand> operands{R(thread.handles[piece])};
    if (own) {
      const std::size_t d = any_reduced(thread);
      thread.data[d].written = true;
      task.reduced = thread.data[d].handle;
      event.reduced = &thread.account.roots[d];
    } else {
      const std::size_t s = thread.random.below(shared_.size());
      task.reduced = shared_[s].handle;
      event.reduced = &shared_account_[s];
    }
    event.reduces_itself = own || !divides_reducing_;
    thread.account.events.push_back(event);
    const PlannedTask divisible{.divisible = true, .recursive = Recursive::always};
    if (!event.reduces_itself) return submit(task, operands, &divisible);
    operands.push_back(Reduce(task.reduced));
    submit(task, operands, nullptr);
  }

  // --- steps

  static Cells cells(const Thread& thread, std::size_t p) {
    const PlannedPiece& piece = thread.plan.pieces[p];
    return {piece.root, piece.first, piece.count};
  }
  static std::size_t any_piece(Thread& thread) {
    std::size_t p = thread.random.below(thread.handles.size());
    while (!thread.handles[p]) p = (p + 1) % thread.handles.size();
    return p;
  }
  static std::size_t any_reduced(Thread& thread) {
    const std::size_t roots = thread.plan.roots.size();
    return roots + thread.random.below(thread.data.size() - roots);
  }

  void play_all() {
    for (Thread& thread : threads_) {
      for (std::size_t d = 0; d < thread.data.size(); ++d) register_datum(thread, d);
    }
    if (!simulated_) {
      return in_threads(threads_.size(), [this](std::size_t t) {
        while (play_next(threads_[t])) {
        }
      });
    }
    // Time passes where somebody waits: one thread has the steps of all.
    for (std::size_t left = threads_.size(); left > 0;) {
      left = 0;
      for (Thread& thread : threads_) {
        for (std::uint64_t i = random_.below(4); i > 0; --i) play_next(thread);
        left += thread.at < thread.plan.steps.size() ? 1 : 0;
      }
    }
  }

  bool play_next(Thread& thread) {
    if (thread.at == thread.plan.steps.size()) return false;
    base::Random& random = thread.random;
    try {
      if (cancels_ && random.below(25) == 0) runtime_->cancel();
      if (random.below(3) == 0) reduce(thread);
      if (random.below(12) == 0) look_at_reduced(thread);
      play(thread, thread.plan.steps[thread.at]);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "step " << thread.at << ": " << error.what();
    }
    ++thread.at;
    return true;
  }

  void play(Thread& thread, const PlannedStep& step) {
    switch (step.kind) {
      case Kind::task:
        return submit(thread, thread.plan.tasks[step.what]);
      case Kind::divide:
        return divide(thread, step.what);
      case Kind::unite:
        runtime_->unpartition(thread.parts[step.what]);
        return forget(thread, step.what);
      case Kind::acquire:
        return acquire(thread, thread.handles[step.what], cells(thread, step.what), step.mode);
      case Kind::wait_handle:
        return guarded([&] { runtime_->wait(thread.handles[step.what]); });
      case Kind::wait:
        return guarded([&] { runtime_->wait(); });
      case Kind::prefetch:
        return runtime_->prefetch(thread.handles[step.what], NodeId{step.node});
      case Kind::renew:
        for (std::size_t p = 0; p < thread.plan.partitions.size(); ++p) {
          const std::size_t whole = thread.plan.partitions[p].whole;
          if (thread.plan.pieces[whole].root == step.what && thread.handles[whole])
            forget(thread, p);
        }
        unregister(thread, step.what);
        return register_datum(thread, step.what);
    }
  }

  // Where something has failed, or was cancelled, that is what it says.
  template <typename Call>
  void guarded(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_TRUE(fails_ || cancels_) << error.what();
    }
  }

  void look_at_reduced(Thread& thread) {
    base::Random& random = thread.random;
    if (!shared_.empty() && !divides_reducing_ && random.below(3) == 0) {
      return runtime_->combine(shared_[random.below(shared_.size())].handle);
    }
    if (thread.data.size() == thread.plan.roots.size()) return;
    const std::size_t d = any_reduced(thread);
    Datum& datum = thread.data[d];
    if (random.below(4) == 0) {
      unregister(thread, d);
      return register_datum(thread, d);
    }
    const auto mode = datum.written ? static_cast<AccessMode>(1 + random.below(3)) : AccessMode::W;
    datum.written = true;
    acquire(thread, datum.handle, {d, 0, datum.home.size()}, mode);
  }

  void forget(Thread& thread, std::size_t partition) {
    for (const std::size_t part : thread.plan.partitions[partition].parts) {
      if (!thread.handles[part]) continue;
      thread.handles[part] = Handle{};
      for (std::size_t p = 0; p < thread.plan.partitions.size(); ++p) {
        if (thread.plan.partitions[p].whole == part) forget(thread, p);
      }
    }
  }

  void divide(Thread& thread, std::size_t p) {
    const PlannedPartition& partition = thread.plan.partitions[p];
    const auto blocks = [&](const Layout&) {
      Division division;
      for (const std::size_t part : partition.parts) {
        const auto& piece = thread.plan.pieces[part];
        division.blocks.push_back({.row = piece.first - thread.plan.pieces[partition.whole].first,
                                   .column = 0,
                                   .rows = piece.count,
                                   .columns = 1});
      }
      return division;
    };
    thread.parts[p] =
        runtime_->partition(thread.handles[partition.whole], blocks,
                            partition.writable ? PartAccess::writable : PartAccess::read_only);
    std::ranges::copy(thread.parts[p], thread.handles.begin() +
                                           static_cast<std::ptrdiff_t>(partition.parts.front()));
  }

  void acquire(Thread& thread, Handle handle, const Cells& cells, AccessMode mode) {
    Event event{.kind = Event::Kind::acquired};
    event.operands.push_back({cells, mode});
    if (writes(mode)) {
      for (std::size_t i = 0; i < cells.count; ++i) event.left.push_back(thread.random.next());
    }
    try {
      const Acquired held = runtime_->acquire(handle, mode);
      if (!simulated_) {
        auto* const there = held.data<std::uint64_t>();
        if (reads(mode)) event.found.assign(there, there + cells.count);
        std::ranges::copy(event.left, there);
      }
    } catch (const PoisonedError&) {
      event.refused = true;
    }
    thread.account.events.push_back(std::move(event));
  }

  // --- data come and go

  void register_datum(Thread& thread, std::size_t d) {
    Datum& datum = thread.data[d];
    const Cells all{d, 0, datum.home.size()};
    Event event{.kind = Event::Kind::registered};
    event.operands.push_back({all, AccessMode::W});
    for (std::uint64_t& value : datum.home) value = thread.random.next();
    event.left = datum.home;
    datum.written = datum.at_home || !datum.reduced;
    // What nobody has written is begun with the neutral element.
    if (!datum.written) std::ranges::fill(event.left, 0);
    register_datum(datum);
    thread.account.events.push_back(std::move(event));
    if (d < thread.plan.roots.size()) thread.handles[d] = datum.handle;
  }
  void register_datum(Datum& datum) {
    const TileShape shape{datum.home.size(), 1, 0, 8};
    if (datum.at_home && simulated_) {
      datum.handle = runtime_->register_empty(shape, datum.name);
      static_cast<void>(runtime_->acquire(datum.handle, AccessMode::W));
    } else if (datum.at_home) {
      datum.handle = runtime_->register_tile(datum.home.data(), shape, datum.name);
    } else {
      datum.handle = runtime_->register_empty(shape, datum.name);
      if (datum.written) {
        const Acquired held = runtime_->acquire(datum.handle, AccessMode::W);
        if (!simulated_) std::ranges::copy(datum.home, held.data<std::uint64_t>());
      }
    }
    if (datum.reduced) {
      runtime_->set_reduction(datum.handle, {.neutral = &neutral_, .combine = &combine_});
    }
  }
  void add(Datum& datum, AccountedRoot& account) {
    for (std::uint64_t& value : datum.home) value = random_.next();
    account.values = datum.home;
    datum.written = true;
    register_datum(datum);
  }

  void unregister(Thread& thread, std::size_t d) {
    Datum& datum = thread.data[d];
    bool refused = false;
    try {
      runtime_->unregister(datum.handle);
    } catch (const PoisonedError&) {
      refused = true;
    }
    note_home(thread, d, refused, true);
  }
  void note_home(Thread& thread, std::size_t d, bool refused, bool knows_refusal) {
    const Datum& datum = thread.data[d];
    if (!datum.at_home || simulated_) return;
    Event event{.kind = Event::Kind::went_home, .refused = refused, .knows_refusal = knows_refusal};
    event.operands.push_back({{d, 0, datum.home.size()}, AccessMode::R});
    event.found = datum.home;
    thread.account.events.push_back(std::move(event));
  }

  // --- the end

  void end_all() {
    guarded([&] { runtime_->wait(); });
    for (Thread& thread : threads_) {
      for (std::size_t p = 0; p < thread.handles.size(); ++p) {
        if (thread.handles[p]) acquire(thread, thread.handles[p], cells(thread, p), AccessMode::R);
      }
      for (std::size_t d = 0; d < thread.data.size(); ++d) {
        const Datum& datum = thread.data[d];
        if (datum.reduced && datum.written) {
          acquire(thread, datum.handle, {d, 0, datum.home.size()}, AccessMode::R);
        }
        unregister(thread, d);
      }
    }
    for (Datum& datum : shared_) end_shared(datum);
  }
  void end_shared(Datum& datum) {
    try {
      const Acquired held = runtime_->acquire(datum.handle, AccessMode::R);
      if (simulated_) return;
      auto* const there = held.data<std::uint64_t>();
      datum.found.emplace(there, there + datum.home.size());
    } catch (const PoisonedError&) {
      datum.refused = true;
    }
  }
  void check_shared(std::size_t s) {
    const Datum& datum = shared_[s];
    const AccountedRoot& account = shared_account_[s];
    if (!orderly_) {
      if (datum.at_home && !simulated_ && !account.any_lost && !account.is_unknown) {
        EXPECT_EQ(datum.home, account.values);
      }
      return;
    }
    EXPECT_EQ(datum.refused, account.any_lost) << datum.name;
    if (datum.found && !account.any_lost && !account.is_unknown) {
      EXPECT_EQ(*datum.found, account.values) << datum.name;
    }
  }
  void note_homes() {
    for (Thread& thread : threads_) {
      for (std::size_t d = 0; d < thread.data.size(); ++d) note_home(thread, d, false, false);
    }
  }

  base::Random random_;
  const bool simulated_;
  const bool fails_;
  const bool cancels_;
  bool limited_ = false;
  bool divides_reducing_ = false;  // into what all share, which nobody looks at before the end
  bool orderly_ = true;            // else all is left to the end of the runtime
  std::optional<MachineDescription> machine_;
  Options options_;
  std::size_t made_ = 0;
  std::deque<Thread> threads_;
  std::deque<Datum> shared_;
  std::deque<AccountedRoot> shared_account_;
  const Codelet plain_ = codelet("plain", run_kernel);
  const Codelet divided_ = divided_codelet();
  const Codelet neutral_ = codelet("neutral", set_zero);
  const Codelet combine_ = codelet("combine", add_other);
  std::mutex mutex_;
  std::deque<FailingTask> tasks_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace vicinal::testing
