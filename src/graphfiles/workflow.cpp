#include "graphfiles/workflow.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>

#include <fmt/format.h>

#include "graph/sound.hpp"
#include "graphfiles/file_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

using Accesses = std::vector<graph::Graph::Access>;
constexpr Workflow::Number kNone = static_cast<Workflow::Number>(-1);

void sort_once(std::vector<Workflow::Number>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

std::string category_of(const std::string& name) {
  constexpr std::string_view kSeparators = "_-.#:/ ";
  std::string_view rest = name;
  const auto strip = [&rest](std::string_view characters) {
    const auto last = rest.find_last_not_of(characters);
    rest = rest.substr(0, last == std::string_view::npos ? 0 : last + 1);
  };
  strip("0123456789");
  if (rest.size() == name.size()) return name;
  if (rest.size() > 2 && rest.ends_with("ID") &&
      kSeparators.find(rest[rest.size() - 3]) != std::string_view::npos) {
    rest.remove_suffix(2);
  }
  strip(kSeparators);
  return rest.empty() ? name : std::string(rest);
}

std::array<double, kProcessorKinds> seconds_everywhere(double seconds) {
  std::array<double, kProcessorKinds> all{};
  for (const ProcessorKind kind : {ProcessorKind::cpu, ProcessorKind::gpu}) {
    all[static_cast<std::size_t>(kind)] = std::max(seconds, 1e-9);
  }
  return all;
}

Workflow::Number Workflow::add_file(std::string name, Bytes bytes) {
  file_names_.insert(name);
  files_.push_back({std::move(name), bytes});
  return static_cast<Number>(files_.size() - 1);
}

Workflow::Number Workflow::add_step(Step step) {
  steps_.push_back(std::move(step));
  nodes_.emplace_back();
  return static_cast<Number>(steps_.size() - 1);
}

// --- order ---------------------------------------------------------------------------------------
// Of a file that several tasks write, only named edges and the order in the file can say which version a reader means.
std::vector<std::pair<Workflow::Number, Workflow::Number>> Workflow::edges_by_files() const {
  std::vector<Number> writer(files_.size(), kNone);
  std::vector<bool> many(files_.size());
  for (Number t = 0; t < steps_.size(); ++t) {
    for (const graph::Graph::Access& access : steps_[t].accesses) {
      if (!writes(access.mode)) continue;
      if (writer[access.datum] != kNone && writer[access.datum] != t) many[access.datum] = true;
      writer[access.datum] = t;
    }
  }
  std::vector<std::pair<Number, Number>> edges;
  for (Number t = 0; t < steps_.size(); ++t) {
    for (const graph::Graph::Access& access : steps_[t].accesses) {
      const Number before = writer[access.datum];
      if (before != kNone && before != t && !many[access.datum]) edges.emplace_back(before, t);
    }
  }
  return edges;
}

void Workflow::merge_accesses(Accesses& accesses) const {
  std::unordered_map<Number, std::size_t> position;
  std::size_t kept = 0;
  for (const graph::Graph::Access access : accesses) {
    const auto [found, is_new] = position.try_emplace(access.datum, kept);
    if (is_new) {
      accesses[kept++] = access;
    } else {
      accesses[found->second].mode = strongest(accesses[found->second].mode, access.mode);
    }
  }
  accesses.resize(kept);
}

// The same edge may be named at both ends.
void Workflow::sort_edges() {
  for (const auto& [before, after] : edges_by_files()) nodes_[before].by_files.push_back(after);
  for (Node& node : nodes_) {
    sort_once(node.children);
    sort_once(node.by_files);
    sort_once(node.guesses);
  }
}

std::vector<std::size_t> Workflow::missing_before(bool with_guesses) const {
  std::vector<std::size_t> missing(nodes_.size());
  for (const Node& node : nodes_) {
    for (const Number after : node.children) ++missing[after];
    for (const Number after : node.by_files) ++missing[after];
    if (!with_guesses) continue;
    for (const Number after : node.guesses) ++missing[after];
  }
  return missing;
}

// The order of the file, as far as dependencies allow. Tasks that wait for each other in a circle are left out. A guess
// that would close a circle counts for nothing.
std::vector<Workflow::Number> Workflow::order_of_file(bool with_guesses) const {
  std::vector<std::size_t> missing = missing_before(with_guesses);
  std::vector<std::size_t> firm = with_guesses ? missing_before(false) : missing;
  std::vector<bool> placed(nodes_.size());
  using Queue = std::priority_queue<Number, std::vector<Number>, std::greater<>>;
  Queue free;
  Queue guessed;  // those that wait for guesses alone
  for (Number t = 0; t < nodes_.size(); ++t) {
    if (missing[t] == 0) {
      free.push(t);
    } else if (firm[t] == 0) {
      guessed.push(t);
    }
  }
  std::vector<Number> order;
  order.reserve(nodes_.size());
  while (!free.empty() || !guessed.empty()) {
    Queue& from = free.empty() ? guessed : free;
    const Number t = from.top();
    from.pop();
    if (placed[t]) continue;
    placed[t] = true;
    order.push_back(t);
    const auto settle = [&](const std::vector<Number>& afters, bool is_firm) {
      for (const Number after : afters) {
        --missing[after];
        if (is_firm) --firm[after];
        if (placed[after]) continue;
        if (missing[after] == 0) {
          free.push(after);
        } else if (is_firm && firm[after] == 0) {
          guessed.push(after);
        }
      }
    };
    settle(nodes_[t].children, true);
    settle(nodes_[t].by_files, true);
    if (with_guesses) settle(nodes_[t].guesses, false);
  }
  return order;
}

// A task that reads a file which one of those that follow it by named edges writes means what was there before.
void Workflow::drop_files_against_edges() {
  std::vector<bool> stuck(nodes_.size(), true);
  for (const Number t : order_of_file(false)) stuck[t] = false;
  std::vector<std::vector<Number>> writers(nodes_.size());
  for (Number w = 0; w < nodes_.size(); ++w) {
    if (!stuck[w]) continue;
    for (const Number reader : nodes_[w].by_files) writers[reader].push_back(w);
  }
  // Looking for those that follow takes its time; a file that needs more than this is a riddle.
  std::size_t steps_left = 20'000'000;
  std::vector<Number> seen(nodes_.size(), kNone);
  std::vector<Number> open;
  for (Number reader = 0; reader < nodes_.size(); ++reader) {
    if (writers[reader].empty() || nodes_[reader].children.empty()) continue;
    open.assign(1, reader);
    while (!open.empty()) {
      const Number t = open.back();
      open.pop_back();
      for (const Number after : nodes_[t].children) {
        if (steps_left-- == 0) return;
        if (!stuck[after] || seen[after] == reader) continue;
        seen[after] = reader;
        open.push_back(after);
      }
    }
    for (const Number writer : writers[reader]) {
      if (seen[writer] == reader) std::erase(nodes_[writer].by_files, reader);
    }
  }
}

// Each task that is left waits for another one that is left: going from one to such another comes back.
void Workflow::refuse_circle() const {
  std::vector<bool> left(nodes_.size(), true);
  for (const Number t : order_of_file(false)) left[t] = false;
  std::vector<Number> before(nodes_.size(), kNone);
  for (Number t = 0; t < nodes_.size(); ++t) {
    if (!left[t]) continue;
    for (const auto* afters : {&nodes_[t].children, &nodes_[t].by_files}) {
      for (const Number after : *afters) before[after] = t;
    }
  }
  std::vector<bool> passed(nodes_.size());
  auto t = static_cast<Number>(std::find(left.begin(), left.end(), true) - left.begin());
  while (!passed[t]) {
    passed[t] = true;
    t = before[t];
  }
  // From each to the one that must wait for it.
  std::string circle = in_quotes(steps_[t].id);
  std::size_t shown = 1;
  constexpr std::size_t kMostShown = 8;
  Number at = before[t];
  for (; at != t && shown < kMostShown; at = before[at], ++shown) {
    circle.insert(0, in_quotes(steps_[at].id) + " -> ");
  }
  circle.insert(0, (at == t ? in_quotes(steps_[t].id) : "...") + " -> ");
  refuse_at(origin_, list_, "tasks that wait for each other: " + circle);
}

// Whether one of the two writes a file that both have. The shorter list is gone through: a file may name thousands of
// tasks that each have thousands of files.
bool Workflow::share_a_file(Number before, Number after) {
  const bool forward = own_accesses_[before] <= own_accesses_[after];
  const Number few = forward ? before : after;
  const Number many = forward ? after : before;
  if (own_accesses_[few] == 0) return false;
  std::unordered_map<Number, AccessMode>& modes = modes_[many];
  if (modes.empty()) {
    for (const graph::Graph::Access& access : steps_[many].accesses) {
      modes.emplace(access.datum, access.mode);
    }
  }
  const auto first = steps_[few].accesses.begin();
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(own_accesses_[few]),
                     [&](const graph::Graph::Access& access) {
                       const auto other = modes.find(access.datum);
                       return other != modes.end() &&
                              (writes(other->second) || writes(access.mode));
                     });
}

// One that shares no file with the one before it, or none that one of the two writes, gets one: of no bytes, written by
// the one before, the same for all that follow it so.
void Workflow::keep_edges_without_files(Number before, const std::vector<std::size_t>& position) {
  std::vector<Number> afters = nodes_[before].children;
  for (const Number guess : nodes_[before].guesses) {
    if (position[guess] > position[before]) afters.push_back(guess);
  }
  sort_once(afters);
  std::optional<Number> datum;
  for (const Number after : afters) {
    if (share_a_file(before, after)) continue;
    if (!datum) {
      std::string name = "end of " + steps_[before].id;
      while (file_names_.contains(name)) name += "'";
      datum = add_file(name, {});
      steps_[before].accesses.push_back({*datum, AccessMode::W});
    }
    steps_[after].accesses.push_back({*datum, AccessMode::R});
  }
}

// --- the graph -----------------------------------------------------------------------------------
graph::Graph Workflow::make_graph() {
  for (Step& step : steps_) {
    merge_accesses(step.accesses);
    own_accesses_.push_back(step.accesses.size());
  }
  sort_edges();
  if (order_of_file(false).size() < steps_.size()) {
    drop_files_against_edges();
    if (order_of_file(false).size() < steps_.size()) refuse_circle();
  }
  const std::vector<Number> order = order_of_file(true);
  std::vector<std::size_t> position(steps_.size());
  for (std::size_t p = 0; p < order.size(); ++p) position[order[p]] = p;
  for (const Number t : order) keep_edges_without_files(t, position);
  modes_.clear();
  graph_.application().name = name_;
  for (const File& file : files_) graph_.add_datum({.bytes = file.bytes}, file.name);
  for (const Number t : order) add_task(t);
  give_homes();
  require_sound(graph_, origin_);
  return std::move(graph_);
}

void Workflow::add_task(Number number) {
  const Step& step = steps_[number];
  if (step.accesses.size() > graph::kMostAccesses) {
    refuse_at(origin_, fmt::format("{}[{}]", list_, number),
              fmt::format("{} has {} files and parents without files; a task has {} at most",
                          in_quotes(step.id), step.accesses.size(), graph::kMostAccesses));
  }
  graph_.add_task(kernel_of(step), step.accesses, step.priority, step.id);
}

// A file says how long each task took, not what its kind takes: a kernel per category and time, named for the category
// and, from the second time on, numbered.
Workflow::Number Workflow::kernel_of(const Step& step) {
  const auto [found, is_new] = kernels_.try_emplace({step.category, step.seconds, step.flops});
  if (!is_new) return found->second;
  std::size_t& count = category_kernels_[step.category];
  std::string name;
  do {
    ++count;
    name = count == 1 ? step.category : fmt::format("{}#{}", step.category, count);
  } while (!kernel_names_.insert(name).second);
  found->second = graph_.add_kernel({.name = name, .seconds = step.seconds, .flops = step.flops});
  return found->second;
}

// A file that is there before any task writes it lies in RAM; so does one that no task names.
void Workflow::give_homes() {
  std::vector<bool> void_at_first(graph_.data().size());
  std::vector<bool> named(graph_.data().size());
  for (const graph::Graph::Access& access : graph_.accesses()) {
    if (!named[access.datum]) void_at_first[access.datum] = !reads(access.mode);
    named[access.datum] = true;
  }
  for (std::size_t d = 0; d < graph_.data().size(); ++d) {
    if (!void_at_first[d]) graph_.set_home(d, NodeKind::ram);
  }
}

}  // namespace vicinal::graphfiles
