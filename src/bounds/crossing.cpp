#include "bounds/crossing.hpp"

#include <vector>

#include "graph/combinations.hpp"

namespace vicinal::bounds {

namespace {

// The content of a datum from one write to the next.
struct Version {
  Side made = Side::either;
  bool crossed = false;  // then there are copies on both sides
  bool written = false;  // by a task
};

struct Count {
  Bytes in;
  Bytes out;
};

void read(Version& version, Side reader, Bytes size, Count& count) {
  if (version.crossed || reader == Side::either || version.made == Side::either) return;
  if (reader == version.made) return;
  (reader == Side::inside ? count.in : count.out) += size;
  version.crossed = true;
}

// What tasks that can compute on one side alone have reduced into a datum since the last combination.
struct Reduced {
  bool inside = false;
  bool outside = false;
};

// All reads of a task come before its writes, in whatever order it names them.
void run(Side side, std::span<const graph::Graph::Access> accesses, std::span<const DatumUse> data,
         std::span<Version> versions, std::span<Reduced> reduced, Count& count) {
  for (const auto& [d, mode] : accesses) {
    if (reads(mode)) read(versions[d], side, data[d].size, count);
    if (mode != AccessMode::reduction) continue;
    reduced[d].inside |= side == Side::inside;
    reduced[d].outside |= side == Side::outside;
  }
  for (const auto& [d, mode] : accesses) {
    if (leaves_content(mode)) versions[d] = {.made = side, .crossed = false, .written = true};
  }
}

// Whatever went from copy to copy before: what was made on one side must get to the other.
void combine(Side side, Bytes size, bool accumulates, Version& version, Reduced& reduced,
             Count& count) {
  if (accumulates) read(version, side, size, count);
  if (side == Side::inside && reduced.outside) count.in += size;
  if (side == Side::outside && reduced.inside) count.out += size;
  reduced = {};
  version = {.made = side, .crossed = false, .written = true};
}

void end(std::span<const DatumUse> data, std::span<const Version> versions,
         std::optional<Bytes> room, Count& count) {
  Bytes may_stay;
  for (std::size_t d = 0; d < data.size(); ++d) {
    const Version& version = versions[d];
    if (!version.written || version.crossed || version.made != Side::inside) continue;
    if (data[d].finally == FinalPlace::outside) count.out += data[d].size;
    if (data[d].finally == FinalPlace::anywhere) may_stay += data[d].size;
  }
  if (room && may_stay > *room) count.out += may_stay - *room;
}

}  // namespace

Crossings compulsory_crossings(const graph::Graph& graph, std::span<const Side> sides,
                               std::span<const DatumUse> data, std::optional<Bytes> room) {
  std::vector<Version> versions(data.size());
  for (std::size_t d = 0; d < data.size(); ++d) versions[d].made = data[d].initially;
  std::vector<Reduced> reduced(graph.reductions().empty() ? 0 : data.size());
  const std::vector<graph::Combination> combinations = graph::combinations_of(graph);
  auto next = combinations.begin();
  Count count;
  const auto combine_before = [&](std::size_t task) {
    for (; next != combinations.end() && next->before == task; ++next) {
      const auto& [d, neutral, kernel] = graph.reductions()[next->reduction];
      combine(sides[kernel], data[d].size, next->accumulates, versions[d], reduced[d], count);
    }
  };
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    combine_before(t);
    const graph::Graph::Task& task = graph.tasks()[t];
    run(sides[task.kernel], graph.accesses_of(task), data, versions, reduced, count);
  }
  combine_before(graph.tasks().size());
  end(data, versions, room, count);
  return {.in = {.value = count.in, .leading = {}, .name = "compulsory loads", .source = kCounting},
          .out = {.value = count.out,
                  .leading = {},
                  .name = "compulsory write-backs",
                  .source = kCounting}};
}

}  // namespace vicinal::bounds
