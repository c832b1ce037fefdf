// The table of policies. A new one of the library takes its declaration and its line here.

#include "base/registry.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sched/default_policy.hpp"
#include "sched/policy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sched {

// Each is defined in policies/<name>.cpp, belady in policies/eager.cpp, those of the list schedulers in policies/dm.cpp,
// rws in policies/xkaapi.cpp, those that place tasks by where data belong (also ap) in policies/placing.cpp, those that
// run an order of all that is known in policies/packaged.cpp.
std::unique_ptr<Policy> make_lws();
std::unique_ptr<Policy> make_eager();
std::unique_ptr<Policy> make_prio();
std::unique_ptr<Policy> make_darts(const Settings&);
std::unique_ptr<Policy> make_dmda();
std::unique_ptr<Policy> make_dmdar();
std::unique_ptr<Policy> make_dmdas();
std::unique_ptr<Policy> make_heft();
std::unique_ptr<Policy> make_random();
std::unique_ptr<Policy> make_belady();
std::unique_ptr<Policy> make_owner(const Settings&);
std::unique_ptr<Policy> make_load(const Settings&);
std::unique_ptr<Policy> make_directed(const Settings&);
std::unique_ptr<Policy> make_touch(const Settings&);
std::unique_ptr<Policy> make_hfp(const Settings& settings);
std::unique_ptr<Policy> make_horizon(const Settings& settings);
std::unique_ptr<Policy> make_mst(const Settings& settings);
std::unique_ptr<Policy> make_rcm(const Settings& settings);
std::unique_ptr<Policy> make_rws(const Settings& settings);
std::unique_ptr<Policy> make_xkaapi(const Settings& settings);
std::unique_ptr<Policy> make_ap(const Settings& settings);
std::unique_ptr<Policy> make_lfq();

namespace {

// A policy that has no settings.
template <std::unique_ptr<Policy> make()>
std::unique_ptr<Policy> plain(const Settings& /*none*/) {
  return make();
}

constexpr Setting kCores = {
    "cores", "first", "first|last",
    "whether cores get what they end before any accelerator, or only what no accelerator can run"};
constexpr Setting kPlacingSettings[] = {kCores};
constexpr Setting kLoadSettings[] = {
    kCores,
    {"skew", "20", "number",
     "by how many per cent others must end earlier before the node that has what a task reads is "
     "left; 0: load alone"},
};
constexpr Setting kDartsSettings[] = {
    {"cost", "classes", "classes|exact",
     "time to load data per time of the tasks set free: compared by powers of 4, or exactly"},
};
constexpr Setting kXkaapiSettings[] = {
    {"push", "h2", "h1|h2|local",
     "where a task goes that becomes ready: h1, where most bytes of its operands are valid; h2, to "
     "an accelerator that holds what it writes; local, nowhere else"},
    {"window", "2", "number",
     "tasks in flight of an accelerator, copied for or running; 0: as many as the look-ahead "
     "takes"},
};
constexpr Setting kApSettings[] = {
    kCores,
    {"skew", "20", "number",
     "per cent by which the owner of what a task reads may end it later than another device"},
};

constexpr Setting kSteal = {
    "steal", "half", "half|one|none",
    "what a node without tasks takes from the node with most time left: half of that, or a task"};
constexpr Setting ready(std::string_view usual) {
  return {"ready", usual, "yes|no", "of the next 30 ready tasks first the one that lacks least"};
}
constexpr Setting victims(std::string_view usual) {
  return {"victims", usual, "belady|lru",
          "what leaves a full memory: used last by the plan, or lru"};
}
constexpr Setting kHfpSettings[] = {
    {"flip", "yes", "yes|no", "reverse packages where they then share more with their neighbours"},
    {"sizes", "rounded", "rounded|exact",
     "shared data count by sizes rounded to the median times a power of two; exact: the paper's "
     "rule"},
    ready("yes"),
    victims("belady"),
    {"balance", "time", "time|count|duration|none",
     "packages of several accelerators are made equal in this"},
    kSteal,
};
// As in the paper, which compares these orders under least recently used.
constexpr Setting kOrderSettings[] = {ready("no"), victims("lru"), kSteal};

constexpr Setting kHorizonSettings[] = {
    ready("no"),
    victims("belady"),
    {"steal", "none", "half|one|none",
     "what a node without tasks takes from the node with most time left: half of that, or a task"}};

constexpr PolicyEntry kPolicies[] = {
    {"lws", "a deque per worker, idle workers steal from their neighbours", plain<make_lws>},
    {"eager", "one queue for all workers, first in, first out", plain<make_eager>},
    {"prio", "one queue for all workers, highest priority first", plain<make_prio>},
    {"darts", "loads the data that set most work free, evicts what is used least and latest",
     make_darts, kDartsSettings},
    {"dmda", "gives each ready task to the worker where it and its data are predicted done first",
     plain<make_dmda>},
    {"dmdar", "as dmda, and of a worker's tasks first the one whose data lack least",
     plain<make_dmdar>},
    {"dmdas", "as dmdar, among the worker's tasks of highest priority", plain<make_dmdas>},
    {"heft", "highest priority first to the worker where it is predicted to end first",
     plain<make_heft>},
    {"random", "draws the worker, faster ones more often", plain<make_random>},
    {"belady", "one queue, first in, first out; evicts what its tasks use last",
     plain<make_belady>},
    {"owner", "runs a task where what it writes was written last, or is advised to be", make_owner,
     kPlacingSettings},
    {"load", "as owner; else near what the task reads, unless others end more than skew % earlier",
     make_load, kLoadSettings},
    {"directed", "runs a task where the application says, or advises for its data", make_directed,
     kPlacingSettings},
    {"touch", "deals data to accelerators by lot, and runs tasks where their data belong",
     make_touch, kPlacingSettings},
    {"rws",
     "a list per worker, the newest first; idle workers steal the oldest of one drawn by lot",
     make_rws},
    {"xkaapi", "as rws; tasks are pushed to the workers that hold their data", make_xkaapi,
     kXkaapiSettings},
    {"ap", "highest priority first to the accelerator that owns its data, or the least loaded",
     make_ap, kApSettings},
    {"lfq",
     "a short list per worker, highest priority first, and one queue for what finds no place",
     plain<make_lfq>},
    {"hfp", "packages of tasks that share data, made ahead; evicts what they use last", make_hfp,
     kHfpSettings},
    {"horizon", "plans blocks of tasks that share data, and evicts what they use last",
     make_horizon, kHorizonSettings},
    {"mst", "ahead; next comes the task that shares most data with the tasks before", make_mst,
     kOrderSettings},
    {"rcm", "ahead, tasks that share data close to each other, as rows of a band matrix", make_rcm,
     kOrderSettings},
};

base::Registry<PolicyEntry>& registered() {
  static base::Registry<PolicyEntry> all("policy");
  return all;
}

}  // namespace

std::vector<PolicyEntry> policies() {
  std::vector<PolicyEntry> all(std::begin(kPolicies), std::end(kPolicies));
  const std::vector<PolicyEntry> registered = registered_policies();
  all.insert(all.end(), registered.begin(), registered.end());
  return all;
}

std::vector<PolicyEntry> registered_policies() {
  return registered().entries();
}

void register_policy(const PolicyEntry& entry) {
  if (entry.make == nullptr) {
    throw UsageError("policy \"" + std::string(entry.name) +
                     "\": give register_policy a function that makes it");
  }
  std::vector<std::string_view> taken{"all", kDefault, kAuto};
  for (const PolicyEntry& known : kPolicies) taken.push_back(known.name);
  registered().add(entry, taken);
}

std::unique_ptr<Policy> make_policy(std::string_view text) {
  const std::size_t end = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, end);
  const std::string_view settings = text.substr(std::min(end + 1, text.size()));
  std::vector<std::string_view> names;
  for (const PolicyEntry& entry : policies()) {
    if (entry.name == name) return entry.make(Settings(name, settings, entry.settings));
    names.push_back(entry.name);
  }
  std::string message = fmt::format("there is no policy \"{}\"", name);
  const std::string_view near = base::nearest(name, names);
  if (!near.empty()) message += ": did you mean \"" + std::string(near) + "\"?";
  message += near.empty() ? ": use one of" : " There are";
  for (const std::string_view known : names) message += " " + std::string(known);
  throw UsageError(message);
}

}  // namespace vicinal::sched
