// Plays a random program for real: threads, workers, accelerators, disk. What it did is kept and compared in
// program_account.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/exclusions.hpp"
#include "support/program_account.hpp"
#include "support/program_data.hpp"
#include "support/random_program.hpp"
#include "support/real_machine.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

class RealProgram {
 public:
  RealProgram(std::uint64_t seed, const std::string& folder, Faults faults) : faults_(faults) {
    base::Random random(seed);
    const std::uint32_t runtimes = chance(random, 3) ? 2 : 1;
    ProgramShape shape{.sizes = {0, 1, 7, 4096, 4097, 9'999, 16'384, 50'001},
                       .threads = chance(random, 3) ? 1 : 1 + below32(random, 4),
                       .most_steps = 60,
                       .files = faults != Faults::allocations};  // a stream would write less
    shape.across = runtimes > 1 && !excluded().across_runtimes;
    if (faults == Faults::failures) {
      shape.failures = true;
      shape.cancels = !excluded().cancel && chance(random, 2);
      shape.retires = !excluded().retire && chance(random, 2);
    }
    codelets_ = random_codelets(random, compute);
    std::vector<ProgramPlace> places;
    for (std::uint32_t r = 0; r < runtimes; ++r) {
      options_.push_back(random_real_options(random, shape, runtimes, folder, faults));
      options_.back().undelivered_errors = "warn";  // programs that fail end with them
      places.push_back(place_of(options_.back(), codelets_));
    }
    program_ = ProgramMaker(seed, shape, places).make();
    for (std::uint32_t r = 0; r < runtimes; ++r) set_limits(options_[r], places[r], random);
    orderly_ = !chance(random, 3);
    account_.open();
    for (std::size_t d = 0; d < program_.data.size(); ++d) {
      data_.emplace_back(program_.data[d], "h" + std::to_string(d),
                         folder + "/data" + std::to_string(d),
                         random.below(3) * 4096 + random.below(2) * 13);
      counters_.emplace_back(0);
    }
  }

  std::string label() const {
    std::string text = std::to_string(program_.threads.size()) + " threads";
    for (const Options& o : options_) {
      text += "; policy " + o.policy + ", " + std::to_string(o.workers) + " workers" +
              (o.submitter_works ? " with the submitter" : "") + ", " +
              std::to_string(o.accelerators) + " devices (" + o.accelerator_api + ") of " +
              std::to_string(o.accelerator_memory.value) + ", memory " +
              (o.memory ? std::to_string(o.memory->value) : "none") +
              (o.disk.empty() ? "" : " and disk") +
              (o.window_tasks > 0 || o.window_bytes.value > 0 ? ", window" : "") +
              (o.compute_priorities ? ", computed priorities" : "");
    }
    return text;
  }

  // `arm` is called before the threads begin, and what it returns lives until they have ended.
  void run(Watchdog& watchdog, const std::function<std::shared_ptr<void>()>& arm) {
    for (const Options& options : options_) {
      runtimes_.push_back(std::make_unique<Runtime>(options));
    }
    // To ask a runtime takes memory, and who watches cannot do without.
    if (faults_ != Faults::allocations) watchdog.set(runtimes_[0].get());
    register_all();
    play(arm);
    // Tasks that are under way may submit to the other runtime.
    if (orderly_ || runtimes_.size() > 1) {
      wait_for_all();
      check_statistics();
    }
    if (orderly_) finish_all();
    watchdog.set(nullptr);
    runtimes_.clear();
    if (!orderly_) check_homes();
    if (values_count()) account_.replay_all();
  }

 private:
  using Kind = ProgramStep::Kind;
  // --- the kernel
  static void compute(KernelContext& k) {
    const TaskRecord& record = *k.parameter<const TaskRecord*>();
    record.program->compute(k, const_cast<TaskRecord&>(record));
  }
  void compute(KernelContext& k, TaskRecord& record) {
    const ProgramTask& task = program_.tasks[record.task];
    EXPECT_FALSE(record.ran.exchange(true)) << "t" << record.task << " ran twice";
    if (faults_ == Faults::no) {
      for (const std::size_t before : task.after) {
        EXPECT_TRUE(account_.task(before).ran) << "t" << record.task << " ran before t" << before;
      }
    }
    for (volatile std::uint64_t left = task.spin; left > 0;) left = left - 1;
    if (task.scratch.value > 0) {
      fill(k.data<std::uint8_t>(task.accesses.size()), task.scratch.value, task.key);
    }
    std::uint64_t key = task.key;
    for (std::size_t i = 0; i < task.accesses.size(); ++i) {
      if (program_.data[task.accesses[i].data].shared()) {
        counter_of(k.operand(i));
      } else if (reads(task.accesses[i].mode)) {
        const Content content = gather(k.operand(i));
        key = mixed(key, content.data(), content.size());
      }
    }
    for (const std::size_t next : task.in_kernel) submit_late(next);
    if (task.scratch.value > 0) {  // nobody else has been there
      Content expected(task.scratch.value);
      fill(expected.data(), expected.size(), task.key);
      const std::uint8_t* const scratch = k.data<std::uint8_t>(task.accesses.size());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), scratch));
    }
    if (task.fails) throw std::runtime_error("t" + std::to_string(record.task) + " fails");
    for (std::size_t i = 0; i < task.accesses.size(); ++i) {
      if (!changes(task.accesses[i].mode)) continue;
      if (program_.data[task.accesses[i].data].shared()) {
        set_counter(k.operand(i), counter_of(k.operand(i)) + 1);
      } else {
        Content content(k.operand(i).layout.bytes().value);
        fill(content.data(), content.size(), key + i);
        scatter(content, k.operand(i));
      }
    }
  }

  static void set_to_zero(KernelContext& k) { set_counter(k.operand(0), 0); }
  static void add_other(KernelContext& k) {
    set_counter(k.operand(0), counter_of(k.operand(0)) + counter_of(k.operand(1)));
  }

  // --- what the application does
  void register_all() {
    for (std::size_t d = 0; d < data_.size(); ++d) {
      data_[d].register_with(of(d), d);
      // Counted up from 0.
      if (program_.data[d].shared() && !data_[d].has_home()) {
        const Acquired acquired = of(d).acquire(data_[d].handle(), AccessMode::W);
        set_counter(acquired.view(), 0);
      }
      if (program_.data[d].reduced) {
        of(d).set_reduction(data_[d].handle(), {.neutral = &neutral_, .combine = &combine_});
      }
    }
  }
  Runtime& of(std::size_t data) { return *runtimes_[program_.data[data].runtime]; }

  void play(const std::function<std::shared_ptr<void>()>& arm) {
    for (std::size_t i = 0; i < program_.threads.size() * runtimes_.size(); ++i) {
      groups_.emplace_back();
    }
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < program_.threads.size(); ++t) {
      threads.emplace_back([this, t, &go] {
        go.wait(false);
        play_thread(t);
      });
    }
    const std::shared_ptr<void> armed = arm();
    go.store(true);
    go.notify_all();
    play_thread(0);
    for (std::thread& thread : threads) thread.join();
  }
  void play_thread(std::size_t t) {
    for (const ProgramStep& step : program_.threads[t]) {
      guarded([&] { do_step(t, step); });
    }
  }
  // In a program with faults every call may say that something failed. What is called takes no memory of its own.
  template <typename Call>
  void guarded(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      threw_.store(true);
      if (faults_ == Faults::no) ADD_FAILURE() << error.what();
    } catch (const std::bad_alloc&) {
      threw_.store(true);
      if (faults_ != Faults::allocations) ADD_FAILURE() << "bad_alloc";
    } catch (const std::exception& error) {
      threw_.store(true);
      ADD_FAILURE() << error.what();
    }
  }

  void do_step(std::size_t thread, const ProgramStep& step) {
    Runtime& runtime = *runtimes_[step.runtime];
    ProgramDatum& datum = data_[step.data];
    Group& group = groups_[thread * runtimes_.size() + step.runtime];
    switch (step.kind) {
      case Kind::task:
        return submit(thread, step.task, &group);
      case Kind::acquire:
        return acquire(thread, step, &group);
      case Kind::wait_handle:
        return runtime.wait(datum.handle());
      case Kind::wait:
        return runtime.wait();
      case Kind::wait_group:
        return runtime.wait(group);
      case Kind::prefetch:
        return runtime.prefetch(datum.handle(), NodeId{step.node});
      case Kind::wont_use:
        return runtime.wont_use(datum.handle());
      case Kind::invalidate:
        runtime.invalidate(datum.handle());
        return account_.note(thread, {ProgramEvent::Kind::invalidated, step.data, 0});
      case Kind::renew:
        return renew(thread, step);
      case Kind::look:
        static_cast<void>(runtime.statistics());
        return;
      case Kind::cancel:
        return runtime.cancel();
      case Kind::retire:
        return runtime.unregister(datum.handle(), step.write_back);
    }
  }

  void submit(std::size_t thread, std::size_t t, Group* group) {
    account_.note(thread, {ProgramEvent::Kind::task, t, 0});
    submit(t, group);
  }
  void submit(std::size_t t, Group* group) {
    const ProgramTask& task = program_.tasks[t];
    TaskRecord& record = account_.task(t);
    record.program = this;
    record.task = t;
    std::vector<Operand> operands;
    for (const RandomAccess& access : task.accesses) {
      operands.push_back({data_[access.data].handle(), access.mode});
    }
    if (task.scratch.value > 0) operands.push_back(Scratch(task.scratch));
    std::vector<TaskId> after;
    for (const std::size_t before : task.after) {
      if (account_.task(before).submitted) after.push_back(account_.task(before).id);
    }
    TaskSpec spec;
    spec.codelet = &codelets_.of(options_[task.runtime])[task.codelet];
    spec.operands = operands;
    spec.parameters = static_cast<const TaskRecord*>(&record);
    spec.priority = task.priority;
    if (task.worker) spec.worker = WorkerId{*task.worker};
    if (task.node) spec.node = NodeId{*task.node};
    if (task.node && !task.accesses.empty()) {
      runtimes_[task.runtime]->advise(operands.front().handle, spec.node);
    }
    if (task.in_group) spec.group = group;
    spec.after = after;
    spec.on_end = [this, t](Outcome outcome) { ended(t, outcome); };
    if (task.key % 4 != 0) spec.name = "t" + std::to_string(t);
    const TaskId id = runtimes_[task.runtime]->submit(spec);
    submitted_.fetch_add(1);
    record.id = id;
    record.submitted.store(true);
  }
  // From a kernel or an on_end: shared data only.
  void submit_late(std::size_t t) {
    guarded([&] { submit(t, nullptr); });
  }
  void ended(std::size_t t, Outcome outcome) {
    EXPECT_EQ(account_.task(t).outcome.exchange(static_cast<int>(outcome)), -1)
        << "t" << t << " ended twice";
    ended_.fetch_add(1);
    const ProgramTask& task = program_.tasks[t];
    if (outcome == Outcome::done) {
      for (const RandomAccess& access : task.accesses) {
        if (program_.data[access.data].shared() && changes(access.mode)) {
          ++counters_[access.data];
        }
      }
    } else {
      incomplete_.store(true);
    }
    for (const std::size_t next : task.at_its_end) submit_late(next);
    if (task.end_throws) throw std::runtime_error("t" + std::to_string(t) + " does not end well");
  }

  void acquire(std::size_t thread, const ProgramStep& step, Group* group) {
    const std::size_t d = step.data;
    {
      const Acquired acquired = of(d).acquire(data_[d].handle(), step.mode);
      if (program_.data[d].shared()) {
        const std::uint64_t count = counter_of(acquired.view());
        if (writes(step.mode)) {
          set_counter(acquired.view(), count + 1);
          ++counters_[d];
        }
      } else {
        if (reads(step.mode)) {
          account_.note(thread, {ProgramEvent::Kind::saw, d, hash_of(gather(acquired.view()))});
        }
        if (writes(step.mode)) {
          const std::uint64_t key = 1'000'000 * (thread + 1) + account_.events(thread);
          Content content(program_.data[d].bytes);
          fill(content.data(), content.size(), key);
          scatter(content, acquired.view());
          account_.note(thread, {ProgramEvent::Kind::wrote, d, key});
        }
      }
      if (step.task != ProgramStep::kNone) submit(thread, step.task, group);
    }
  }
  void renew(std::size_t thread, const ProgramStep& step) {
    ProgramDatum& datum = data_[step.data];
    guarded([&] {
      of(step.data).unregister(datum.handle(), step.write_back);
      if (step.write_back == WriteBack::yes && datum.has_home() && account_.last_known(step.data)) {
        account_.note(thread, {ProgramEvent::Kind::saw, step.data, hash_of(datum.at_home())});
      }
    });
    const std::uint64_t key = 2'000'000 * (thread + 1) + account_.events(thread);
    datum.register_with(of(step.data), key);
    account_.note(thread, {ProgramEvent::Kind::registered, step.data, key});
  }

  void wait_for_all() {
    // Tasks of one runtime submit to the other, not further.
    for (int round = 0; round < 3; ++round) {
      for (auto& runtime : runtimes_) {
        guarded([&] { runtime->wait(); });
      }
    }
  }

  // --- what must hold
  void check_statistics() {
    std::uint64_t sum = 0;
    for (auto& runtime : runtimes_) {
      const Statistics s = runtime->statistics();
      sum += s.tasks_submitted;
      EXPECT_EQ(s.tasks_done + s.tasks_failed + s.tasks_cancelled, s.tasks_submitted);
      if (faults_ == Faults::no) {
        EXPECT_EQ(s.tasks_done, s.tasks_submitted);
      }
      for (std::size_t n = 0; n < s.nodes.size(); ++n) {
        if (const auto limit = runtime->machine().nodes[n].limit) {
          EXPECT_LE(s.nodes[n].peak, *limit) << runtime->machine().nodes[n].name;
        }
      }
    }
    EXPECT_GE(sum, submitted_);
    // Of planned tasks one may be refused after its submission, and the next wait says so.
    if (faults_ != Faults::allocations ||
        std::ranges::none_of(options_, [](const Options& o) { return o.compute_priorities; })) {
      EXPECT_EQ(ended_, submitted_);
    }
  }
  bool values_count() const { return faults_ != Faults::allocations || !threw_; }

  void finish_all() {
    for (std::size_t d = 0; d < data_.size(); ++d) {
      guarded([&] { finish(d); });
      if (faults_ != Faults::no) guarded([&] { forget(d); });
    }
  }
  // The result, as the user finds it.
  void finish(std::size_t d) {
    const Handle handle = data_[d].handle();
    const bool known = !(faults_ == Faults::no) || account_.last_known(d);
    if (known) {
      const Acquired acquired = of(d).acquire(handle, AccessMode::R);
      if (program_.data[d].shared()) {
        check_counter(d, counter_of(acquired.view()));
      } else {
        account_.note(program_.data[d].owner,
                      {ProgramEvent::Kind::saw, d, hash_of(gather(acquired.view()))});
      }
    }
    if (faults_ == Faults::no) forget(d);
  }
  void forget(std::size_t d) {
    of(d).unregister(data_[d].handle());
    if (!data_[d].has_home() || !account_.last_known(d)) return;
    check_home(d);
  }
  void check_homes() {
    if (faults_ != Faults::no) return;  // what failed is told to nobody here
    for (std::size_t d = 0; d < data_.size(); ++d) {
      if (data_[d].has_home() && account_.last_known(d)) check_home(d);
    }
  }
  void check_home(std::size_t d) {
    const Content content = data_[d].at_home();
    if (!program_.data[d].shared()) {
      account_.note(program_.data[d].owner, {ProgramEvent::Kind::saw, d, hash_of(content)});
    } else if (!content.empty()) {
      std::uint64_t count = 0;
      std::memcpy(&count, content.data(), 8);
      check_counter(d, count);
    }
  }
  void check_counter(std::size_t d, std::uint64_t count) {
    if (incomplete_ || !values_count() || program_.data[d].bytes == 0) return;
    EXPECT_EQ(count, counters_[d].load()) << data_[d].name();
  }
  const Faults faults_;
  RealCodelets codelets_;
  Codelet neutral_{.name = "neutral", .cpu = set_to_zero};
  Codelet combine_{.name = "combine", .cpu = add_other};
  std::vector<Options> options_;  // by runtime
  Program program_;
  bool orderly_ = true;  // else all is left to the destructors
  std::deque<ProgramDatum> data_;
  ProgramAccount account_{program_, data_, faults_};
  std::deque<std::atomic<std::uint64_t>> counters_;  // by data
  std::deque<Group> groups_;                         // by thread and runtime
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<bool> threw_{false};
  std::atomic<bool> incomplete_{false};
  std::vector<std::unique_ptr<Runtime>> runtimes_;
};

}  // namespace vicinal::testing
