// The table of figures. A new one takes its place in the file of its paper.
#include "reproduction/figures.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "reproduction/causes.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reproduction {

std::vector<Figure> cholesky_figures_000();
std::vector<Figure> order_figures_000();
std::vector<Figure> lu_figures_000();
std::vector<Figure> figures_001();
std::vector<Figure> figures_002();
std::vector<Figure> figures_002_on_ranks();
std::vector<Figure> figures_003();
std::vector<Figure> broadcast_figures_004();
std::vector<Figure> cholesky_figures_004();
std::vector<Figure> qr_figures_004();

namespace {

std::vector<Figure> all_figures() {
  std::vector<Figure> all;
  for (const auto part : {cholesky_figures_000, order_figures_000, lu_figures_000, figures_001,
                          figures_002, figures_002_on_ranks, figures_003, broadcast_figures_004,
                          cholesky_figures_004, qr_figures_004}) {
    for (Figure& figure : part()) {
      if (figure.causes.empty()) figure.causes = causes_of(figure.name);
      all.push_back(std::move(figure));
    }
  }
  // "000-6" before "000-10".
  std::ranges::sort(all, {}, [](const Figure& figure) {
    const std::string_view number = figure.name.substr(4);
    return std::tuple(figure.name.substr(0, 4), number.size(), number);
  });
  return all;
}

}  // namespace

std::span<const Paper> papers() {
  static constexpr Paper kPapers[] = {
      {"000",
       "A generic scheduler to foster data locality for GPU and out-of-core task-based "
       "applications",
       "Gonthier, Thibault, Marchal, 2024"},
      {"001", "Locality-aware scheduling of independent tasks for runtime systems",
       "Gonthier, Marchal, Thibault, 2021"},
      {"002",
       "Comparing and contrasting user and runtime directed data placement strategies for "
       "owner-compute, multi-accelerator distributed task based scheduling",
       "Bouteiller, Cao, Schuchart, Herault, 2025"},
      {"003", "Locality-aware work stealing on multi-CPU and multi-GPU architectures",
       "Gautier, Lima, Maillard, Raffin, 2013"},
      {"004",
       "On the interactions between HPC task-based runtime systems and communication libraries",
       "Swartvagher, 2022",
       "Of the figures on dynamic broadcasts, 4.7, 4.8 and 4.13 are left out: drawings of the "
       "algorithms, without results. MPI_Ibcast, which 4.3 has beside the trees, needs a library "
       "that is run."},
  };
  return kPapers;
}

std::span<const Figure> figures() {
  static const std::vector<Figure> all = all_figures();
  return all;
}

const Figure& figure(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Figure& figure : figures()) {
    if (figure.name == name) return figure;
    names.push_back(figure.name);
  }
  const std::string_view nearest = base::nearest(name, names);
  throw UsageError(fmt::format("there is no figure \"{}\"{} There are {}", name,
                               nearest.empty() ? "." : fmt::format(": did you mean {}?", nearest),
                               fmt::join(names, ", ")));
}

}  // namespace vicinal::reproduction
