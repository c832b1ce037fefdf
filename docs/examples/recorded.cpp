// A program that records a part of its run, and says what it does meanwhile.
#include <cstdio>
#include <span>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {

void add_one(KernelContext& k) {
  for (double& value : std::span(k.data<double>(0), k.count<double>(0))) value += 1;
}
const Codelet add_one_codelet{.name = "add_one", .cpu = add_one};

}  // namespace

int main() {
  std::vector<std::vector<double>> values(8, std::vector<double>(1000));
  Runtime runtime;
  std::vector<Handle> rows;
  for (std::vector<double>& row : values) {
    rows.push_back(runtime.register_buffer(row.data(), Bytes{row.size() * sizeof(double)},
                                           "row " + std::to_string(rows.size())));
  }
  runtime.start_trace("steps.vtrace", "tasks,transfers,application");
  for (int step = 0; step < 3; ++step) {
    const vicinal::TraceRegion region = runtime.region("step " + std::to_string(step));
    for (const vicinal::Handle& row : rows) {
      runtime.submit({.codelet = &add_one_codelet, .operands = {RW(row)}});
    }
    runtime.wait();
  }
  runtime.mark("all steps done");
  runtime.note("parameter.steps", "3");
  const vicinal::TraceSummary summary = runtime.stop_trace();
  std::printf("%llu bytes, %llu events lost\n",
              static_cast<unsigned long long>(summary.written.value),
              static_cast<unsigned long long>(summary.events_lost));
  for (const Handle& row : rows) runtime.unregister(row);
  return values[7][999] == 3 && summary.events_lost == 0 ? 0 : 1;
}
