#include "engine/submission_log.hpp"

#include <algorithm>
#include <utility>

namespace vicinal::engine {

using graph::Task;
using graph::TaskPool;
using graph::TaskState;

namespace {
constexpr std::size_t kFewKept = 1024;  // tasks; fewer are not worth a look at which have ended

void make_room_for_one(auto& list) {
  if (list.size() == list.capacity()) list.reserve(2 * list.size() + 16);
}
}  // namespace

// A codelet that is met again keeps its name; at the address of one that is gone another codelet may lie.
const std::string& SubmissionLog::name_of(const Task& task) {
  const Codelet* const codelet = graph::is_scheduled(task.kind) ? task.codelet : nullptr;
  const std::string_view name =
      codelet != nullptr ? std::string_view(codelet->name) : graph::to_string(task.kind);
  const std::string*& known = names_by_codelet_[codelet];
  if (known != nullptr && *known == name) return *known;
  const auto found = names_.find(name);
  known = found != names_.end() ? &*found : &*names_.emplace(name).first;
  return *known;
}

void SubmissionLog::prepare(const Task& task, std::span<const TaskId> after) {
  next_.entries.clear();
  next_.accesses.clear();
  for (const graph::Access& access : task.accesses()) {
    next_.accesses.push_back({access.handle, access.mode});
  }
  next_.after.assign(after.begin(), after.end());
  next_.entries.push_back({.task = const_cast<Task*>(&task),
                           .id = TaskPool::id(task),
                           .facts = TaskFacts(task),
                           .name = &name_of(task),
                           .accesses = next_.accesses.size(),
                           .after = next_.after.size()});
  if (list_.entries.size() >= drop_at_) drop_ended();
  make_room_for_one(list_.entries);
  const auto make_room = [](auto& list, std::size_t more) {
    if (list.capacity() - list.size() < more) list.reserve(2 * list.size() + more);
  };
  make_room(list_.accesses, next_.accesses.size());
  make_room(list_.after, next_.after.size());
}

void SubmissionLog::append() {
  list_.entries.push_back(next_.entries.front());
  list_.accesses.insert(list_.accesses.end(), next_.accesses.begin(), next_.accesses.end());
  list_.after.insert(list_.after.end(), next_.after.begin(), next_.after.end());
  fresh_.store(list_.entries.size() - at_, std::memory_order_seq_cst);
}

// Those that are left keep their order.
void SubmissionLog::drop_ended() {
  std::size_t entries = 0;
  std::size_t accesses = 0;
  std::size_t after = 0;
  std::size_t access_from = 0;
  std::size_t after_from = 0;
  std::size_t at = 0;
  std::size_t access_at = 0;
  std::size_t after_at = 0;
  for (std::size_t i = 0; i < list_.entries.size(); ++i) {
    if (i == at_) {
      at = entries;
      access_at = accesses;
      after_at = after;
    }
    const Entry entry = list_.entries[i];
    if (TaskPool::alive(*entry.task, entry.id)) {
      list_.entries[entries++] = entry;
      for (std::size_t j = 0; j < entry.accesses; ++j) {
        list_.accesses[accesses++] = list_.accesses[access_from + j];
      }
      for (std::size_t j = 0; j < entry.after; ++j) {
        list_.after[after++] = list_.after[after_from + j];
      }
    }
    access_from += entry.accesses;
    after_from += entry.after;
  }
  const bool all_taken = at_ == list_.entries.size();
  at_ = all_taken ? entries : at;
  access_at_ = all_taken ? accesses : access_at;
  after_at_ = all_taken ? after : after_at;
  list_.entries.erase(list_.entries.begin() + static_cast<std::ptrdiff_t>(entries),
                      list_.entries.end());
  list_.accesses.resize(accesses);
  list_.after.resize(after);
  drop_at_ = std::max(kFewKept, 2 * entries);
  fresh_.store(list_.entries.size() - at_, std::memory_order_seq_cst);
}

// Those that come next go to `into`. True: there are more.
bool SubmissionLog::take_next(std::size_t most, List& into) {
  into.entries.clear();
  into.accesses.clear();
  into.after.clear();
  const std::lock_guard lock(order_);
  const std::size_t count = std::min(most, list_.entries.size() - at_);
  std::size_t accesses = 0;
  std::size_t after = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Entry& entry = list_.entries[at_ + i];
    into.entries.push_back(entry);
    accesses += entry.accesses;
    after += entry.after;
  }
  const auto copy = [](const auto& from, std::size_t first, std::size_t many, auto& to) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    to.assign(begin, begin + static_cast<std::ptrdiff_t>(many));
  };
  copy(list_.accesses, access_at_, accesses, into.accesses);
  copy(list_.after, after_at_, after, into.after);
  at_ += count;
  access_at_ += accesses;
  after_at_ += after;
  fresh_.store(list_.entries.size() - at_, std::memory_order_seq_cst);
  return at_ < list_.entries.size();
}

// Of a task whose end the policy has not been told. Its handles stay, as whoever forgets one waits for the policy.
bool SubmissionLog::is_still_to_run(const Entry& entry) {
  if (!TaskPool::alive(*entry.task, entry.id)) return false;
  const TaskState state = entry.task->state.load(std::memory_order_seq_cst);
  return state != TaskState::done && state != TaskState::let_go && state != TaskState::free;
}

void SubmissionLog::add(const Entry& entry, std::span<const Named> accesses,
                        std::span<const TaskId> after) {
  std::vector<KnownGraph::Number> before;
  for (const TaskId id : after) {
    const Task* const first = pool_.find(id);
    const auto found = first != nullptr ? numbers_.find(first) : numbers_.end();
    if (found != numbers_.end() && found->second.id.value == id.value) {
      before.push_back(found->second.number);
    }
  }
  const KnownGraph::Number number =
      known_.add(*entry.task, entry.facts, *entry.name, accesses, before);
  if (entry.facts.is_pushed) numbers_.insert_or_assign(entry.task, InGraph{number, entry.id});
}

bool SubmissionLog::grow(sched::Policy& policy, std::size_t most) {
  drop_dead();
  const bool more = take_next(most, taken_);
  std::span<const Named> accesses = taken_.accesses;
  std::span<const TaskId> after = taken_.after;
  for (const Entry& entry : taken_.entries) {
    const auto own = accesses.first(entry.accesses);
    if (is_still_to_run(entry)) add(entry, own, after.first(entry.after));
    accesses = accesses.subspan(entry.accesses);
    after = after.subspan(entry.after);
  }
  const std::size_t planned = std::exchange(planned_, known_.tasks.size());
  if (planned < known_.tasks.size()) {
    policy.plan({known_.graph, known_.tasks, known_.data, first_, planned});
  }
  return more;
}

// Now and then: so it costs each task as much as its own way into the graph.
void SubmissionLog::drop_dead() {
  const std::size_t size = known_.tasks.size();
  if (size < std::max(kFewKept, 2 * dropped_to_) || 2 * numbers_.size() > size) return;
  known_.shrink();
  dropped_to_ = known_.tasks.size();
  first_ += size - dropped_to_;
  planned_ -= size - dropped_to_;
  for (std::size_t i = 0; i < dropped_to_; ++i) {
    numbers_.find(known_.tasks[i])->second.number = static_cast<KnownGraph::Number>(i);
  }
}

void SubmissionLog::begin_anew() {
  first_ += known_.tasks.size();
  known_ = {};
  numbers_.clear();
  planned_ = dropped_to_ = 0;
  const std::lock_guard lock(order_);
  at_ = access_at_ = after_at_ = 0;
  fresh_.store(list_.entries.size(), std::memory_order_seq_cst);
}

void SubmissionLog::ended(const Task& task) {
  const auto found = numbers_.find(&task);
  if (found == numbers_.end()) return;
  known_.forget(static_cast<std::size_t>(found->second.number));
  numbers_.erase(found);
}

}  // namespace vicinal::engine
