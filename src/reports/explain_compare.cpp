// Two runs beside each other: what differs, and where the difference of their times lies.
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/comparison.hpp"
#include "reports/explain_context.hpp"
#include "reports/findings_json.hpp"

namespace vicinal::reports::explaining {

namespace {

std::string signed_time(std::int64_t ns) {
  if (ns == 0) return "none";
  return (ns < 0 ? "-" : "+") + duration(ns < 0 ? -ns : ns);
}

analysis::Comparison compared_contexts(const NamedContext& first, const NamedContext& second) {
  return analysis::compared({first.context.run, first.context.of, first.name},
                            {second.context.run, second.context.of, second.name});
}

}  // namespace

std::string comparison_text(const NamedContext& first, const NamedContext& second) {
  const analysis::Comparison all = compared_contexts(first, second);
  std::string text = all.sentence + "\n";
  if (!all.changes.empty()) {
    text += fmt::format("\n{} had, beside {}:\n", second.name, first.name);
    for (const std::string& change : all.changes) text += "  " + change + "\n";
  }
  text +=
      fmt::format("\nThe critical paths, of {} and {}; the differences add up to {}:\n",
                  duration(all.first), duration(all.second), signed_time(all.second - all.first));
  bool small = false;
  for (const analysis::PartOfDifference& part : all.parts) {
    if (part.is_small && !small) text += "  small:\n";
    small = part.is_small;
    text += fmt::format("  {:>10}  {}: {} and {}\n", signed_time(part.difference()), part.name,
                        duration(part.first), duration(part.second));
  }
  for (const NamedContext* const each : {&first, &second}) {
    const analysis::Verdict verdict = analysis::verdict(each->context.run, each->context.of);
    text += fmt::format("\n{}: {}\n", each->name, verdict.sentence);
    if (!verdict.remedy.empty()) text += verdict.remedy + "\n";
  }
  return text;
}

Json comparison_json(const NamedContext& first, const NamedContext& second) {
  return reports::comparison_json(compared_contexts(first, second));
}

}  // namespace vicinal::reports::explaining
