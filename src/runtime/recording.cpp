// Recordings of the runtime: what their head says of the run, and what the application says while it runs.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/command_line.hpp"
#include "base/log.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/error.hpp"
#include "vicinal/trace.hpp"
#include "vicinal/version.hpp"

namespace vicinal::runtime {

namespace {

using Json = nlohmann::ordered_json;

std::string_view to_string(NodeKind kind) {
  constexpr std::string_view names[] = {"ram", "disk", "device"};
  return names[static_cast<std::size_t>(kind)];
}

Json to_json(const MachineDescription& machine) {
  Json nodes = Json::array();
  for (const NodeDescription& node : machine.nodes) {
    Json limit;
    if (node.limit) limit = node.limit->value;
    nodes.push_back({{"name", node.name}, {"kind", to_string(node.kind)}, {"limit", limit}});
  }
  Json workers = Json::array();
  for (const WorkerDescription& worker : machine.workers) {
    Json json = {{"kind", to_string(worker.kind)}, {"node", worker.node.value}};
    if (worker.task_overhead.ns > 0) json["task_overhead_ns"] = worker.task_overhead.ns;
    if (worker.copy_overhead.ns > 0) json["copy_overhead_ns"] = worker.copy_overhead.ns;
    if (worker.pipeline != 1) json["pipeline"] = worker.pipeline;
    workers.push_back(std::move(json));
  }
  Json links = Json::array();
  for (const LinkDescription& link : machine.links) {
    Json json = {{"from", link.from.value},
                 {"to", link.to.value},
                 {"bandwidth", link.bandwidth.value},
                 {"latency_ns", link.latency.ns},
                 {"segments", link.segments}};
    if (link.copies_in_flight != 1) json["copies_in_flight"] = link.copies_in_flight;
    if (!link.serialised.empty()) json["serialised"] = link.serialised;
    links.push_back(std::move(json));
  }
  Json json = {{"nodes", nodes}, {"workers", workers}, {"links", links}};
  for (const SegmentDescription& segment : machine.segments) {
    json["segments"].push_back({{"name", segment.name}, {"bandwidth", segment.bandwidth.value}});
  }
  if (machine.submit_overhead.ns > 0) json["submit_overhead_ns"] = machine.submit_overhead.ns;
  return json;
}

}  // namespace

std::string RuntimeImpl::facts_of_run() const {
  Json options = Json::object();
  for (const auto& [name, value] : options_.changed()) options[name] = value;
  Json facts = {{"command", base::command_of_process()},
                {"version", version()},
                {"policy", policy_name_},
                {"simulated", setup_.simulated != nullptr},
                {"options", options},
                {"machine", to_json(engine_->machine())}};
  // Each of which has such a machine.
  if (const trace::SharedRecording* const all = shared_recording()) facts["ranks"] = all->ranks();
  // The command line may be in any encoding.
  return facts.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void RuntimeImpl::start_trace(const std::string& file, std::string_view events) {
  require_same_process("start_trace");
  trace::Recorder& recorder = engine_->recorder();
  recorder.start({.file = file,
                  .categories = trace::parse_categories(events),
                  .memory = options_.trace_memory,
                  .run = facts_of_run(),
                  .shared = shared_recording(),
                  .rank = progress_ ? progress_->rank().value : 0});
  if (sequence_) sequence_->begin_recording();
  if (!recorder.on(trace::Category::submission)) return;
  application_->handles.for_each([this](const graph::Handle& handle) {
    // A private copy for a reduction is recorded with that.
    if (handle.takes_tasks() && !handle.is_private) record_known(handle);
  });
  application_->reductions.record();
}

void RuntimeImpl::record_known(const graph::Handle& handle) const {
  const graph::Family* const family = handle.family.load(std::memory_order_acquire);
  const bool is_part = family != nullptr && family->of != nullptr;
  application_->handles.record(handle, handle.name, is_part ? family->of->whole->id : HandleId{});
}

TraceSummary RuntimeImpl::stop_trace() {
  if (forked()) return {};
  const trace::RecordingSummary summary = engine_->recorder().stop();
  if (!summary.error.empty()) throw DeviceError(summary.error);
  return {summary.file, Bytes{summary.bytes}, summary.events_lost};
}

void RuntimeImpl::end_trace() noexcept {
  if (!engine_->recorder().records()) return;
  try {
    const TraceSummary summary = stop_trace();
    if (summary.events_lost == 0) return;
    base::process_log().warn(trace::about_lost_events(summary.events_lost));
  } catch (const std::exception& error) {
    try {
      base::process_log().warn(error.what());
    } catch (const std::bad_alloc&) {  // there is nobody to be told
    }
  }
}

}  // namespace vicinal::runtime

namespace vicinal {

void Runtime::start_trace(const std::string& file, std::string_view events) {
  impl_->start_trace(file, events);
}

TraceSummary Runtime::stop_trace() {
  return impl_->stop_trace();
}

void Runtime::mark(std::string_view text) {
  trace::Recorder& recorder = impl_->engine().recorder();
  if (recorder.on(trace::Category::application)) recorder.record_text<trace::Event::mark>(text, 0);
}

void Runtime::note(std::string_view name, std::string_view value) {
  trace::Recorder& recorder = impl_->engine().recorder();
  if (!recorder.records()) return;
  std::string text(name);
  text += '\n';
  text += value;
  recorder.record_text<trace::Event::fact>(text, 0);
}

TraceRegion Runtime::region(std::string_view text) {
  trace::Recorder& recorder = impl_->engine().recorder();
  TraceRegion region;
  if (!recorder.on(trace::Category::application)) return region;
  region.recorder_ = &recorder;
  region.number_ = impl_->next_region();
  recorder.record_text<trace::Event::region_began>(text, 0, region.number_);
  return region;
}

TraceRegion::TraceRegion(TraceRegion&& other) noexcept
    : recorder_(std::exchange(other.recorder_, nullptr)), number_(other.number_) {}

TraceRegion::~TraceRegion() {
  if (recorder_ == nullptr) return;
  auto& recorder = *static_cast<trace::Recorder*>(recorder_);
  if (recorder.on(trace::Category::application)) {
    recorder.record<trace::Event::region_ended>(0, number_);
  }
}

}  // namespace vicinal
