// Figures 8, 9 and 13 of paper 000: in which order DMDAS and DARTS work on the matrix of a Cholesky factorisation.
#include <algorithm>

#include <fmt/format.h>

#include "reproduction/figure.hpp"
#include "reproduction/orders.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kUnmeasured = "a run is missing";

double diagonal(const OrderedTask& task) {
  return task.row + task.column;
}
double row(const OrderedTask& task) {
  return task.row;
}
double column(const OrderedTask& task) {
  return task.column;
}

// Section 7.1.3 and the captions: 40 x 40 tiles, memory of 2 GB, a colour for each thousand of tasks.
OrderView view_of(std::vector<OrderRun> runs, std::uint32_t steps) {
  return {.machine = "v100",
          .tile = 2880,
          .tiles = {20, 40, 40},
          .gpu_memory = {Bytes{500'000'000}, Bytes{2'000'000'000}, Bytes{2'000'000'000}},
          .colour = {250, 1000, 1000},
          .runs = std::move(runs),
          .steps = steps};
}

constexpr std::string_view kDmdasByPlace = "DMDAS by place";

Verdict goes_by_diagonals(const Results& results, std::string_view name) {
  const OrderedRun* const run = results.order(name);
  if (run == nullptr) return unknown(kUnmeasured);
  const double by_diagonal = rank_correlation(*run, diagonal);
  const double by_row = rank_correlation(*run, row);
  const double by_column = rank_correlation(*run, column);
  return verdict(by_diagonal >= 0.8 && by_diagonal > std::max(by_row, by_column),
                 fmt::format("correlation {:.2f} with row + column, {:.2f} with the row, {:.2f} "
                             "with the column",
                             by_diagonal, by_row, by_column));
}

Figure figure_8() {
  constexpr std::string_view kRule =
      "in the first step, the rank correlation of a task's turn with row + column is 0.8 at "
      "least and larger than those with the row and the column";
  return {.name = "000-8",
          .sentence = "In which order DMDAS works on the matrix of a Cholesky factorisation",
          .note =
              "Tasks are in the order of their ends. The bottom level of a task depends on its "
              "column alone. StarPU's example gives tasks the priority 2 N - 2 step - row - "
              "column instead, which is drawn too (by place): with it DMDAS follows the "
              "antidiagonals that the paper shows.",
          .order = view_of({{"DMDAS", "dmdas", 1, true, true, "starpu"},
                            {kDmdasByPlace, "dmdas", 1, true, false, "starpu"}},
                           4),
          .statements = {
              {"DMDAS works along the antidiagonals, for so the priorities say", "section 7.1.3",
               kRule, [](const Results& r) { return goes_by_diagonals(r, "DMDAS"); }},
              {"The same, with priorities by place", "section 7.1.3", kRule,
               [](const Results& r) { return goes_by_diagonals(r, kDmdasByPlace); }}}};
}

Verdict darts_uses_tiles_more_often(const Results& results) {
  const OrderedRun* const darts = results.order("DARTS");
  const OrderedRun* const dmdas = results.order("DMDAS");
  if (darts == nullptr || dmdas == nullptr) return unknown(kUnmeasured);
  const std::vector<double> ours = tasks_per_tile(*darts);
  const std::vector<double> theirs = tasks_per_tile(*dmdas);
  return verdict(
      mean(ours) > mean(theirs),
      fmt::format("{:.2f} tasks for each tile in use, DMDAS {:.2f}", mean(ours), mean(theirs)));
}

Verdict blocks_last_for_steps(const Results& results) {
  const OrderedRun* const darts = results.order("DARTS");
  if (darts == nullptr) return unknown(kUnmeasured);
  const std::uint64_t steps = most_steps_at_once(*darts);
  return numbered(steps > 1, meets(static_cast<double>(steps), 8),
                  fmt::format("up to {} (paper 8)", steps));
}

Figure figure_9() {
  return {
      .name = "000-9",
      .sentence = "In which order DARTS works on the matrix of a Cholesky factorisation",
      .note = "Tasks are in the order of their ends. DMDAS is played beside it, for a statement.",
      .order =
          view_of({{"DARTS", "darts:cost=exact"}, {"DMDAS", "dmdas", 1, false, true, "starpu"}}, 4),
      .statements = {
          {"DARTS works in blocks that share much of their data", "section 7.1.3",
           "the tasks of one colour, over the tiles that they use, are more than with DMDAS",
           darts_uses_tiles_more_often},
          {"A block is worked on over several steps, up to eight", "section 7.1.3",
           "among the tasks of one colour, several write the same tile; and the number",
           blocks_last_for_steps}}};
}

Verdict gpus_share_evenly(const Results& results) {
  const OrderedRun* const run = results.order("DARTS");
  if (run == nullptr) return unknown(kUnmeasured);
  const std::vector<std::uint64_t> counts = tasks_by_worker(*run);
  if (counts.size() < 2) return verdict(false, "one GPU ran all tasks");
  const double share = static_cast<double>(counts[0]) / static_cast<double>(counts[0] + counts[1]);
  return verdict(share > 0.45 && share < 0.55,
                 fmt::format("the first GPU ran {:.1f} % of the tasks", 100 * share));
}

Verdict gpus_use_other_tiles(const Results& results) {
  const OrderedRun* const run = results.order("DARTS");
  if (run == nullptr) return unknown(kUnmeasured);
  const double share = share_used_by_several(*run);
  return verdict(share < 0.5, fmt::format("{:.1f} % of the tiles that the first step uses are "
                                          "used by both",
                                          100 * share));
}

Figure figure_13() {
  return {.name = "000-13",
          .sentence = "Which tiles each of two GPUs works on under DARTS",
          .note = "Tasks are in the order of their ends.",
          .order = view_of({{"DARTS", "darts:cost=exact", 2}}, 1),
          .statements = {
              {"The GPUs share the work well", "section 7.1.5",
               "each runs between 45 and 55 % of the tasks", gpus_share_evenly},
              {"Few data go to both GPUs", "section 7.1.5",
               "less than half of the tiles that the first step uses", gpus_use_other_tiles}}};
}

}  // namespace

std::vector<Figure> order_figures_000() {
  return {figure_8(), figure_9(), figure_13()};
}

}  // namespace vicinal::reproduction
