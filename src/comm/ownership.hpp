// The owners of data, and what follows from the sequence of tasks: the rank of each task, the ranks between which a version
// goes, the copies that end. Each rank knows of a version only what it needs: the owner,
// to which ranks it has gone; another rank, whether it has it. All that is decided follows from the calls alone, so that
// ranks that make the same calls decide the same. No thread, no messages.
//
// After Agullo et al. 2017 (StarPU's model of distributed sequential task flow): a task runs where what it writes lives,
// and what it has written elsewhere goes back to the owner at once. So the owner has each version that is read later.
//
// Data in parts. A part is a datum of its own, with the owner of the whole; there it lies in the whole, elsewhere it is a
// copy like any other, beside a copy of the whole, if there is one. A write of a datum therefore ends all copies of what
// it is a part of, and of its parts, parts of parts too, on all ranks but the owner, whose whole and parts the engine keeps
// equal. To divide a datum, and to take its parts back, ends no copy of the whole. What is written follows from
// where the content is, with the whole or with the parts, as for handles (graph::Holds).
//
// Tasks that reduce into a datum run on any ranks, each of which then has a partial result in place of a copy. All ranks
// know who contributes: by the first such task of each rank, and by the access that ends the contributions (see `gather`).
//
// A rank may leave out tasks that do not concern it (see `concerns`): what it knows is the same without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "comm/broadcast_trees.hpp"
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
  std::uint32_t version = 0;  // transfers from the one rank to the other so far, from 1
  RankId from;
  RankId to;
  // From the owner: none of this version has left before it, and with those that follow it may go as a broadcast.
  bool is_first = false;
  // From the owner: to how many ranks this version has gone then; 0: it goes to the owner.
  std::uint32_t reader = 0;
};

// What this rank has to do with the partial results of a datum. The lists are valid until the next call of Ownership.
struct Gathering {
  std::span<const Transfer> from;  // to be combined here, in this order
  std::optional<Transfer> to;  // then this rank's goes there; none: it has none, or it is the owner
};

class Ownership {
 public:
  Ownership(RankId here, std::uint32_t ranks)
      : here_(here), ranks_(ranks), sent_(ranks), received_(ranks) {}

  // The next one. `written`: it has content, which its owner has.
  DatumId add(RankId owner, Bytes bytes, bool written);
  RankId owner(DatumId datum) const { return {data_[datum.value].owner}; }
  Bytes bytes(DatumId datum) const { return sizes_[data_[datum.value].size]; }
  bool is_gone(DatumId datum) const { return data_[datum.value].is_gone != 0; }
  // What of the content nobody has written: the datum, or a part of it.
  std::optional<DatumId> unwritten(DatumId datum) const {
    const Datum& it = data_[datum.value];
    if (it.has_family == 0) [[likely]]
      return it.is_written != 0 ? std::nullopt : std::optional(datum);
    return unwritten_in_family(datum);
  }
  // This rank has the content that the next task of the sequence would read.
  bool has(DatumId datum) const;

  // The owner, another rank, if nothing else of the access concerns this rank. None: it may.
  std::optional<RankId> passes(DatumId datum, AccessMode mode) const {
    const Datum& it = data_[datum.value];
    const bool is_plain = (it.is_written & ~(it.has_family | it.is_gone | it.is_reduced) & 1U) != 0;
    if (!is_plain || it.owner == here_.value || (writes(mode) && !it.there.empty()))
      return std::nullopt;
    return RankId{it.owner};
  }
  // Where a task with these operands runs: at the owner of what it writes; if there are several, at the one of them
  // with the fewest bytes to receive, counted from owner to owner. A task that writes nothing runs at the owner of an
  // operand, by the same rule; without operands on rank 0. Of equal ranks the first. Data that it reduces into count if
  // there are no others.
  RankId place(std::span<const Use> uses) const;

  // What a task means for this rank. The lists are valid until the next call.
  struct Effects {
    std::span<const Transfer> before;  // of what it reads
    std::span<const Transfer> after;   // of what it has written, to the owner
    std::span<const DatumId> stale;    // this rank's copies of content that is written elsewhere
  };
  // The task takes its place in the sequence, and runs there. Reductions of data that it accesses otherwise
  // have ended (gather).
  Effects run(std::span<const Use> uses, RankId on);
  // All ranks do it, each with a copy of its own: the application's own access. Writers write the same everywhere.
  Effects run_everywhere(DatumId datum, AccessMode mode);
  // The content is void. Returned: this rank's copies that end with it, of its wholes and of its parts.
  std::span<const DatumId> forget(DatumId datum);
  // The datum is no more, with its parts. Returned: these.
  std::span<const DatumId> remove(DatumId datum);

  // The next data are parts of the whole, which has content or not. `writable`: else they are only read.
  DatumId divide(DatumId whole, std::span<const Bytes> parts, bool writable);
  // The parts among which this one is are no more, and the whole has the content. Returned: they, and parts of them.
  std::span<const DatumId> join(DatumId part);
  bool is_part(DatumId datum) const;
  DatumId whole_of(DatumId part) const { return family(part)->of->whole; }
  bool was_in_family(DatumId datum) const { return data_[datum.value].has_family != 0; }
  // It is a part, or a part of one, of a division whose parts are only read.
  bool is_read_only(DatumId datum) const;
  // The one is a part of the other, perhaps of parts.
  bool is_within(DatumId part, DatumId whole) const;
  // Tasks have reduced into the datum since the last access of another kind.
  bool is_reduced(DatumId datum) const { return data_[datum.value].is_reduced != 0; }
  // Before that access: the partial results come together at the owner, along a tree of those who have one.
  Gathering gather(DatumId datum, const Tree& tree);
  // The task would run here, or this rank would send or receive something for it, or end a copy, or has to know that it
  // writes: because nobody has before, or it writes data in parts; or that partial results begin, or come together.
  bool concerns(std::span<const Use> uses, RankId on) const;
  // No version that has gone to a rank so far is taken to be there any more. `stale` are this rank's.
  std::span<const DatumId> drop_copies();

  std::size_t size() const { return data_.size(); }

 private:
  struct Datum {
    std::uint32_t owner : 25 = 0;
    std::uint32_t has_left : 1 = 0;  // at the owner: the version, for some rank
    std::uint32_t is_from_there : 1 =
        0;  // at the owner: one of `there` has written it, and was sent nothing
    std::uint32_t is_listed : 1 = 0;  // in `copied_`
    std::uint32_t is_written : 1 =
        0;  // somebody has; of data in parts: where the whole has the content
    std::uint32_t has_family : 1 = 0;  // it is a part, or was in parts
    std::uint32_t is_gone : 1 = 0;
    std::uint32_t is_reduced : 1 = 0;  // it is in `contributors_`
    std::uint32_t size = 0;            // its number among `sizes_`
    RankSet
        there;  // at the owner: the ranks to which the version has gone; elsewhere: this rank, if it has it
  };
  static_assert(sizeof(Datum) == 16);
  struct Division {
    DatumId whole;
    DatumId first;
    std::uint32_t count = 0;
    bool writable = true;
    enum class Holds : std::uint8_t { whole, both, parts } holds = Holds::whole;
  };
  struct Family {
    Division* of = nullptr;  // null: it is no part
    std::vector<std::unique_ptr<Division>> divided;
  };
  using Holds = Division::Holds;
  const Family* family(DatumId id) const;
  Family* family(DatumId id);
  std::optional<DatumId> unwritten_in_family(DatumId id) const;
  std::optional<DatumId> unwritten_below(DatumId id) const;
  bool is_written_above(DatumId id) const;
  void settle(DatumId id, AccessMode mode);
  void open(Division& division, bool writes);
  void close(Division& division, AccessMode mode);
  void close_all(DatumId id, AccessMode mode);
  void outdate_relatives(DatumId id);
  void outdate_below(DatumId id);
  void outdate(DatumId id);
  void remove_parts(const Division& division);
  void mark_gone(DatumId id);

  bool is_here(const Datum& datum) const {
    return datum.owner == here_.value || !datum.there.empty();
  }
  void read(DatumId id, RankId on);
  void write(DatumId id, RankId on);
  void reduce(DatumId id, RankId on);
  bool contributes(DatumId id, RankId rank) const;
  void note_copy(DatumId id, Datum& datum, RankId rank);
  Transfer numbered(DatumId id, RankId from, RankId to);
  void clear();

  const RankId here_;
  const std::uint32_t ranks_;
  std::vector<Datum> data_;
  std::vector<Bytes> sizes_;  // different ones
  std::unordered_map<std::uint64_t, std::uint32_t> size_numbers_;
  std::unordered_map<std::uint32_t, Family> families_;
  std::unordered_map<std::uint32_t, RankSet> contributors_;  // by datum, from the first on
  std::vector<std::uint32_t> sent_;                          // transfers, by rank
  std::vector<std::uint32_t> received_;                      // them
  std::vector<DatumId> copied_;  // all of which `there` is not empty, and some of which it is
  std::vector<Transfer> before_;
  std::vector<Transfer> after_;
  std::vector<DatumId> stale_;
  std::vector<DatumId> gone_;
};

}  // namespace vicinal::comm
