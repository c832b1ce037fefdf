// What all explanations of a run share: its analyses, names for people, and which decision stands behind what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analysis/advice.hpp"
#include "analysis/known_steps.hpp"
#include "analysis/recorded_run.hpp"
#include "analysis/verdict.hpp"
#include "reports/json.hpp"

namespace vicinal::trace {
class EventSource;
}

namespace vicinal::reports::explaining {

using analysis::kNobody;
using analysis::kUnknown;

// Indices of RecordedRun::decisions. A decision belongs to one thing at most.
struct DecisionLinks {
  std::vector<std::vector<std::uint32_t>> of_task;  // about it, or that chose it among tasks
  std::vector<std::uint32_t> of_eviction;           // by index of Traffic::evictions; kNobody: none
  std::vector<std::uint32_t> of_copy;               // prefetches and write-behind; kNobody: none
  std::vector<std::uint32_t> others;  // refusals, choices of data, victims that stayed
};

struct Context {
  explicit Context(const analysis::RecordedRun& run);

  const analysis::RecordedRun& run;
  const analysis::Analyses of;
  const analysis::KnownSteps steps;
  const std::vector<std::vector<std::uint32_t>> successors;
  const DecisionLinks links;
  const std::vector<std::vector<std::uint32_t>> copies_of;  // by datum
  const std::vector<std::vector<std::uint32_t>> users_of;   // by datum, tasks
  // By node, the tasks that waited for room there, by when they got it.
  const std::vector<std::vector<std::uint32_t>> room_waits;

  // A moment of the run: "12.345 ms". The unit is the same for the whole run.
  std::string moment(std::int64_t time) const;
  // Who waited for room on the node then, the first in its queue; kNobody: nobody.
  std::uint32_t waiting_for_room(std::uint32_t node, std::int64_t time) const;
};

std::string duration(std::int64_t ns);                       // "1.234 ms"
std::string size(std::uint64_t bytes);                       // "2 MiB"
std::string percent(std::int64_t part, std::int64_t whole);  // "12.3 %"
std::string counted(std::uint64_t count, const char* one,
                    const char* many);  // "1 copy", "3 copies"
// "as a copy of a task's operand": why the datum was copied.
const char* cause_of(analysis::Cause cause);

// {"task": 12, "name": "gemm 12"}; null of kNobody.
Json task_json(const analysis::RecordedRun& run, std::uint32_t task);
Json datum_json(const analysis::RecordedRun& run, std::uint32_t datum);
Json node_json(const analysis::RecordedRun& run, std::uint32_t node);
Json worker_json(const analysis::RecordedRun& run, std::uint32_t worker);
Json time_json(std::int64_t time);  // null of kUnknown
Json copy_json(const Context& context, std::uint32_t copy);

// --- each as text, with a line feed at its end, and as JSON

std::string decision_text(const Context& context, std::uint32_t decision);
Json decision_json(const Context& context, std::uint32_t decision);

std::string task_text(const Context& context, std::uint32_t task);
Json explained_task_json(const Context& context, std::uint32_t task);

std::string handle_text(const Context& context, std::uint32_t datum);
Json explained_handle_json(const Context& context, std::uint32_t datum);

std::string evictions_text(const Context& context);
Json evictions_json(const Context& context);
// One of Traffic::evictions, as a sentence without its time.
std::string eviction_text(const Context& context, std::size_t eviction);

std::string waits_text(const Context& context);
Json waits_json(const Context& context);

std::string summary_text(const Context& context);
Json summary_json(const Context& context);
// What ran, and on which machine.
Json run_json(const Context& context);

// The ranks of the run, a line each; that it is the recording of one of several; else empty.
std::string ranks_text(const analysis::RecordedRun& run);
Json ranks_json(const analysis::RecordedRun& run);
Json messages_json(const analysis::RecordedRun& run);

// All tasks of a codelet; what a worker did; what happened at a moment, in ns.
std::string codelet_text(const Context& context, const std::string& codelet);
Json codelet_json(const Context& context, const std::string& codelet);
std::string worker_text(const Context& context, std::uint32_t worker);
Json worker_explained_json(const Context& context, std::uint32_t worker);
std::string moment_text(const Context& context, std::int64_t time);
Json moment_json(const Context& context, std::int64_t time);

// "; no byte of it had to travel: ..." of what was made and used in one memory and travelled; else empty.
std::string in_vain_text(const Context& context, std::uint32_t datum);
// "a gemm", "an assign".
std::string with_article(const std::string& name);

struct NamedContext {
  const Context& context;  // of the run proper
  std::string name;
};
std::string comparison_text(const NamedContext& first, const NamedContext& second);
Json comparison_json(const NamedContext& first, const NamedContext& second);

// Every event; decisions by their number.
Json log_json(const analysis::RecordedRun& run, const trace::EventSource& source);

}  // namespace vicinal::reports::explaining
