// Several ranks: processes that run the same program, each on memory of its own, perhaps on several hosts.
//
//   const vicinal::Ranks ranks = vicinal::Ranks::launched();      // mpirun -n 4 program, or srun
//   vicinal::Runtime runtime({.policy = "lws"}, ranks);
//   auto x = runtime.register_empty(vicinal::RankId{2}, size, "x");  // rank 2 owns it
//   runtime.submit({.codelet = &fill, .operands = {W(x)}});          // runs on rank 2
//   runtime.submit({.codelet = &use, .operands = {R(x), RW(y)}});    // on y's owner, which receives x
//   runtime.wait();
//
// Every rank makes the same calls in the same order: it registers all data and submits all tasks. A task runs on one
// rank: the owner of its written data, or TaskSpec::rank; the others drop it at once. What a task reads is sent to its
// rank once per version, and what it has written elsewhere goes back to the owner. After Agullo et al. 2017, and
// Swartvagher 2023, chapter 1.
//
// The other calls, which all ranks make, too, and which are refused on all alike:
//  - Parts of data are data with the owner of the whole, and sent one by one. A write of a part ends the other ranks' copies
//    of the whole, and a write of the whole those of its parts; to divide data, and to take parts back, sends nothing.
//  - Tasks that reduce into data run where their other operands send them, or on the owner if they have none. What those of a
//    rank have reduced comes to the owner along a tree of ranks (Options::reduction_tree), before the next access that is
//    no reduction; wait for a handle combines what this rank has.
//  - A recursive task is divided on its rank, and what it submits is that rank's own, as all that is submitted inside a task.
//  - acquire, read and write, and get of a Result, bring the content to all ranks; a writer writes the same on all.
//  - wait for everything waits for what this rank runs, sends and receives; wait for a handle or a group, wait_for and ready
//    for that alone: they say nothing of other ranks. A group counts this rank's tasks.
//  - prefetch, wont_use and advise count where the data are: on the owner, and where there is a copy.
//  - A task may be declared `after` tasks of its own rank; data order it behind those of others.
//  - cancel() ends the run on all ranks, with an error; the tasks of one group cannot be cancelled.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "vicinal/ids.hpp"
#include "vicinal/options.hpp"

namespace vicinal {

namespace internals {
struct RanksImpl;
struct RanksOpener;
}  // namespace internals

// How this process reaches the other ranks. Made once, before the first runtime that uses them, and given to each, one
// after another; a small value.
class Ranks {
 public:
  // This process alone.
  Ranks() = default;
  // Those with which mpirun or srun has started this process; alone if it was not started so. Of the options `mpi` counts.
  // Throws UsageError if the launcher is of an MPI for which Vicinal was not built, Error if it fails.
  static Ranks launched(const Options& options = Options::from_environment());
  // From 0 on.
  RankId rank() const;
  // How many there are; 1: this process alone.
  std::uint32_t count() const;
  // How many of them share this host with this one, itself included, as the launcher says; 1 if it does not say.
  std::uint32_t on_this_host() const;

 private:
  friend class Runtime;
  friend struct internals::RanksOpener;
  explicit Ranks(std::shared_ptr<internals::RanksImpl> progress) : progress_(std::move(progress)) {}
  std::shared_ptr<internals::RanksImpl> progress_;  // null: alone
};

}  // namespace vicinal
