// What a random program has done when it was played for real: what became of each task, and what each thread did and
// saw, in its order. What was computed is compared with the same tasks one after the other, thread by thread; what
// was not executed, because something failed or was cancelled, must have left no content behind.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "support/program_data.hpp"
#include "support/random_program.hpp"
#include "support/real_machine.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

class RealProgram;

// Of a task while it runs; stays where it is.
struct TaskRecord {
  RealProgram* program = nullptr;
  std::size_t task = 0;
  TaskId id;
  std::atomic<bool> submitted{false};
  std::atomic<bool> ran{false};
  std::atomic<int> outcome{-1};
};
// What a thread has done, in its order.
struct ProgramEvent {
  enum class Kind : std::uint8_t { task, saw, wrote, invalidated, registered } kind;
  std::size_t what = 0;     // task or data
  std::uint64_t value = 0;  // hash of the content seen, key of the content written
};

class ProgramAccount {
 public:
  // All of them outlive it.
  ProgramAccount(const Program& program, const std::deque<ProgramDatum>& data, Faults faults)
      : program_(program), data_(data), faults_(faults) {}

  // Once the program is made.
  void open() {
    records_ = std::vector<TaskRecord>(program_.tasks.size());
    events_.resize(program_.threads.size());
  }
  TaskRecord& task(std::size_t t) { return records_[t]; }
  void note(std::size_t thread, ProgramEvent event) { events_[thread].push_back(event); }
  // So far, by the thread.
  std::size_t events(std::size_t thread) const { return events_[thread].size(); }

  // Something has written it since it was registered or invalidated.
  bool last_known(std::size_t d) const {
    const ProgramData& data = program_.data[d];
    if (data.shared()) return true;
    bool known = data.home != Home::none;
    for (const ProgramEvent& event : events_[data.owner]) {
      if (event.kind == Kind::task) {
        const TaskRecord& record = records_[event.what];
        if (!record.submitted) continue;
        for (const RandomAccess& access : program_.tasks[event.what].accesses) {
          if (access.data == d && writes(access.mode)) {
            known = faults_ == Faults::no || record.outcome == static_cast<int>(Outcome::done);
          }
        }
      } else if (event.what == d) {
        if (event.kind == Kind::wrote) known = true;
        if (event.kind == Kind::invalidated) known = false;
        if (event.kind == Kind::registered) known = data.home != Home::none;
      }
    }
    return known;
  }
  // Each content seen is the content that the same tasks compute in sequence.
  void replay_all() const {
    for (std::size_t t = 0; t < events_.size(); ++t) replay(t);
  }

 private:
  using Kind = ProgramEvent::Kind;
  struct Expected {
    Content content;
    bool known = false;
  };
  void replay(std::size_t thread) const {
    std::vector<Expected> all(program_.data.size());
    for (std::size_t d = 0; d < all.size(); ++d) {
      if (program_.data[d].owner == thread) register_in(all[d], d, d);
    }
    for (const ProgramEvent& event : events_[thread]) {
      Expected& expected = all[event.kind == Kind::task ? 0 : event.what];
      switch (event.kind) {
        case Kind::task:
          replay_task(event.what, all);
          break;
        case Kind::saw:
          EXPECT_TRUE(expected.known) << data_[event.what].name() << " has a content";
          if (expected.known && event.value != hash_of(expected.content)) {
            ADD_FAILURE() << data_[event.what].name() << " of " << expected.content.size()
                          << " bytes is not what the sequence computes";
            return;  // and so is what follows from it
          }
          break;
        case Kind::wrote:
          fill(expected.content.data(), expected.content.size(), event.value);
          expected.known = true;
          break;
        case Kind::invalidated:
          expected.known = false;
          break;
        case Kind::registered:
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
  void replay_task(std::size_t t, std::vector<Expected>& all) const {
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

  const Program& program_;
  const std::deque<ProgramDatum>& data_;
  const Faults faults_;
  std::vector<TaskRecord> records_;
  std::vector<std::vector<ProgramEvent>> events_;  // by thread
};

}  // namespace vicinal::testing
