#include "reports/findings_json.hpp"

#include <utility>

#include "reports/explain_context.hpp"

namespace vicinal::reports {

namespace {

template <typename Entries, typename Times>
Json causes_json(const Entries& entries, const Times& times) {
  Json json = Json::object();
  for (std::size_t c = 0; c < times.size(); ++c) json[std::string(entries[c].name)] = times[c];
  return json;
}

}  // namespace

Json verdict_json(const analysis::Verdict& verdict) {
  return {{"sentence", verdict.sentence},
          {"remedy", verdict.remedy},
          {"binds", to_string(verdict.binder)},
          {"subject", verdict.subject},
          {"time_ns", verdict.time},
          {"share", verdict.share}};
}

Json path_json(const analysis::Analyses& analyses) {
  const analysis::CriticalPath& path = analyses.path;
  return {{"begin_ns", path.begin},
          {"end_ns", path.end},
          {"by_cause_ns", causes_json(analysis::path_causes(), path.by_cause)},
          {"longest_chain_ns", analyses.chain}};
}

Json idle_json(const analysis::RecordedRun& run, const analysis::Idle& idle) {
  Json workers = Json::array();
  for (std::uint32_t w = 0; w < idle.workers.size(); ++w) {
    Json worker = explaining::worker_json(run, w);
    worker["run_ns"] = idle.workers[w].run;
    worker["idle_ns"] = causes_json(analysis::idle_causes(), idle.workers[w].by_cause);
    workers.push_back(std::move(worker));
  }
  return {{"wall_ns", idle.wall},
          {"run_ns", idle.all.run},
          {"idle_ns", causes_json(analysis::idle_causes(), idle.all.by_cause)},
          {"workers", std::move(workers)}};
}

Json advice_json(const analysis::RecordedRun& run, const analysis::Analyses& analyses) {
  Json json = Json::array();
  for (const analysis::Advice& of : analysis::advice(run, analyses)) {
    json.push_back({{"kind", to_string(of.kind)},
                    {"subject", of.subject},
                    {"gain_at_most_ns", of.gain},
                    {"change", of.change},
                    {"reason", of.reason}});
  }
  return json;
}

Json comparison_json(const analysis::Comparison& comparison) {
  Json parts = Json::array();
  for (const analysis::PartOfDifference& part : comparison.parts) {
    parts.push_back({{"name", part.name},
                     {"first_ns", part.first},
                     {"second_ns", part.second},
                     {"difference_ns", part.difference()},
                     {"small", part.is_small}});
  }
  return {
      {"sentence", comparison.sentence}, {"first_ns", comparison.first},
      {"second_ns", comparison.second},  {"difference_ns", comparison.second - comparison.first},
      {"changes", comparison.changes},   {"parts", std::move(parts)}};
}

}  // namespace vicinal::reports
