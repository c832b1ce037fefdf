// The calls of an application on several ranks beside tasks and waits: each decides from the calls alone, as all ranks do,
// and then does what is to be done here.
#include <utility>

#include "comm/reduction_trees.hpp"
#include "graph/partition.hpp"
#include "runtime/rank_sequence.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

bool RankSequence::is_shared(Handle handle, const char* call) const {
  if (!is_shared(handle)) return false;
  if (ownership_.is_gone(datum(handle))) throw_gone(call, datum(handle));
  return true;
}

void RankSequence::invalidate(Handle handle) {
  const comm::DatumId id = datum(handle);
  require_may_write(id);
  record([&] { calls_.forgets(id); });
  end_reduction(id, 0);
  const Handle local = application_.declared.used(handle);
  invalidate(ownership_.forget(id));
  if (local) here_alone([&] { application_.invalidations.submit(local); });
}

// It changes how its owner sends, and nothing that other ranks would have to know.
void RankSequence::announce_readers(Handle handle, std::uint32_t readers) {
  const comm::DatumId id = datum(handle);
  if (ownership_.owner(id) == here()) progress_.announce_readers(id, readers);
}

Parts RankSequence::partition(Handle whole, const Divide& divide, PartAccess access) {
  const comm::DatumId id = datum(whole);
  const std::string name = name_of(id);
  const Layout layout = application_.declared.layout(id.value);
  Divided made{divide(layout), access == PartAccess::writable, 0};
  const std::vector<Block>& blocks = made.division.blocks;
  graph::check_division(made.division, layout, name);
  if (reductions_.contains(id.value)) {
    throw UsageError("partition: tasks may reduce into handle " + name +
                     ", which cannot be in parts then; divide another handle");
  }
  std::vector<Divided>& others = divided_[id.value];
  for (const Divided& other : others) {
    if (!made.writable && !other.writable) continue;
    graph::check_apart(made.division, name, other.division.blocks, [&](std::size_t part) {
      return name_of({other.first + static_cast<std::uint32_t>(part)});
    });
  }
  record([&] { calls_.partitions(id, blocks.size(), made.writable); });
  Parts local;
  if (ownership_.owner(id) == here()) {
    local = here_alone([&] {
      return application_.partitions.partition(
          application_.declared.local(whole, "partition"),
          [&](const Layout&) { return made.division; }, access);
    });
  }
  std::vector<Handle> handles;
  std::vector<Bytes> bytes;
  here_alone([&] {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Layout part = graph::layout_of(blocks[i], layout).packed();
      handles.push_back(application_.declared.declare(
          part, graph::name_of_part(name, i, blocks.size(), made.division.grid_rows),
          local.size() > 0 ? local[i] : Handle{}));
      bytes.push_back(part.bytes());
      has_home_.push_back(false);
    }
    made.first = ownership_.divide(id, bytes, made.writable).value;
  });
  const std::size_t grid_rows = made.division.grid_rows;
  others.push_back(std::move(made));
  return {std::move(handles), grid_rows};
}

// The copy here goes when the tasks before that use it have ended.
void RankSequence::release_copy(comm::DatumId id) {
  const Handle name = application_.declared.name(id.value);
  const Handle local = application_.declared.used(name);
  application_.declared.forget(name);
  if (!local || ownership_.owner(id) == here()) return;
  application_.invalidations.submit(local);
  application_.departures.add(local);
  application_.departures.sweep_if_many();
}

void RankSequence::release_parts(std::span<const comm::DatumId> gone) {
  for (const comm::DatumId part : gone) {
    divided_.erase(part.value);
    release_copy(part);
  }
}

void RankSequence::unpartition(const Parts& parts) {
  const comm::DatumId id = datum(parts[0]);
  if (!ownership_.is_part(id)) {
    throw UsageError("unpartition: handle " + name_of(id) + " is no part of another");
  }
  record([&] { calls_.unpartitions(id); });
  here_alone([&] {
    if (ownership_.owner(id) == here()) {
      application_.partitions.unpartition(Parts({application_.declared.used(parts[0])}, 0));
    }
    std::erase_if(divided_[ownership_.whole_of(id).value], [&](const Divided& one) {
      return id.value >= one.first && id.value - one.first < one.division.blocks.size();
    });
    release_parts(ownership_.join(id));
  });
}

void RankSequence::set_reduction(Handle handle, const Reduction& reduction) {
  const comm::DatumId id = datum(handle);
  const std::string what = "set_reduction: handle " + name_of(id);
  if (reduction.neutral == nullptr || reduction.combine == nullptr) {
    throw UsageError(what + " needs a codelet that sets the neutral element and one that combines");
  }
  if (reductions_.contains(id.value)) {
    throw UsageError(what + " has a reduction already; a handle has one until it is unregistered");
  }
  if (ownership_.was_in_family(id)) {
    throw UsageError(
        what +
        " is in parts, was so, or is a part of another: tasks cannot reduce into it; register "
        "data of their own for that");
  }
  // Ranks with different trees would wait for each other.
  record([&] { calls_.reduces(id, comm::number_of_reduction_tree(reduction_tree_)); });
  reductions_.emplace(id.value, Reduced{reduction, ownership_.owner(id) == here()});
}

void RankSequence::combine(Handle handle) {
  const comm::DatumId id = datum(handle);
  record([&] { calls_.combines(id); });
  end_reduction(id, 0);
  if (ownership_.owner(id) != here()) return;
  const Handle local = application_.declared.used(handle);
  if (local) here_alone([&] { application_.reductions.combine(local); });
}

void RankSequence::release_later(Handle handle) {
  const comm::DatumId id = datum(handle);
  if (ownership_.is_part(id) || ownership_.was_in_family(id) || reductions_.contains(id.value)) {
    throw UsageError(
        "release_later: handle " + name_of(id) +
        " is a part or in parts, or tasks reduce into it; use release, or of parts unpartition");
  }
  if (has_home_[id.value]) {
    throw UsageError(
        "release_later: handle " + name_of(id) +
        " lies in memory or a file of the application, which is up to date only when somebody has "
        "waited for it; use release");
  }
  record([&] { calls_.forgets(id); });
  ownership_.remove(id);
  const Handle local = application_.declared.used(handle);
  application_.declared.forget(handle);
  if (!local) return;
  here_alone([&] {
    application_.invalidations.submit(local);
    application_.departures.add(local);
    application_.departures.sweep_if_many();
  });
}

void RankSequence::begin_unregister(Handle handle, const char* call) {
  const comm::DatumId id = datum(handle);
  if (ownership_.is_part(id)) {
    throw UsageError(std::string(call) + ": handle " + name_of(id) +
                     " is a part of another; take the partition back (unpartition)");
  }
  record([&] { calls_.forgets(id); });
  end_reduction(id, 0);
  reductions_.erase(id.value);
  divided_.erase(id.value);
  here_alone([&] { release_parts(ownership_.remove(id)); });
}

}  // namespace vicinal::runtime
