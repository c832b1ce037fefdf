// Plays a random program for real: threads, workers, accelerators, disk. What was computed is compared
// with the same tasks one after the other, thread by thread; what was not executed, because something
// failed or was cancelled, must have left no content behind.
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
#include "support/program_data.hpp"
#include "support/random_machine.hpp"
#include "support/random_program.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

enum class Faults : std::uint8_t { no, failures, allocations };

class RealProgram {
 public:
  RealProgram(std::uint64_t seed, const std::string& folder, Faults faults)
      : folder_(folder), faults_(faults) {
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
    make_codelets(random);
    std::vector<ProgramPlace> places;
    for (std::uint32_t r = 0; r < runtimes; ++r) {
      options_.push_back(random_options(random, shape, runtimes));
      places.push_back(place(options_.back()));
    }
    program_ = ProgramMaker(seed, shape, places).make();
    for (std::uint32_t r = 0; r < runtimes; ++r) set_limits(options_[r], places[r], random);
    orderly_ = !chance(random, 3);
    records_ = std::vector<Record>(program_.tasks.size());
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
              std::to_string(o.accelerators) + " devices of " +
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
    replay_all();
  }

 private:
  using Kind = ProgramStep::Kind;
  // Of a task while it runs; stays where it is.
  struct Record {
    RealProgram* program = nullptr;
    std::size_t task = 0;
    TaskId id;
    std::atomic<bool> submitted{false};
    std::atomic<bool> ran{false};
    std::atomic<int> outcome{-1};
    std::vector<RandomAccess> accesses;
  };
  // What a thread has done, in its order.
  struct Event {
    enum class Kind : std::uint8_t { task, saw, wrote, invalidated, registered } kind;
    std::size_t what = 0;     // task or data
    std::uint64_t value = 0;  // hash of what it saw, key of what it wrote
  };

  // --- what it runs on
  void make_codelets(base::Random& random) {
    for (int i = 0; i < 6; ++i) {
      Codelet codelet;
      codelet.name = "codelet" + std::to_string(i);
      if (i % 3 != 1) codelet.cpu = compute;
      if (i % 3 != 0) codelet.kernels[ProcessorKind::emulated] = compute;
      if (!chance(random, 3)) {
        codelet.expected[0] = Time{static_cast<std::int64_t>(between(random, 100, 1e7))};
      }
      if (!chance(random, 3)) {
        codelet.expected[1] = Time{static_cast<std::int64_t>(between(random, 100, 1e7))};
      }
      codelets_.push_back(codelet);
      if (codelet.cpu) on_cores_.push_back(codelet);
    }
  }
  Options random_options(base::Random& random, const ProgramShape& shape, std::uint32_t runtimes) {
    Options o = random_common_options(random);
    o.bind = false;
    o.workers = 1 + below32(random, 4);
    o.submitter_works = chance(random, 2);
    if (!chance(random, 3)) o.disk = folder_;
    o.direct_io = !chance(random, 4);
    o.disk_copies = 1 + below32(random, 4);
    o.accelerators = chance(random, 2) ? 0 : 1 + below32(random, 3);
    if (chance(random, 6)) o.accelerator_bandwidth = BytesPerSecond{between(random, 1e8, 1e10)};
    if (chance(random, 8)) o.models = folder_;
    // Two that wait for each other's windows may wait for ever.
    if (runtimes > 1 || (faults_ != Faults::no && excluded().window_with_failures)) {
      o.window_tasks = 0;
      o.window_bytes = Bytes{0};
    }
    const bool several = shape.threads > 1 || runtimes > 1;
    if (several && excluded().computed_priorities_of_threads) o.compute_priorities = false;
    return o;
  }
  ProgramPlace place(const Options& options) {
    ProgramPlace place;
    for (std::uint32_t w = 0; w < options.workers; ++w) {
      place.workers.push_back({WorkerId{w}, ProcessorKind::cpu, kRam});
    }
    if (!options.disk.empty()) place.disk = place.nodes++;
    for (std::uint32_t a = 0; a < options.accelerators; ++a) {
      place.workers.push_back(
          {WorkerId{options.workers + a}, ProcessorKind::emulated, NodeId{place.nodes++}});
    }
    place.codelets = options.accelerators > 0 ? &codelets_ : &on_cores_;
    place.window = options.window_tasks > 0 || options.window_bytes.value > 0;
    return place;
  }
  static void set_limits(Options& options, const ProgramPlace& place, base::Random& random) {
    const std::uint32_t first = place.disk ? 2 : 1;
    options.accelerator_memory = Bytes{4096};
    for (std::uint32_t n = first; n < place.nodes; ++n) {
      options.accelerator_memory = std::max(options.accelerator_memory, place.least[n]);
    }
    if (chance(random, 4)) return;
    options.memory = place.disk ? place.least[0] : std::max(place.least[0], place.unhomed);
  }

  // --- the kernel
  static void compute(KernelContext& k) {
    const Record& record = *k.parameter<const Record*>();
    record.program->compute(k, const_cast<Record&>(record));
  }
  void compute(KernelContext& k, Record& record) {
    const ProgramTask& task = program_.tasks[record.task];
    EXPECT_FALSE(record.ran.exchange(true)) << "t" << record.task << " ran twice";
    if (faults_ == Faults::no) {
      for (const std::size_t before : task.after) {
        EXPECT_TRUE(records_[before].ran) << "t" << record.task << " ran before t" << before;
      }
    }
    for (volatile std::uint64_t left = task.spin; left > 0;) left = left - 1;
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
    if (task.fails) throw std::runtime_error("t" + std::to_string(record.task) + " fails");
    for (std::size_t i = 0; i < task.accesses.size(); ++i) {
      if (!writes(task.accesses[i].mode)) continue;
      if (program_.data[task.accesses[i].data].shared()) {
        set_counter(k.operand(i), counter_of(k.operand(i)) + 1);
      } else {
        Content content(k.operand(i).layout.bytes().value);
        fill(content.data(), content.size(), key + i);
        scatter(content, k.operand(i));
      }
    }
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
    }
  }
  Runtime& of(std::size_t data) { return *runtimes_[program_.data[data].runtime]; }

  void play(const std::function<std::shared_ptr<void>()>& arm) {
    events_.resize(program_.threads.size());
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
  void note(std::size_t thread, Event event) { events_[thread].push_back(event); }

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
        return note(thread, {Event::Kind::invalidated, step.data, 0});
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
    note(thread, {Event::Kind::task, t, 0});
    submit(t, group);
  }
  void submit(std::size_t t, Group* group) {
    const ProgramTask& task = program_.tasks[t];
    Record& record = records_[t];
    record.program = this;
    record.task = t;
    std::vector<Operand> operands;
    for (const RandomAccess& access : task.accesses) {
      operands.push_back({data_[access.data].handle(), access.mode});
    }
    std::vector<TaskId> after;
    for (const std::size_t before : task.after) {
      if (records_[before].submitted) after.push_back(records_[before].id);
    }
    TaskSpec spec;
    spec.codelet =
        &(*(options_[task.runtime].accelerators > 0 ? &codelets_ : &on_cores_))[task.codelet];
    spec.operands = operands;
    spec.parameters = static_cast<const Record*>(&record);
    spec.priority = task.priority;
    if (task.worker) spec.worker = WorkerId{*task.worker};
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
    EXPECT_EQ(records_[t].outcome.exchange(static_cast<int>(outcome)), -1)
        << "t" << t << " ended twice";
    ended_.fetch_add(1);
    const ProgramTask& task = program_.tasks[t];
    if (outcome == Outcome::done) {
      for (const RandomAccess& access : task.accesses) {
        if (program_.data[access.data].shared() && writes(access.mode)) ++counters_[access.data];
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
          note(thread, {Event::Kind::saw, d, hash_of(gather(acquired.view()))});
        }
        if (writes(step.mode)) {
          const std::uint64_t key = 1'000'000 * (thread + 1) + events_[thread].size();
          Content content(program_.data[d].bytes);
          fill(content.data(), content.size(), key);
          scatter(content, acquired.view());
          note(thread, {Event::Kind::wrote, d, key});
        }
      }
      if (step.task != ProgramStep::kNone) submit(thread, step.task, group);
    }
  }
  void renew(std::size_t thread, const ProgramStep& step) {
    ProgramDatum& datum = data_[step.data];
    guarded([&] {
      of(step.data).unregister(datum.handle(), step.write_back);
      if (step.write_back == WriteBack::yes && datum.has_home() && last_known(step.data)) {
        note(thread, {Event::Kind::saw, step.data, hash_of(datum.at_home())});
      }
    });
    const std::uint64_t key = 2'000'000 * (thread + 1) + events_[thread].size();
    datum.register_with(of(step.data), key);
    note(thread, {Event::Kind::registered, step.data, key});
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
    const bool known = !(faults_ == Faults::no) || last_known(d);
    if (known) {
      const Acquired acquired = of(d).acquire(handle, AccessMode::R);
      if (program_.data[d].shared()) {
        check_counter(d, counter_of(acquired.view()));
      } else {
        note(program_.data[d].owner, {Event::Kind::saw, d, hash_of(gather(acquired.view()))});
      }
    }
    if (faults_ == Faults::no) forget(d);
  }
  void forget(std::size_t d) {
    of(d).unregister(data_[d].handle());
    if (!data_[d].has_home() || !last_known(d)) return;
    check_home(d);
  }
  void check_homes() {
    if (faults_ != Faults::no) return;  // what failed is told to nobody here
    for (std::size_t d = 0; d < data_.size(); ++d) {
      if (data_[d].has_home() && last_known(d)) check_home(d);
    }
  }
  void check_home(std::size_t d) {
    const Content content = data_[d].at_home();
    if (!program_.data[d].shared()) {
      note(program_.data[d].owner, {Event::Kind::saw, d, hash_of(content)});
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
  // Something has written it since it was registered or invalidated.
  bool last_known(std::size_t d) const {
    const ProgramData& data = program_.data[d];
    if (data.shared()) return true;
    bool known = data.home != Home::none;
    for (const Event& event : events_[data.owner]) {
      if (event.kind == Event::Kind::task) {
        const Record& record = records_[event.what];
        if (!record.submitted) continue;
        for (const RandomAccess& access : program_.tasks[event.what].accesses) {
          if (access.data == d && writes(access.mode)) {
            known = faults_ == Faults::no || record.outcome == static_cast<int>(Outcome::done);
          }
        }
      } else if (event.what == d) {
        if (event.kind == Event::Kind::wrote) known = true;
        if (event.kind == Event::Kind::invalidated) known = false;
        if (event.kind == Event::Kind::registered) known = data.home != Home::none;
      }
    }
    return known;
  }

  // --- the same, one after the other
  void replay_all() {
    if (!values_count()) return;
    for (std::size_t t = 0; t < events_.size(); ++t) replay(t);
  }
  struct Expected {
    Content content;
    bool known = false;
  };
  void replay(std::size_t thread) {
    std::vector<Expected> all(program_.data.size());
    for (std::size_t d = 0; d < all.size(); ++d) {
      if (program_.data[d].owner == thread) register_in(all[d], d, d);
    }
    for (const Event& event : events_[thread]) {
      Expected& expected = all[event.kind == Event::Kind::task ? 0 : event.what];
      switch (event.kind) {
        case Event::Kind::task:
          replay_task(event.what, all);
          break;
        case Event::Kind::saw:
          EXPECT_TRUE(expected.known) << data_[event.what].name() << " has a content";
          if (expected.known && event.value != hash_of(expected.content)) {
            ADD_FAILURE() << data_[event.what].name() << " of " << expected.content.size()
                          << " bytes is not what the sequence computes";
            return;  // and so is what follows from it
          }
          break;
        case Event::Kind::wrote:
          fill(expected.content.data(), expected.content.size(), event.value);
          expected.known = true;
          break;
        case Event::Kind::invalidated:
          expected.known = false;
          break;
        case Event::Kind::registered:
          register_in(expected, event.what, event.value);
          break;
      }
    }
  }
  void register_in(Expected& expected, std::size_t d, std::uint64_t key) const {
    expected.content.resize(program_.data[d].bytes);
    fill(expected.content.data(), expected.content.size(), key);
    expected.known = program_.data[d].home != Home::none;
  }
  void replay_task(std::size_t t, std::vector<Expected>& all) {
    if (!records_[t].submitted) return;  // refused
    const ProgramTask& task = program_.tasks[t];
    const bool done = records_[t].outcome == static_cast<int>(Outcome::done);
    std::uint64_t key = task.key;
    for (const RandomAccess& access : task.accesses) {
      Expected& read = all[access.data];
      if (!done || program_.data[access.data].shared() || !reads(access.mode)) continue;
      EXPECT_TRUE(read.known || named_before(task, access))
          << "t" << t << " ran, though " << data_[access.data].name() << " had no content";
      key = mixed(key, read.content.data(), read.content.size());
    }
    for (std::size_t i = 0; i < task.accesses.size(); ++i) {
      Expected& written = all[task.accesses[i].data];
      if (program_.data[task.accesses[i].data].shared() || !writes(task.accesses[i].mode)) continue;
      written.known = done;
      if (done) fill(written.content.data(), written.content.size(), key + i);
    }
  }
  static bool named_before(const ProgramTask& task, const RandomAccess& access) {
    return &task.accesses[0] != &access && std::ranges::any_of(task.accesses, [&](const auto& a) {
      return &a < &access && a.data == access.data;
    });
  }

  const std::string folder_;
  const Faults faults_;
  std::vector<Codelet> codelets_;
  std::vector<Codelet> on_cores_;  // those of them that run on any machine
  std::vector<Options> options_;   // by runtime
  Program program_;
  bool orderly_ = true;  // else all is left to the destructors
  std::vector<Record> records_;
  std::deque<ProgramDatum> data_;
  std::deque<std::atomic<std::uint64_t>> counters_;  // by data
  std::vector<std::vector<Event>> events_;           // by thread
  std::deque<Group> groups_;                         // by thread and runtime
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<bool> threw_{false};
  std::atomic<bool> incomplete_{false};
  std::vector<std::unique_ptr<Runtime>> runtimes_;
};

}  // namespace vicinal::testing
