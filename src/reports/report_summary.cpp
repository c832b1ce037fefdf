// The short form of a report: a row per run, the fastest first.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "reports/aligned.hpp"
#include "reports/facts_text.hpp"
#include "reports/report.hpp"
#include "reports/wrapped.hpp"

namespace vicinal::reports {

namespace {

constexpr std::size_t kMostRuns = 12;  // shown: the text has at most 25 lines

using Runs = std::vector<const RunRecord*>;

std::string duration_text(double seconds) {
  return base::format_duration(Time::from_seconds(seconds));
}

double real(Bytes bytes) {
  return static_cast<double>(bytes.value);
}

std::string ratio_text(double value, double bound) {
  return bound > 0 ? fmt::format("{:.2f}x", value / bound) : "";
}

double idle_percent(const RunRecord& run) {
  const double all = run.seconds * run.workers;
  return all > 0 ? 100 * run.idle_seconds / all : 0;
}

// Of the tasks of a real run, those on accelerators; none if it had none.
std::optional<double> percent_on_devices(const RunRecord& run) {
  if (run.simulation || run.tasks == 0) return std::nullopt;
  std::uint64_t tasks = 0;
  bool has_devices = false;
  for (const NodeRecord& node : run.nodes) {
    if (node.kind != NodeKind::device) continue;
    has_devices = true;
    tasks += node.tasks;
  }
  if (!has_devices) return std::nullopt;
  return 100 * static_cast<double>(tasks) / static_cast<double>(run.tasks);
}

// The fastest first.
Runs ranked(const Report& report) {
  Runs runs;
  for (const RunRecord& run : report.runs) {
    if (run.error.empty()) runs.push_back(&run);
  }
  std::ranges::stable_sort(runs, {}, [](const RunRecord* run) { return run->seconds; });
  return runs;
}

// --- The table -----------------------------------------------------------------------------------

// Of all runs, as they may begin with unlike data in memory.
template <typename Bound>
auto least(const Runs& runs, const Bound& bound) {
  auto result = bound(*runs.front());
  for (const RunRecord* run : runs) result = std::min(result, bound(*run));
  return result;
}

// Of columns: their cells from the heading down to the bounds, empty where there is nothing.
class Table {
 public:
  explicit Table(const Runs& runs) : runs_(runs), shown_(std::min(runs.size(), kMostRuns)) {}

  template <typename Cell>
  void add(std::string heading, const Cell& cell, std::string below = {}) {
    Cells column{std::move(heading)};
    for (std::size_t r = 0; r < shown_; ++r) column.push_back(cell(*runs_[r]));
    column.push_back(std::move(below));
    columns_.push_back(std::move(column));
  }

  // A value, and how many times its bound that is; below them the bound.
  template <typename Value, typename Bound, typename Text>
  void add_bounded(std::string heading, const Value& value, const Bound& bound, const Text& text) {
    const auto lowest = least(runs_, bound);
    const bool known = lowest > decltype(lowest){};
    add(
        std::move(heading), [&](const RunRecord& run) { return text(value(run)); },
        known ? text(lowest) : "");
    if (!known) return;
    add("",
        [&](const RunRecord& run) { return ratio_text(number(value(run)), number(bound(run))); });
  }

  // The last columns go until a row is no wider than that; their headings. The time stays.
  std::vector<std::string> narrow(std::size_t width) {
    constexpr std::size_t kLeast = 3;
    std::vector<std::string> gone;
    std::size_t all = 0;
    for (const Cells& column : columns_) all += width_of(column) + 2;
    while (width > 0 && all - 2 > width && columns_.size() > kLeast) {
      all -= width_of(columns_.back()) + 2;
      std::string heading = columns_.back().front();
      if (!heading.empty()) gone.insert(gone.begin(), std::move(heading));
      columns_.pop_back();
    }
    return gone;
  }

  std::string text() const {
    std::vector<Cells> rows;
    for (std::size_t line = 0; line < columns_.front().size(); ++line) {
      Cells row;
      for (const Cells& column : columns_) row.push_back(column[line]);
      const bool says_something =
          std::any_of(row.begin() + 1, row.end(), [](const std::string& c) { return !c.empty(); });
      if (says_something) rows.push_back(std::move(row));
    }
    return aligned(rows, 1);
  }

 private:
  static std::size_t width_of(const Cells& column) {
    return std::ranges::max_element(column, {}, &std::string::size)->size();
  }
  static double number(double value) { return value; }
  static double number(Bytes value) { return real(value); }

  const Runs& runs_;
  std::size_t shown_;
  std::vector<Cells> columns_;
};

bool any(const Runs& runs, const auto& has) {
  return std::ranges::any_of(runs, [&](const RunRecord* run) { return has(*run); });
}

std::string table_text(const Runs& runs, std::size_t columns) {
  const auto bytes_text = [](Bytes bytes) { return base::format_bytes(bytes); };
  Table table(runs);
  table.add(
      "policy", [](const RunRecord& run) { return run.policy; }, "bound");
  table.add_bounded(
      "time", [](const RunRecord& run) { return run.seconds; },
      [](const RunRecord& run) { return run.bounds.seconds(); }, duration_text);
  if (any(runs, [](const RunRecord& run) { return run.bytes_in.value > 0; })) {
    table.add_bounded(
        "loaded", [](const RunRecord& run) { return run.bytes_in; },
        [](const RunRecord& run) { return run.bounds.bytes_in(); }, bytes_text);
  }
  if (any(runs, [](const RunRecord& run) { return run.bytes_out.value > 0; })) {
    table.add_bounded(
        "written back", [](const RunRecord& run) { return run.bytes_out; },
        [](const RunRecord& run) { return run.bounds.bytes_out(); }, bytes_text);
  }
  table.add("idle",
            [](const RunRecord& run) { return fmt::format("{:.1f} %", idle_percent(run)); });
  if (any(runs, [](const RunRecord& run) { return percent_on_devices(run).has_value(); })) {
    table.add("on devices", [](const RunRecord& run) {
      return fmt::format("{:.1f} %", percent_on_devices(run).value_or(0));
    });
  }
  if (any(runs, [](const RunRecord& run) { return run.flops > 0; })) {
    table.add("GFlop/s", [](const RunRecord& run) { return fmt::format("{:.2f}", run.gflops()); });
  }
  if (any(runs, [](const RunRecord& run) { return run.verified.has_value(); })) {
    table.add("check", [](const RunRecord& run) {
      return !run.verified ? "" : *run.verified ? "passed" : "FAILED";
    });
  }
  const std::vector<std::string> gone = table.narrow(columns);
  if (gone.empty()) return table.text();
  const std::string told = fmt::format("not in {} columns: {}", columns, fmt::join(gone, ", "));
  return table.text() + wrapped(told, columns, 0) + "\n";
}

std::string share_text(double part, double whole) {
  return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0);
}

// Why more ranks would not make the run as much faster, or that they would.
std::string ranks_sentence(const RunRecord& run, bool has_tiles) {
  constexpr double kLittle = 0.1;
  double awaiting = 0;
  double ended = 0;
  for (const RankRecord& rank : run.ranks) {
    awaiting += rank.awaiting_seconds;
    ended += rank.ended_seconds;
  }
  const double all = run.seconds * run.workers;
  const double other = std::max(0.0, run.idle_seconds - awaiting - ended);
  if (run.idle_seconds < kLittle * all) {
    return fmt::format(
        "The workers were busy for {} of the time: more ranks help as long as they have cores of "
        "their own.",
        share_text(all - run.idle_seconds, all));
  }
  if (awaiting >= std::max(ended, other)) {
    return fmt::format(
        "More ranks help little: for {} of their time workers had nothing to do while content of "
        "other ranks was "
        "awaited. {} help.",
        share_text(awaiting, all),
        has_tiles ? "Larger sizes, another --distribution or a faster network"
                  : "Larger sizes or a faster network");
  }
  if (ended >= other) {
    const auto last = std::ranges::max_element(run.ranks, {}, &RankRecord::seconds);
    return fmt::format(
        "More ranks help little: for {} of their time workers of ranks that had ended waited for "
        "others, in the end for "
        "rank {}. {}, help.",
        share_text(ended, all), last - run.ranks.begin(),
        has_tiles ? "A distribution that shares the work more evenly, or smaller tiles"
                  : "Smaller tasks, which share the work more evenly");
  }
  return fmt::format(
      "More ranks help little: for {} of their time workers had no task that could run, and no "
      "content was awaited. "
      "Smaller {} give more tasks at once.",
      share_text(other, all), has_tiles ? "tiles" : "pieces");
}

// Of all ranks; empty: no version went to several.
std::string broadcasts_text(const RunRecord& run) {
  const auto sum = [&](std::uint64_t RankRecord::*member) {
    std::uint64_t total = 0;
    for (const RankRecord& rank : run.ranks) total += rank.*member;
    return total;
  };
  const std::uint64_t several = sum(&RankRecord::versions_to_several);
  if (several == 0) return {};
  return fmt::format(
      "broadcasts: {}, of {} versions that several ranks read; of {} all readers were known in "
      "time, "
      "{} missed; {} sends came late\n",
      sum(&RankRecord::broadcasts), several, sum(&RankRecord::versions_in_time),
      sum(&RankRecord::broadcasts_missed), sum(&RankRecord::late_sends));
}

// By which ranks choose trees in the end: the median rank's.
std::string link_text(std::vector<RankRecord> ranks) {
  const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size() / 2);
  std::ranges::nth_element(ranks, middle, {}, &RankRecord::rank_latency);
  const Time latency = middle->rank_latency;
  std::ranges::nth_element(ranks, middle, {}, &RankRecord::rank_bandwidth);
  if (!(middle->rank_bandwidth > 0)) return "";
  const Bytes in_a_second{static_cast<std::uint64_t>(middle->rank_bandwidth)};
  return fmt::format("a message between ranks: {} of latency, {}/s\n",
                     base::format_duration(latency), base::format_bytes(in_a_second));
}

// Of the fastest run: a row per rank, those in the middle of many left out.
std::string ranks_text(const RunRecord& run) {
  constexpr std::size_t kMost = 16;
  std::vector<Cells> rows{{"rank", "time", "sent", "forwarded", "received", "messages", "idle",
                           "for content", "at the end", "peak", "tasks"}};
  const bool any_partial = std::ranges::any_of(
      run.ranks, [](const RankRecord& rank) { return rank.partial_results > 0; });
  if (any_partial) rows[0].emplace_back("combined");
  const std::size_t count = run.ranks.size();
  for (std::size_t r = 0; r < count; ++r) {
    if (count > kMost && r == kMost - 1) r = count - 1;
    const RankRecord& rank = run.ranks[r];
    const double all = run.seconds * rank.workers;
    rows.push_back({fmt::to_string(r), duration_text(rank.seconds), base::format_bytes(rank.sent),
                    base::format_bytes(rank.forwarded), base::format_bytes(rank.received),
                    fmt::to_string(rank.messages), share_text(rank.idle_seconds, all),
                    share_text(rank.awaiting_seconds, all), share_text(rank.ended_seconds, all),
                    base::format_bytes(rank.peak), fmt::to_string(rank.tasks)});
    if (any_partial) rows.back().push_back(fmt::to_string(rank.partial_results));
  }
  const std::string skipped =
      count > kMost ? fmt::format("ranks {} to {} left out: --json has all\n", kMost - 1, count - 2)
                    : "";
  return aligned(rows, 1) + skipped + link_text(run.ranks) + broadcasts_text(run);
}

// --- What bounds the runs --------------------------------------------------------------------------

std::string_view time_bound_name(const RunBounds& bounds) {
  const std::array<std::pair<double, std::string_view>, 4> all{
      {{bounds.work_seconds, "the work, shared evenly by the workers"},
       {bounds.path_seconds, "the longest path of tasks"},
       {bounds.transfer_seconds, "the transfers over the links"},
       {bounds.area_seconds, "the work, by kind of processor"}}};
  const auto largest =
      std::ranges::max_element(all, {}, [](const auto& bound) { return bound.first; });
  return largest->second;
}

std::string_view bytes_bound_name(const RunBounds& bounds) {
  return bounds.proved_in > bounds.compulsory_in ? "what this algorithm must load in this memory"
                                                 : "what must come in";
}

constexpr double kNearBound = 1.1;  // the rest is not worth another schedule

// The best schedule lies between the bound and the run: nobody knows where.
std::string_view or_the_bound(double value, double bound) {
  return value > kNearBound * bound ? ", or the bound is too low, by that much at most" : "";
}

std::string causes_text(const Runs& runs) {
  std::string text;
  const RunRecord& fastest = *runs.front();
  if (const double bound = fastest.bounds.seconds(); bound > 0) {
    text += fmt::format(
        "the time is bound by {}: {} takes {} that, its workers idle {:.1f} % of it{}\n",
        time_bound_name(fastest.bounds), fastest.policy, ratio_text(fastest.seconds, bound),
        idle_percent(fastest), or_the_bound(fastest.seconds, bound));
  }
  const RunRecord& leanest =
      **std::ranges::min_element(runs, {}, [](const RunRecord* run) { return run->bytes_in; });
  if (const Bytes bound = leanest.bounds.bytes_in(); bound.value > 0) {
    text += fmt::format("the loads are bound by {}: {} loads {} that{}\n",
                        bytes_bound_name(leanest.bounds), leanest.policy,
                        ratio_text(real(leanest.bytes_in), real(bound)),
                        or_the_bound(real(leanest.bytes_in), real(bound)));
  }
  return text;
}

// --- What to do about it ---------------------------------------------------------------------------

constexpr double kManyLoads = 1.25;     // times the bound
constexpr double kMuchIdle = 20;        // per cent
constexpr double kSomeIdle = 10;        // less: what workers wait for is not worth a hint
constexpr double kSlowKernels = 1.5;    // times what they take alone
constexpr std::uint64_t kFewTasks = 8;  // for each worker

std::string_view beyond_bound(const RunBounds& bounds) {
  const double bound = bounds.seconds();
  if (bound == bounds.transfer_seconds) return "faster links or more memory";
  if (bound == bounds.path_seconds) return "shorter tasks on the longest path";
  return "more workers or faster kernels";
}

bool has_run(const Runs& runs, std::string_view policy) {
  return any(runs, [&](const RunRecord& run) { return run.policy == policy; });
}

// How many times their expected time the kernels of a real run took, all together; 0: not known. What a simulation
// runs takes the time that is expected.
double slowness(const RunRecord& run) {
  const double expected = run.bounds.work_seconds * run.workers;
  if (run.simulation || expected <= 0) return 0;
  return (run.seconds * run.workers - run.idle_seconds) / expected;
}

// The first of these that holds of the fastest run; empty: none does.
std::string hint_text(const Report& report, const Runs& runs) {
  const RunRecord& fastest = *runs.front();
  const double bound = fastest.bounds.seconds();
  const double idle = idle_percent(fastest);
  if (bound > 0 && fastest.seconds < kNearBound * bound) {
    return fmt::format("no schedule gains more than {:.0f} % here: {} would",
                       100 * (1 - bound / fastest.seconds), beyond_bound(fastest.bounds));
  }
  if (report.verdict && !report.verdict->remedy.empty()) return report.verdict->remedy;
  if (idle >= kMuchIdle && fastest.tasks < kFewTasks * fastest.workers) {
    return fmt::format("{} tasks are few for {} workers: cut the work in smaller ones",
                       fastest.tasks, fastest.workers);
  }
  const double loads = real(fastest.bytes_in);
  const double must_load = real(fastest.bounds.bytes_in());
  // Workers that do not wait gain nothing by fewer loads.
  if (idle >= kSomeIdle && must_load > 0 && loads > kManyLoads * must_load) {
    const bool has_looked = has_run(runs, "darts") || has_run(runs, "dmdas");
    return has_looked
               ? std::string("raise --memory: less would be loaded again")
               : std::string("compare with policies that look at data first: --policy darts,dmdas");
  }
  if (idle < kMuchIdle && slowness(fastest) >= kSlowKernels) {
    return fmt::format(
        "the kernels took {:.1f}x the time that they take alone: other programs ran here, or the "
        "workers share the memory's bandwidth; compare with fewer --workers",
        slowness(fastest));
  }
  if (idle >= kMuchIdle) {
    return "record it (--trace run.vtrace): vicinal explain run.vtrace says what workers waited "
           "for";
  }
  return {};
}

// Of several runs it is the fastest's.
std::string verdict_text(const Report& report) {
  if (!report.verdict) return "";
  const ReportVerdict& verdict = *report.verdict;
  if (report.runs.size() < 2) return verdict.sentence + "\n";
  return fmt::format("{}, the fastest: {}\n", verdict.policy, verdict.sentence);
}

std::string failures_text(const Report& report, std::size_t most) {
  std::string text;
  std::size_t failed = 0;
  for (const RunRecord& run : report.runs) {
    if (run.error.empty() || ++failed > most) continue;
    const std::size_t end = run.error.find('\n');
    text += fmt::format("{} failed: {}{}\n", run.policy, run.error.substr(0, end),
                        end == std::string::npos ? "" : " (--verbose: the rest)");
  }
  if (failed > most) text += fmt::format("{} more failed: --verbose\n", failed - most);
  return text;
}

}  // namespace

const RunRecord* fastest(const Report& report) {
  const Runs runs = ranked(report);
  return runs.empty() ? nullptr : runs.front();
}

std::string report_text(const Report& report, bool verbose, std::size_t columns) {
  // Sentences are cut between words.
  const auto fitting = [&](const std::string& lines) {
    return columns == 0 ? lines : wrapped(lines, columns, 0);
  };
  std::string text =
      fitting(verdict_text(report) +
              fmt::format("{}: {}\n{}", base::legible_name(report.application),
                          facts_text(report.parameters), facts_text(report.machine))) +
      "\n";
  const Runs runs = ranked(report);
  if (!runs.empty()) {
    text += "\n" + table_text(runs, columns);
    if (runs.size() > kMostRuns) {
      text += fmt::format("and {} slower ones: --verbose\n", runs.size() - kMostRuns);
    }
    if (!runs.front()->ranks.empty())
      text += "\n" + ranks_text(*runs.front()) +
              fitting(ranks_sentence(*runs.front(), report.has_tiles)) + "\n";
    const std::string causes = causes_text(runs);
    const std::string hint = hint_text(report, runs);
    if (!causes.empty() || !hint.empty()) text += "\n" + fitting(causes);
    if (!hint.empty()) text += fitting("hint: " + hint) + "\n";
  }
  const std::string failures =
      failures_text(report, kMostRuns - std::min(runs.size(), kMostRuns) + 1);
  if (!failures.empty()) text += "\n" + failures;
  return base::legible(verbose ? text + report_table(report) : text);
}

}  // namespace vicinal::reports
