// What must cross the border of a part of a machine, whatever the schedule: the limited memories as
// "inside", say, and all other memories as "outside". One pass over the tasks, by counting: a version
// of a datum that is made on one side and read on the other crosses once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bounds/bounds.hpp"
#include "graph/graph.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

enum class Side : std::uint8_t {
  inside,
  outside,
  either,  // not known, or both: counts nothing
};

// Where the content of a datum must be when the run has ended, if tasks changed it.
enum class FinalPlace : std::uint8_t {
  anywhere,  // it may stay inside
  outside,   // at home: in RAM for an accelerator, in the file for RAM
  nowhere,   // nobody wants it, or it has room of its own
};

struct DatumUse {
  Bytes size;
  Side initially = Side::either;  // its content at the start; either: it has none
  FinalPlace finally = FinalPlace::anywhere;
};

struct Crossings {
  BytesBound in;
  BytesBound out;
};

// `sides`: per kernel of the graph, of the memories from which its tasks can compute. `data`: per datum.
// `room`: what fits inside, none if there is no limit. Out go versions read outside, results wanted
// outside and, of those that may end anywhere, what does not fit. What tasks reduce is made where they can compute, in
// one private copy per side at the least, and combined where the kernel that does so can.
Crossings compulsory_crossings(const graph::Graph& graph, std::span<const Side> sides,
                               std::span<const DatumUse> data, std::optional<Bytes> room);

}  // namespace vicinal::bounds
