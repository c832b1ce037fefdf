#include "play/play_on_ranks.hpp"

#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "base/legible.hpp"
#include "comm/concerned_ranks.hpp"
#include "comm/reduction_trees.hpp"
#include "play/graph_codelets.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/simulated_cluster.hpp"

namespace vicinal::play {

namespace {

void require_playable(const graph::Graph& graph) {
  if (!graph.partitions().empty()) {
    throw UsageError(
        "graph: data in parts cannot be played on several ranks; play it on one machine");
  }
  if (graph.has_predecessors()) {
    throw UsageError(
        "graph: tasks that are declared after others cannot be played on several ranks, where only "
        "data order them; play it on one machine, or give tasks data");
  }
}

comm::DatumId datum_id(std::uint64_t number) {
  return {static_cast<std::uint32_t>(number)};
}

// All ranks, and their handles of each datum.
class Cluster {
 public:
  Cluster(const graph::Graph& graph, const machine::ClusterModel& model, const Options& options,
          const ClusterJob& job, const TileAdvice& advice, const HooksOnRanks& hooks)
      : graph_(graph),
        codelets_(codelets_of(graph, model.host)),
        cluster_(model, job.ranks, job.broadcast),
        concerned_(cluster_.count()),
        reduces_anywhere_(comm::reduction_tree_of_option(options.reduction_tree)),
        is_recorded_(!options.trace.empty()) {
    for (std::uint32_t rank = 0; rank < cluster_.count(); ++rank) {
      ranks_.emplace_back(model.host.description, options, cluster_.world(),
                          cluster_.rank(RankId{rank}));
    }
    if (hooks.begun) hooks.begun(ranks_);
    register_data(owners_of(graph, job.distribution, cluster_.count()));
    if (job.devices || follows_advice(options.policy)) advise(advice);
  }

  void submit() {
    for (const graph::Graph::Task& task : graph_.tasks()) submit(task);
    for (const auto& reduction : graph_.reductions()) {
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        ranks_[r].combine(handles_[r][reduction.datum]);
    }
  }
  void wait() {
    for (Runtime& rank : ranks_) rank.wait();
  }
  std::deque<Runtime>& ranks() { return ranks_; }
  std::vector<Statistics> statistics() const {
    std::vector<Statistics> all;
    all.reserve(ranks_.size());
    for (const Runtime& rank : ranks_) all.push_back(rank.statistics());
    return all;
  }

 private:
  // To all ranks each datum has content from the start: only its owner needs to know better, and a sound graph reads
  // nothing before it is written.
  void register_data(const std::vector<RankId>& owners) {
    handles_.resize(ranks_.size());
    for (auto& handles : handles_) handles.reserve(graph_.data().size());
    for (std::size_t d = 0; d < graph_.data().size(); ++d) {
      const graph::Graph::Datum& datum = graph_.data()[d];
      if (datum.home == NodeKind::disk) {
        throw UsageError("data " + std::string(graph_.data_name(d)) +
                         ": a home on a disk cannot be played on several ranks; give it a home in "
                         "RAM, or play it on one machine");
      }
      concerned_.add(owners[d], datum.bytes);
      const std::string name = base::legible_name(graph_.data_name(d));
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        handles_[r].push_back(ranks_[r].register_simulated(
            owners[d], datum.bytes, kRam,
            is_recorded_ || r == owners[d].value ? name : std::string()));
      }
    }
    for (const auto& [datum, neutral, combine] : graph_.reductions()) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r].set_reduction(handles_[r][datum],
                                {.neutral = &codelets_[neutral], .combine = &codelets_[combine]});
      }
    }
    owners_ = owners;
  }

  // A tile counts where it is written.
  void advise(const TileAdvice& advice) {
    for (std::size_t d = 0; d < graph_.data().size(); ++d) {
      const auto tile = graph_.tile(d);
      const auto node = tile ? advice.node(tile->row, tile->column) : std::nullopt;
      const std::uint32_t owner = owners_[d].value;
      if (node) ranks_[owner].advise(handles_[owner][d], node);
    }
  }

  void submit(const graph::Graph::Task& task) {
    uses_.clear();
    std::optional<RankId> on;  // without a tree tasks reduce where the data live
    for (const auto& access : graph_.accesses_of(task)) {
      if (access.mode == AccessMode::scratch) continue;
      const bool stays = access.mode == AccessMode::reduction && !reduces_anywhere_;
      if (stays) on = owners_[access.datum];
      uses_.push_back({datum_id(access.datum), stays ? AccessMode::RW : access.mode});
    }
    if (!on) on = concerned_.place(uses_);
    for (const RankId rank : concerned_.run(uses_, *on)) {
      operands_.clear();
      for (const auto& access : graph_.accesses_of(task)) {
        if (access.mode == AccessMode::scratch) {
          operands_.push_back(Scratch(graph_.data()[access.datum].bytes));
        } else {
          operands_.push_back({handles_[rank.value][access.datum], access.mode});
        }
      }
      const auto number = static_cast<std::size_t>(&task - graph_.tasks().data());
      ranks_[rank.value].submit(
          {.codelet = &codelets_[task.kernel],
           .operands = operands_,
           .priority = task.priority,
           .name = rank == *on ? std::string(graph_.task_name(number)) : std::string()});
    }
  }

  const graph::Graph& graph_;
  const std::vector<Codelet> codelets_;
  SimulatedCluster cluster_;
  comm::ConcernedRanks concerned_;
  const bool reduces_anywhere_;
  const bool is_recorded_;  // else only the owner of data needs their names
  std::deque<Runtime> ranks_;
  std::vector<std::vector<Handle>> handles_;  // by rank, by number of the datum
  std::vector<RankId> owners_;
  std::vector<comm::Use> uses_;  // of the task at hand
  std::vector<Operand> operands_;
};

}  // namespace

std::vector<RankId> owners_of(const graph::Graph& graph, const Distribution& distribution,
                              std::uint32_t ranks) {
  std::vector<std::optional<RankId>> owners(graph.data().size());
  for (std::size_t d = 0; d < owners.size(); ++d) {
    if (const auto tile = graph.tile(d))
      owners[d] = distribution.owner(tile->row, tile->column, ranks);
  }
  for (const graph::Graph::Task& task : graph.tasks()) {
    std::optional<RankId> first;
    for (const auto& access : graph.accesses_of(task)) {
      if (!first) first = owners[access.datum];
    }
    if (!first) continue;
    for (const auto& access : graph.accesses_of(task)) {
      if (!owners[access.datum]) owners[access.datum] = first;
    }
  }
  std::vector<RankId> all(owners.size());
  for (std::size_t d = 0; d < all.size(); ++d) {
    all[d] = owners[d].value_or(RankId{static_cast<std::uint32_t>(d % ranks)});
  }
  return all;
}

PlayedOnRanks play_on_ranks(const graph::Graph& graph, const machine::ClusterModel& model,
                            const Options& options, const ClusterJob& job,
                            const HooksOnRanks& hooks) {
  require_playable(graph);
  const TileAdvice advice(model.host.description, job.distribution, job.devices);
  const auto started = std::chrono::steady_clock::now();
  PlayedOnRanks played;
  {
    Cluster cluster(graph, model, options, job, advice, hooks);
    played.before = cluster.statistics();
    cluster.submit();
    cluster.wait();
    played.after = cluster.statistics();
    if (hooks.ended) hooks.ended(cluster.ranks(), played);
  }
  played.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return played;
}

}  // namespace vicinal::play
