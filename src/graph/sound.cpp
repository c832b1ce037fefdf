#include "graph/sound.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "graph/without_parts.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {

namespace {

std::string datum_name(const Graph& graph, std::size_t datum) {
  return base::legible_name(graph.data_name(datum));
}

using Number = Graph::Number;

double longest_seconds(const Graph::Kernel& kernel) {
  return *std::max_element(kernel.seconds.begin(), kernel.seconds.end());
}

// Of a private copy for each task that reduces: begun, combined, and the datum begun for it.
double seconds_of_reductions(const Graph& graph) {
  if (graph.reductions().empty()) return 0;
  std::vector<double> seconds(graph.data().size());
  for (const Graph::Reduction& reduction : graph.reductions()) {
    seconds[reduction.datum] = 2 * longest_seconds(graph.kernels()[reduction.neutral]) +
                               longest_seconds(graph.kernels()[reduction.combine]);
  }
  double sum = 0;
  for (const Graph::Access& access : graph.accesses()) {
    if (access.mode == AccessMode::reduction) sum += seconds[access.datum];
  }
  return sum;
}

void require_sums(const Graph& graph, const std::string& origin) {
  double seconds = 0;
  for (const Graph::Task& task : graph.tasks())
    seconds += longest_seconds(graph.kernels()[task.kernel]);
  seconds += seconds_of_reductions(graph);
  if (!(seconds <= kMostGraphSeconds)) {
    throw UsageError(
        fmt::format("{}: the tasks take {:.3g} s one after the other; at most {:.3g} s are "
                    "accepted. Are the kernels' times in seconds?",
                    origin, seconds, kMostGraphSeconds));
  }
  Bytes bytes;
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    const Bytes of_datum = graph.data()[d].bytes;
    if (of_datum > kMostGraphBytes - bytes) {
      throw UsageError(fmt::format("{}: the data up to \"{}\" have more than {} bytes altogether",
                                   origin, datum_name(graph, d), kMostGraphBytes.value));
    }
    bytes += of_datum;
  }
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    const Bytes of_datum = graph.data()[d].bytes;
    if (of_datum > kLargestData) {
      throw UsageError(fmt::format("{}: \"{}\" has {} bytes; one datum has at most {} (1 PiB)",
                                   origin, datum_name(graph, d), of_datum.value,
                                   kLargestData.value));
    }
  }
}

void require_first_writes(const Graph& graph, const std::string& origin) {
  std::vector<bool> has_content(graph.data().size());
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    has_content[d] = graph.data()[d].home.has_value();
  }
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (const Graph::Access& access : graph.accesses_of(graph.tasks()[t])) {
      if (access.mode == AccessMode::scratch && has_content[access.datum]) {
        throw UsageError(fmt::format(
            "{}: tasks[{}] uses \"{}\" as scratch, which has a content: it has a home, or a task "
            "before it writes it. Name a datum for scratch alone",
            origin, t, datum_name(graph, access.datum)));
      }
      if (reads(access.mode) && !has_content[access.datum]) {
        const std::string_view name = graph.task_name(t);
        throw UsageError(fmt::format(
            "{}: tasks[{}] ({}) reads \"{}\", which has no home and which no task "
            "before it writes. Give "
            "the datum a home, \"ram\" or \"disk\", or let a task write it first",
            origin, t,
            base::legible_name(name.empty() ? graph.kernels()[graph.tasks()[t].kernel].name : name),
            datum_name(graph, access.datum)));
      }
    }
    for (const Graph::Access& access : graph.accesses_of(graph.tasks()[t])) {
      if (leaves_content(access.mode) || access.mode == AccessMode::reduction)
        has_content[access.datum] = true;
    }
  }
}

// A datum is a part once at most, of one with a lower number, and the parts have no more bytes than the whole.
void require_partitions(const Graph& graph, const std::string& origin) {
  std::vector<bool> is_whole(graph.data().size());
  std::vector<bool> is_part(graph.data().size());
  for (const Graph::Partition& partition : graph.partitions()) {
    const auto refuse = [&](Number datum, std::string_view why) {
      throw UsageError(fmt::format("{}: data \"{}\" {}", origin, datum_name(graph, datum), why));
    };
    if (is_whole[partition.whole]) refuse(partition.whole, "is in parts twice");
    is_whole[partition.whole] = true;
    Bytes left = graph.data()[partition.whole].bytes;
    for (Number part = partition.first; part < partition.first + partition.count; ++part) {
      if (part <= partition.whole) refuse(part, "stands before the datum whose part it is");
      if (is_part[part]) refuse(part, "is a part of two data");
      is_part[part] = true;
      if (graph.data()[part].home) refuse(part, "has a home, but is a part; leave the home out");
      if (graph.data()[part].bytes > left) {
        refuse(part, fmt::format("and the parts before it have more bytes than \"{}\", whose "
                                 "parts they are",
                                 datum_name(graph, partition.whole)));
      }
      left = left - graph.data()[part].bytes;
    }
  }
}

void require_reductions(const Graph& graph, const std::string& origin) {
  std::vector<bool> has_reduction(graph.data().size());
  const auto refuse = [&](Number datum, std::string_view why) {
    throw UsageError(fmt::format("{}: data \"{}\" {}", origin, datum_name(graph, datum), why));
  };
  for (const Graph::Reduction& reduction : graph.reductions()) {
    if (has_reduction[reduction.datum]) refuse(reduction.datum, "has two reductions");
    has_reduction[reduction.datum] = true;
  }
  for (const Graph::Partition& partition : graph.partitions()) {
    constexpr std::string_view kWhy =
        ": tasks cannot reduce into it. Name a datum for the sum alone";
    if (has_reduction[partition.whole]) {
      refuse(partition.whole, fmt::format("has a reduction, but is in parts{}", kWhy));
    }
    for (Number part = partition.first; part < partition.first + partition.count; ++part) {
      if (!has_reduction[part]) continue;
      refuse(part, fmt::format("has a reduction, but is a part of \"{}\"{}",
                               datum_name(graph, partition.whole), kWhy));
    }
  }
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (const Graph::Access& access : graph.accesses_of(graph.tasks()[t])) {
      if (access.mode != AccessMode::reduction || has_reduction[access.datum]) continue;
      throw UsageError(fmt::format(
          "{}: tasks[{}] reduces into \"{}\", of which nobody has said how. Give the datum a "
          "\"reduction\": the kernels \"neutral\" and \"combine\"",
          origin, t, datum_name(graph, access.datum)));
    }
  }
}

}  // namespace

void require_sound(const Graph& graph, const std::string& origin) {
  if (graph.tasks().empty()) throw UsageError(origin + ": the graph has no task");
  require_reductions(graph, origin);
  if (!graph.partitions().empty()) {
    require_partitions(graph, origin);
    return require_sound(without_parts(graph), origin);
  }
  require_sums(graph, origin);
  require_first_writes(graph, origin);
}

}  // namespace vicinal::graph
