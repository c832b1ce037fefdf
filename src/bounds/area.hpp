// The area bound: how long the work alone takes on workers of several kinds, if each kind gets the
// tasks that suit it best. No dependencies, no transfers, and tasks may be cut to pieces:
//
//   minimise T
//   with     sum_w x[t,w] = n_t                      for each type of task t
//            sum_t d[t,w] x[t,w] <= T * workers(w)   for each kind of worker w
//
// x[t,w] tasks of type t run on workers of kind w, d[t,w] seconds each. Workers of one kind are alike
// and pooled. Agullo, Beaumont, Eyraud-Dubois, Kumar, "Are static schedules so bad?", IPDPS 2016.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "bounds/bounds.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::bounds {

// By kind of processor, as ProcessorKind counts them.
using SecondsPerKind = std::array<double, kProcessorKinds>;
using WorkersPerKind = std::array<std::uint32_t, kProcessorKinds>;

struct TaskType {
  std::uint64_t count = 0;
  SecondsPerKind seconds{};  // of one task; 0: that kind does not run it
};

// Solved by its dual,
//
//   maximise sum_t n_t min_w (d[t,w] z_w)   with   z >= 0,   sum_w workers(w) z_w = 1,
//
// where every z gives a lower bound (weak duality): a solution that is not quite the best makes the
// bound lower, never wrong. Exact for one kind, and for two, where the types are sorted by the ratio of
// their durations; for three by a search that comes within a part in 10^7. `source` of the result says
// how. A type that no worker runs counts nothing.
TimeBound area_bound(std::span<const TaskType> types, const WorkersPerKind& workers);

}  // namespace vicinal::bounds
