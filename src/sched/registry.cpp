// The table of policies. A new one takes its declaration and its line here.

#include <string>
#include <vector>

#include "base/text.hpp"
#include "sched/policy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sched {

// Each is defined in policies/<name>.cpp, those of the list schedulers in policies/dm.cpp.
std::unique_ptr<Policy> make_lws();
std::unique_ptr<Policy> make_eager();
std::unique_ptr<Policy> make_prio();
std::unique_ptr<Policy> make_darts();
std::unique_ptr<Policy> make_dmda();
std::unique_ptr<Policy> make_dmdar();
std::unique_ptr<Policy> make_dmdas();
std::unique_ptr<Policy> make_heft();
std::unique_ptr<Policy> make_random();
std::unique_ptr<Policy> make_belady();

namespace {

constexpr PolicyEntry kPolicies[] = {
    {"lws", "a deque per worker, idle workers steal from their neighbours", make_lws},
    {"eager", "one queue for all workers, first in, first out", make_eager},
    {"prio", "one queue for all workers, highest priority first", make_prio},
    {"darts", "loads the data that set most work free, evicts what is used least and latest",
     make_darts},
    {"dmda", "gives each ready task to the worker where it and its data are predicted done first",
     make_dmda},
    {"dmdar", "as dmda, and of a worker's tasks first the one whose data lack least", make_dmdar},
    {"dmdas", "as dmdar, among the worker's tasks of highest priority", make_dmdas},
    {"heft", "highest priority first to the worker where it is predicted to end first", make_heft},
    {"random", "draws the worker, faster ones more often", make_random},
    {"belady", "one queue, first in, first out; evicts what its tasks use last", make_belady},
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
