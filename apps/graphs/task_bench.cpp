#include "graphs/task_bench.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "graph/sound.hpp"
#include "graphs/limits.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphs {

namespace {

using graph::Graph;
using Index = std::uint32_t;
using Points = std::vector<std::uint64_t>;

constexpr std::string_view kTaskBench = "task_bench";
constexpr std::uint64_t kMostPeriod = 1000;
constexpr std::uint64_t kImbalanceSteps = 16;
constexpr std::uint64_t kMostReads = graph::kMostAccesses - 1;  // and one write

enum class Pattern : std::uint8_t {
  trivial,
  no_comm,
  stencil_1d,
  stencil_1d_periodic,
  dom,
  tree,
  fft,
  all_to_all,
  nearest,
  spread,
  random_nearest,
  random_spread,
};
constexpr std::array<std::string_view, 12> kPatterns{
    "trivial",    "no_comm", "stencil_1d", "stencil_1d_periodic", "dom",          "tree", "fft",
    "all_to_all", "nearest", "spread",     "random_nearest",      "random_spread"};

Pattern pattern_of(const std::string& name) {
  const auto found = std::ranges::find(kPatterns, name);
  if (found != kPatterns.end()) return static_cast<Pattern>(found - kPatterns.begin());
  std::string list;
  for (const std::string_view known : kPatterns)
    list += (list.empty() ? "" : ", ") + std::string(known);
  const std::string_view nearest = base::nearest(name, kPatterns);
  throw UsageError(fmt::format("task_bench: there is no pattern \"{}\"{} There are {}", name,
                               nearest.empty() ? "." : fmt::format(": did you mean {}?", nearest),
                               list));
}

bool has_radix(Pattern pattern) {
  return pattern >= Pattern::nearest;
}
bool has_period(Pattern pattern) {
  return pattern >= Pattern::spread;
}
bool has_fraction(Pattern pattern) {
  return pattern == Pattern::random_nearest;
}

void refuse_parameter(bool given, bool (*has)(Pattern), Pattern pattern,
                      std::string_view parameter) {
  if (!given || has(pattern)) return;
  std::string owners;
  for (std::size_t p = 0; p < kPatterns.size(); ++p) {
    if (has(static_cast<Pattern>(p)))
      owners += (owners.empty() ? "" : ", ") + std::string(kPatterns[p]);
  }
  throw UsageError(
      fmt::format("task_bench: the pattern {} has no {}, only {} {} one; leave it away",
                  kPatterns[static_cast<std::size_t>(pattern)], parameter, owners,
                  owners.find(',') == std::string::npos ? "has" : "have"));
}

class TaskBench {
 public:
  explicit TaskBench(const TaskBenchShape& shape)
      : shape_(shape), pattern_(pattern_of(shape.pattern)), random_(shape.seed) {}

  Graph generate() {
    require_sizes();
    draw();
    graph_.application().name = kTaskBench;
    add_kernels();
    for (std::uint64_t t = 0; t < shape_.steps; ++t) add_step(t);
    return std::move(graph_);
  }

 private:
  // The tasks of a step are those of points from `first` up to `end`.
  struct Span {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };

  void require_sizes();
  void draw();
  void add_kernels();
  Span span(std::uint64_t t) const;
  void add_step(std::uint64_t t);
  std::uint64_t most_reads() const;
  void add_interval(std::uint64_t point, std::uint64_t before, std::uint64_t behind);
  void find_reads(std::uint64_t t, std::uint64_t point);
  void find_neighbours(std::uint64_t point);
  void find_butterfly(std::uint64_t t, std::uint64_t point);
  void find_spread(std::uint64_t t, std::uint64_t point);

  const TaskBenchShape& shape_;
  Pattern pattern_;
  base::Random random_;
  std::uint64_t radix_ = 0;
  std::uint64_t period_ = 1;
  std::vector<Points> drawn_;  // by set of dependencies and point
  std::vector<Index> kernels_;
  Graph graph_;
  Points reads_;  // of the task that is made
  Span last_;     // of the step before
  Index last_datum_ = 0;
};

void TaskBench::require_sizes() {
  refuse_parameter(shape_.radix.has_value(), has_radix, pattern_, "radix");
  refuse_parameter(shape_.period.has_value(), has_period, pattern_, "period");
  refuse_parameter(shape_.fraction.has_value(), has_fraction, pattern_, "fraction");
  const auto most_tasks = static_cast<std::uint64_t>(kMostTasks);
  require_within(kTaskBench, "width", shape_.width, 1, most_tasks);
  require_within(kTaskBench, "steps", shape_.steps, 1, most_tasks);
  require_tasks(kTaskBench, static_cast<double>(shape_.width) * static_cast<double>(shape_.steps),
                "a smaller width or fewer steps");
  require_within(kTaskBench, "bytes", shape_.bytes.value, 0, kMostDatumBytes);
  require_seconds(kTaskBench, shape_.seconds);
  radix_ = shape_.radix.value_or(std::min<std::uint64_t>(3, shape_.width));
  if (has_radix(pattern_)) {
    require_within(kTaskBench, "radix", radix_, 0, std::min(shape_.width, kMostReads));
  }
  if (has_period(pattern_)) {
    period_ = shape_.period.value_or(3);
    require_within(kTaskBench, "period", period_, 1, kMostPeriod);
  }
  if (pattern_ == Pattern::all_to_all) {
    require_within(kTaskBench, "width of all_to_all", shape_.width, 1, kMostReads);
  }
  const double fraction = shape_.fraction.value_or(0.25);
  if (!(fraction >= 0 && fraction <= 1)) {
    throw UsageError(fmt::format("task_bench: fraction is {}: choose it from 0 to 1", fraction));
  }
  if (!(shape_.imbalance >= 0 && shape_.imbalance <= 2)) {
    throw UsageError(
        fmt::format("task_bench: imbalance is {}: choose it from 0 to 2", shape_.imbalance));
  }
  require_within(kTaskBench, "width times steps times what a task reads",
                 shape_.width * shape_.steps * std::max<std::uint64_t>(1, most_reads()), 1,
                 10 * most_tasks);
}

std::uint64_t TaskBench::most_reads() const {
  if (pattern_ == Pattern::all_to_all) return shape_.width;
  return has_radix(pattern_) ? radix_ : 3;
}

// What is drawn is drawn once for each set of dependencies, whatever the steps.
void TaskBench::draw() {
  if (pattern_ != Pattern::random_nearest && pattern_ != Pattern::random_spread) return;
  require_within(kTaskBench, "period times width times radix",
                 period_ * shape_.width * std::max<std::uint64_t>(1, radix_), 1,
                 static_cast<std::uint64_t>(kMostTasks));
  const double fraction = shape_.fraction.value_or(0.25);
  for (std::uint64_t set = 0; set < period_; ++set) {
    for (std::uint64_t point = 0; point < shape_.width; ++point) {
      reads_.clear();
      if (pattern_ == Pattern::random_nearest) {
        find_neighbours(point);
        std::erase_if(reads_, [&](std::uint64_t other) {
          return random_.uniform() >= fraction && other != point;
        });
      } else if (radix_ > 0) {
        reads_.push_back(point);
        while (reads_.size() < radix_) {
          const std::uint64_t other = random_.below(shape_.width);
          if (std::ranges::find(reads_, other) == reads_.end()) reads_.push_back(other);
        }
        std::ranges::sort(reads_);
      }
      drawn_.push_back(reads_);
    }
  }
}

void TaskBench::add_kernels() {
  const std::uint64_t count = shape_.imbalance == 0 ? 1 : kImbalanceSteps;
  for (std::uint64_t k = 0; k < count; ++k) {
    const double value = (static_cast<double>(k) + 0.5) / static_cast<double>(count);
    const double seconds = shape_.seconds * (1 + (value - 0.5) * shape_.imbalance);
    Graph::Kernel kernel{.name = count == 1 ? "work" : fmt::format("work{}", k)};
    for (const ProcessorKind kind : {ProcessorKind::cpu, ProcessorKind::gpu}) {
      kernel.seconds[static_cast<std::size_t>(kind)] = seconds;
    }
    kernels_.push_back(graph_.add_kernel(std::move(kernel)));
  }
}

TaskBench::Span TaskBench::span(std::uint64_t t) const {
  const std::uint64_t width = shape_.width;
  if (pattern_ == Pattern::dom) {
    const std::uint64_t wide = std::min({width, t + 1, shape_.steps - t});
    const std::uint64_t first = t + width > shape_.steps ? t + width - shape_.steps : 0;
    return {first, first + wide};
  }
  if (pattern_ == Pattern::tree)
    return {0, t < 40 ? std::min(width, std::uint64_t{1} << t) : width};
  return {0, width};
}

void TaskBench::add_step(std::uint64_t t) {
  const Span now = span(t);
  const auto first_datum = static_cast<Index>(graph_.data().size());
  std::vector<Graph::Access> accesses;
  for (std::uint64_t point = now.first; point < now.end; ++point) {
    reads_.clear();
    if (t > 0) find_reads(t, point);
    accesses.clear();
    for (const std::uint64_t other : reads_) {
      if (other < last_.first || other >= last_.end) continue;
      accesses.push_back({last_datum_ + static_cast<Index>(other - last_.first), AccessMode::R});
    }
    accesses.push_back({graph_.add_datum({.bytes = shape_.bytes}, fmt::format("t{}p{}", t, point)),
                        AccessMode::W});
    graph_.add_task(kernels_.size() == 1 ? kernels_[0] : kernels_[random_.below(kernels_.size())],
                    accesses);
  }
  last_ = now;
  last_datum_ = first_datum;
}

// --- patterns: which points of the step before, each once ----------------------------------------
void TaskBench::add_interval(std::uint64_t point, std::uint64_t before, std::uint64_t behind) {
  const std::uint64_t last = std::min(point + behind, shape_.width - 1);
  for (std::uint64_t p = point - std::min(point, before); p <= last; ++p) reads_.push_back(p);
}

void TaskBench::find_neighbours(std::uint64_t point) {
  if (radix_ > 0) add_interval(point, radix_ / 2, (radix_ - 1) / 2);
}

void TaskBench::find_butterfly(std::uint64_t t, std::uint64_t point) {
  const std::uint64_t stages = std::max<std::uint64_t>(1, std::bit_width(shape_.width - 1));
  const std::uint64_t distance = std::uint64_t{1} << ((t + stages - 1) % stages);
  if (point >= distance) reads_.push_back(point - distance);
  reads_.push_back(point);
  if (point + distance < shape_.width) reads_.push_back(point + distance);
}

void TaskBench::find_spread(std::uint64_t t, std::uint64_t point) {
  for (std::uint64_t i = 0; i < radix_; ++i) {
    const std::uint64_t shift = i * shape_.width / radix_ + (i > 0 ? t % period_ : 0);
    reads_.push_back((point + shift) % shape_.width);
  }
  std::ranges::sort(reads_);
  reads_.erase(std::unique(reads_.begin(), reads_.end()), reads_.end());
}

void TaskBench::find_reads(std::uint64_t t, std::uint64_t point) {
  const std::uint64_t width = shape_.width;
  switch (pattern_) {
    case Pattern::trivial:
      return;
    case Pattern::no_comm:
      return add_interval(point, 0, 0);
    case Pattern::stencil_1d:
      return add_interval(point, 1, 1);
    case Pattern::stencil_1d_periodic:
      add_interval(point, 1, 1);
      if (point == 0 && width > 2) reads_.push_back(width - 1);
      if (point == width - 1 && width > 2) reads_.insert(reads_.begin(), 0);
      return;
    case Pattern::dom:
      return add_interval(point, 1, 0);
    case Pattern::tree:
      reads_.push_back(point / 2);
      return;
    case Pattern::fft:
      return find_butterfly(t, point);
    case Pattern::all_to_all:
      return add_interval(0, 0, width);
    case Pattern::nearest:
      return find_neighbours(point);
    case Pattern::spread:
      return find_spread(t, point);
    case Pattern::random_nearest:
    case Pattern::random_spread:
      reads_ = drawn_[(t % period_) * width + point];
  }
}

}  // namespace

std::vector<std::string_view> task_bench_patterns() {
  return {kPatterns.begin(), kPatterns.end()};
}

Graph task_bench(const TaskBenchShape& shape) {
  return TaskBench(shape).generate();
}

}  // namespace vicinal::graphs
