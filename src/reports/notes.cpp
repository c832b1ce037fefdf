#include "reports/notes.hpp"

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::reports {

namespace {

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& known) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(known)>, Bytes>) {
          return fmt::format("{}", known.value);
        } else {
          return fmt::format("{}", known);
        }
      },
      value);
}

class Notes {
 public:
  explicit Notes(Runtime& runtime) : runtime_(runtime) {}
  void tell(const std::string& name, const Value& value) const {
    runtime_.note(name, text_of(value));
  }
  void tell_if(bool known, const std::string& name, const Value& value) const {
    if (known) tell(name, value);
  }

 private:
  Runtime& runtime_;
};

}  // namespace

void note_run(Runtime& runtime, const Report& report) {
  const Notes notes(runtime);
  notes.tell_if(!report.command.empty(), "command", report.command);
  notes.tell_if(!report.application.empty(), "application", report.application);
  for (const auto& [name, value] : report.parameters) notes.tell("parameter." + name, value);
  for (const auto& [name, value] : report.machine) notes.tell("machine." + name, value);
}

void note_result(Runtime& runtime, const RunRecord& record) {
  const Notes notes(runtime);
  notes.tell("result.seconds", record.seconds);
  notes.tell("result.tasks", record.tasks);
  notes.tell("result.bytes_in", record.bytes_in);
  notes.tell("result.bytes_out", record.bytes_out);
  notes.tell_if(record.flops > 0, "result.gflops", record.gflops());
  if (record.verified) notes.tell("result.verified", std::string(*record.verified ? "yes" : "no"));
  const RunBounds& bounds = record.bounds;
  notes.tell_if(bounds.seconds() > 0, "bound.seconds", bounds.seconds());
  notes.tell_if(bounds.work_seconds > 0, "bound.work_seconds", bounds.work_seconds);
  notes.tell_if(bounds.area_seconds > 0, "bound.area_seconds", bounds.area_seconds);
  notes.tell_if(bounds.path_seconds > 0, "bound.path_seconds", bounds.path_seconds);
  notes.tell_if(bounds.transfer_seconds > 0, "bound.transfer_seconds", bounds.transfer_seconds);
  notes.tell("bound.bytes_in", bounds.bytes_in());
  notes.tell("bound.bytes_out", bounds.bytes_out());
}

void end_recording(Runtime& runtime, RunRecord& record) {
  try {
    const TraceSummary summary = runtime.stop_trace();
    record.recording = {.file = summary.file, .bytes = summary.written, .message = {}};
    if (summary.events_lost == 0) return;
    record.recording.message = fmt::format(
        "the recording lacks {} events for which there was no memory; raise "
        "--trace-memory, or record fewer categories (--trace-events)",
        summary.events_lost);
  } catch (const DeviceError& error) {
    record.recording = {.file = {}, .bytes = {}, .message = error.what(), .failed = true};
  }
}

}  // namespace vicinal::reports
