#include "analysis/awaited_messages.hpp"

#include <algorithm>

#include "analysis/steps.hpp"

namespace vicinal::analysis {

AwaitedMessages::AwaitedMessages(const RecordedRun& run) : run_(run) {
  for (std::uint32_t m = 0; m < run.messages.size(); ++m) {
    const MessageOfRun& message = run.messages[m];
    if (message.arrived == kUnknown) continue;
    arrived_[message.received].push_back(m);
    if (message.sent != kNobody) writers_.try_emplace(message.sent);
  }
  if (arrived_.empty()) return;
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    if (!ran_on_worker(run.tasks[t])) continue;
    for (const AccessOfTask& access : run.accesses_of(run.tasks[t])) {
      if (!writes(access.mode)) continue;
      const auto found = writers_.find(access.datum);
      if (found != writers_.end()) found->second.push_back(t);
    }
  }
  for (auto& [datum, messages] : arrived_) {
    std::ranges::stable_sort(messages, {},
                             [&](std::uint32_t m) { return run.messages[m].arrived; });
  }
  for (auto& [datum, tasks] : writers_) {
    std::ranges::stable_sort(tasks, {}, [&](std::uint32_t t) { return run.tasks[t].ended; });
  }
}

std::uint32_t AwaitedMessages::last_for(std::uint32_t task, std::int64_t from,
                                        std::int64_t until) const {
  std::uint32_t last = kNobody;
  if (arrived_.empty()) return last;
  std::int64_t latest = from;
  for (const AccessOfTask& access : run_.accesses_of(run_.tasks[task])) {
    const auto found = arrived_.find(access.datum);
    if (found == arrived_.end() || !reads(access.mode)) continue;
    const Numbers& messages = found->second;
    const auto behind = std::ranges::upper_bound(
        messages, until, {}, [&](std::uint32_t m) { return run_.messages[m].arrived; });
    if (behind == messages.begin()) continue;
    const std::uint32_t message = *(behind - 1);
    if (run_.messages[message].arrived <= latest) continue;
    latest = run_.messages[message].arrived;
    last = message;
  }
  return last;
}

// What is passed on in pieces leaves before all of it has come.
std::uint32_t AwaitedMessages::before(const MessageOfRun& message) const {
  const auto found = arrived_.find(message.sent);
  if (found == arrived_.end()) return kNobody;
  std::uint32_t last = kNobody;
  for (const std::uint32_t m : found->second) {
    const std::int64_t departs = run_.messages[m].departs;
    if (departs == kUnknown || departs >= message.departs) continue;
    if (last == kNobody || departs > run_.messages[last].departs) last = m;
  }
  return last;
}

std::uint32_t AwaitedMessages::local_maker_of(const MessageOfRun& message) const {
  const auto found = writers_.find(message.sent);
  if (found == writers_.end()) return kNobody;
  const Numbers& tasks = found->second;
  const auto behind = std::ranges::upper_bound(
      tasks, message.departs, {}, [&](std::uint32_t t) { return run_.tasks[t].ended; });
  return behind == tasks.begin() ? kNobody : *(behind - 1);
}

// From rank to rank the messages leave earlier and earlier.
std::uint32_t AwaitedMessages::maker_of(std::uint32_t message) const {
  while (message != kNobody) {
    const MessageOfRun& of = run_.messages[message];
    if (of.departs == kUnknown) return kNobody;
    const std::uint32_t maker = local_maker_of(of);
    message = before(of);
    if (maker == kNobody) continue;
    if (message == kNobody || run_.tasks[maker].ended >= run_.messages[message].departs)
      return maker;
  }
  return kNobody;
}

}  // namespace vicinal::analysis
