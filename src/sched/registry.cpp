// The table of policies. A new one takes its declaration and its line here.

#include <string>
#include <vector>

#include "base/text.hpp"
#include "sched/policy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sched {

// Each is defined in policies/<name>.cpp.
std::unique_ptr<Policy> make_lws();
std::unique_ptr<Policy> make_eager();
std::unique_ptr<Policy> make_prio();
std::unique_ptr<Policy> make_darts();

namespace {

constexpr PolicyEntry kPolicies[] = {
    {"lws", "a deque per worker, idle workers steal from their neighbours", make_lws},
    {"eager", "one queue for all workers, first in, first out", make_eager},
    {"prio", "one queue for all workers, highest priority first", make_prio},
    {"darts", "loads the data that set most work free, evicts what is used least and latest",
     make_darts},
};

}  // namespace

std::span<const PolicyEntry> policies() {
  return kPolicies;
}

std::unique_ptr<Policy> make_policy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PolicyEntry& entry : kPolicies) {
    if (entry.name == name) return entry.make();
    names.push_back(entry.name);
  }
  std::string message = "there is no policy \"" + std::string(name) + "\"";
  const std::string_view near = base::nearest(name, names);
  if (!near.empty()) message += ": did you mean \"" + std::string(near) + "\"?";
  message += near.empty() ? ": use one of" : " There are";
  for (const std::string_view known : names) message += " " + std::string(known);
  throw UsageError(message);
}

}  // namespace vicinal::sched
