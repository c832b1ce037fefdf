// The owners of data, and what follows from the sequence of tasks: the rank of each task, the ranks between which a version
// goes, the copies that end. Each rank knows of a version only what it needs: the owner,
// to which ranks it has gone; another rank, whether it has it. All that is decided follows from the calls alone, so that
// ranks that make the same calls decide the same. No thread, no messages.
//
// After Agullo et al. 2017 (StarPU's model of distributed sequential task flow): a task runs where what it writes lives,
// and what it has written elsewhere goes back to the owner at once. So the owner has each version that is read later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "comm/rank_set.hpp"
#include "vicinal/access.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::comm {

// Data that all ranks know, counted from 0 in the order of their registration.
struct DatumId {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(DatumId, DatumId) = default;
};

// One operand of a task.
struct Use {
  DatumId datum;
  AccessMode mode = AccessMode::R;
};

// A version of a datum that goes from this rank, or to it.
struct Transfer {
  DatumId datum;
  std::uint32_t version = 0;  // writes before it, from 1
  RankId from;
  RankId to;
};

class Ownership {
 public:
  using BytesOf = std::function<Bytes(DatumId)>;
  // `bytes_of` is asked where several ranks could run a task.
  Ownership(RankId here, std::uint32_t ranks, BytesOf bytes_of)
      : here_(here), ranks_(ranks), bytes_of_(std::move(bytes_of)) {}

  // The next one. `written`: it has content, which its owner has.
  DatumId add(RankId owner, bool written);
  RankId owner(DatumId datum) const { return {data_[datum.value].owner}; }
  bool is_written(DatumId datum) const { return data_[datum.value].version > 0; }
  // This rank has the content that the next task of the sequence would read.
  bool has(DatumId datum) const;

  // Where a task with these operands runs: at the owner of what it writes; if there are several, at the one of them
  // with the fewest bytes to receive, counted from owner to owner. A task that writes nothing runs at the owner of an
  // operand, by the same rule; without operands on rank 0. Of equal ranks the first.
  RankId place(std::span<const Use> uses) const;

  // What a task means for this rank. The lists are valid until the next call.
  struct Effects {
    std::span<const Transfer> before;  // of what it reads
    std::span<const Transfer> after;   // of what it has written, to the owner
    std::span<const DatumId> stale;    // this rank's copies of content that is written elsewhere
  };
  // The task takes its place in the sequence, and runs there.
  Effects run(std::span<const Use> uses, RankId on);
  // All ranks do it, each with a copy of its own: the application's own access. Writers write the same everywhere.
  Effects run_everywhere(DatumId datum, AccessMode mode);
  // The content is void, or the datum is no more.
  void forget(DatumId datum);
  // No version that has gone to a rank so far is taken to be there any more. `stale` are this rank's.
  std::span<const DatumId> drop_copies();

  std::size_t size() const { return data_.size(); }

 private:
  struct Datum {
    std::uint32_t owner : 31 = 0;
    std::uint32_t is_listed : 1 = 0;  // in `copied_`
    std::uint32_t version = 0;        // 0: nobody has written it
    RankSet there;  // at the owner: the ranks to which the version has gone; elsewhere: this rank, if it has it
  };
  static_assert(sizeof(Datum) == 16);
  bool is_here(const Datum& datum) const { return datum.owner == here_.value || !datum.there.empty(); }
  void read(DatumId id, RankId on);
  void write(DatumId id, RankId on);
  void note_copy(DatumId id, Datum& datum, RankId rank);
  void clear();

  const RankId here_;
  const std::uint32_t ranks_;
  const BytesOf bytes_of_;
  std::vector<Datum> data_;
  std::vector<DatumId> copied_;  // all of which `there` is not empty, and some of which it is
  std::vector<Transfer> before_;
  std::vector<Transfer> after_;
  std::vector<DatumId> stale_;
};

}  // namespace vicinal::comm
