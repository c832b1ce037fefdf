#include "bounds/crossing.hpp"

#include <vector>

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

// All reads of a task come before its writes, in whatever order it names them.
void run(Side side, std::span<const graph::Graph::Access> accesses, std::span<const DatumUse> data,
         std::span<Version> versions, Count& count) {
  for (const auto& [d, mode] : accesses) {
    if (reads(mode)) read(versions[d], side, data[d].size, count);
  }
  for (const auto& [d, mode] : accesses) {
    if (leaves_content(mode)) versions[d] = {.made = side, .crossed = false, .written = true};
  }
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
  Count count;
  for (const graph::Graph::Task& task : graph.tasks()) {
    run(sides[task.kernel], graph.accesses_of(task), data, versions, count);
  }
  end(data, versions, room, count);
  constexpr std::string_view kCounting = "counting";
  return {.in = {.value = count.in, .leading = {}, .name = "compulsory loads", .source = kCounting},
          .out = {.value = count.out,
                  .leading = {},
                  .name = "compulsory write-backs",
                  .source = kCounting}};
}

}  // namespace vicinal::bounds
