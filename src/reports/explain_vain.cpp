// Data that travelled although they were made and used in one memory.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "analysis/steps.hpp"
#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::RecordedRun;
using analysis::TaskOfRun;

namespace {

// Of a datum that a task has made: all that used it ran beside the same memory.
struct Made {
  std::uint32_t node = kNobody;
  std::int64_t longest = 0;  // ns from when it was written to when it was read
};

// node is kNobody: it was there before, was never read, or was used elsewhere, too.
Made made(const Context& context, std::uint32_t datum) {
  const RecordedRun& run = context.run;
  Made result;
  std::int64_t written = kUnknown;
  bool read = false;
  for (const std::uint32_t t : context.users_of[datum]) {
    const TaskOfRun& task = run.tasks[t];
    if (!ran_on_worker(task)) continue;
    const std::uint32_t node = node_of(run, task);
    if (result.node != kNobody && node != result.node) return {};
    result.node = node;
    for (const analysis::AccessOfTask& access : run.accesses_of(task)) {
      if (access.datum != datum) continue;
      if (vicinal::reads(access.mode)) {
        if (written == kUnknown) return {};
        read = true;
        result.longest = std::max(result.longest, task.started - written);
      }
      if (leaves_content(access.mode)) written = task.ended;
    }
  }
  return read ? result : Made{};
}

}  // namespace

std::string in_vain_text(const Context& context, std::uint32_t datum) {
  const Made of = made(context, datum);
  if (of.node == kNobody) return "";
  return fmt::format("; no byte of it had to travel: it was made {} before it was read, both in {}",
                     duration(of.longest), context.run.name_of_node(of.node));
}

std::string with_article(const std::string& name) {
  constexpr std::string_view kVowels = "aeiou";
  const bool vowel =
      !name.empty() &&
      kVowels.find(static_cast<char>(std::tolower(static_cast<unsigned char>(name.front())))) !=
          std::string_view::npos;
  return (vowel ? "an " : "a ") + name;
}

}  // namespace vicinal::reports::explaining
