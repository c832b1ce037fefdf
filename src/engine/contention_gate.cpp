#include "engine/contention_gate.hpp"

#include <algorithm>
#include <mutex>

namespace vicinal::engine {

namespace {

// From so much of what a memory gives on it is used up: measured curves flatten there.
constexpr double kNear = 0.99;
// Smaller copies and messages end before a task that made room for them would.
constexpr Bytes kLarge{std::uint64_t{256} << 10};

std::int64_t whole(BytesPerSecond rate) {
  return static_cast<std::int64_t>(rate.value);
}

std::int64_t near(std::int64_t rate) {
  return static_cast<std::int64_t>(kNear * static_cast<double>(rate));
}

}  // namespace

ContentionGate::ContentionGate(const MachineDescription& machine, bool wanted,
                               std::size_t most_waiting)
    : most_waiting_(most_waiting), drawn_on_by_(machine.workers.size()) {
  if (!wanted) return;
  set_up_memories(machine);
  set_up_links(machine);
}

// Those on which cores draw: of an accelerator's memory its own queue has the use.
void ContentionGate::set_up_memories(const MachineDescription& machine) {
  std::vector<std::uint32_t> workers;  // by memory
  for (const WorkerDescription& worker : machine.workers) {
    if (worker.kind != ProcessorKind::cpu || worker.node != kRam) continue;
    for (const std::uint32_t segment : worker.draws_on) {
      const auto known = std::ranges::find(memories_, segment, &Memory::segment);
      const auto index = static_cast<std::uint32_t>(known - memories_.begin());
      if (known == memories_.end()) {
        memories_.emplace_back().segment = segment;
        workers.push_back(0);
      }
      ++workers[index];
      drawn_on_by_[worker.id.value].push_back(index);
    }
  }
  for (std::size_t m = 0; m < memories_.size(); ++m) {
    Memory& memory = memories_[m];
    const SegmentDescription& segment = machine.segments[memory.segment];
    memory.by_tasks = {whole(segment.bandwidth)};
    for (const BytesPerSecond rate : segment.by_kernels) memory.by_tasks.push_back(whole(rate));
    if (memory.by_tasks.size() == 1) memory.by_tasks.push_back(memory.by_tasks.front());
    const auto first = memory.by_tasks.begin() + 1;
    memory.most = near(*std::max_element(first, memory.by_tasks.end()));
    const auto gives_most = [&](std::int64_t rate) { return rate >= memory.most; };
    memory.enough = static_cast<std::size_t>(
        std::find_if(first, memory.by_tasks.end(), gives_most) - memory.by_tasks.begin());
    memory.fair = memory.most / workers[m];
    memory.for_messages = whole(segment.for_copies.value_or(BytesPerSecond{}));
  }
}

void ContentionGate::set_up_links(const MachineDescription& machine) {
  for (const LinkDescription& link : machine.links) {
    Link& own = links_.emplace_back(Link{.from = link.from, .to = link.to});
    BytesPerSecond rate = link.bandwidth;
    std::int64_t kept = 0;  // for a copy whose own speed is not known
    for (const std::uint32_t segment : link.segments) {
      const auto memory = std::ranges::find(memories_, segment, &Memory::segment);
      if (memory != memories_.end()) {
        own.memories.push_back(static_cast<std::uint32_t>(memory - memories_.begin()));
        kept = memory->for_messages;
        continue;
      }
      const BytesPerSecond most = machine.segments[segment].bandwidth;
      if (rate.value <= 0 || (most.value > 0 && most.value < rate.value)) rate = most;
    }
    own.rate = rate.value > 0 ? whole(rate) : kept;
  }
}

std::int64_t ContentionGate::demand_of(const graph::Task& task) {
  return whole(graph::demand_of(task, ProcessorKind::cpu));
}

bool ContentionGate::is_saturated(const Memory& memory) {
  return memory.drawing >= memory.enough && memory.demand + memory.transfers >= memory.most;
}

// A memory that gives the task nothing, and where others run at whose end it will be looked at again. Null: it may start.
const ContentionGate::Memory* ContentionGate::in_the_way(const graph::Task& task,
                                                         WorkerId worker) const {
  const std::int64_t demand = demand_of(task);
  for (const std::uint32_t m : drawn_on_by_[worker.value]) {
    const Memory& memory = memories_[m];
    if (demand > memory.fair && memory.bound > 0 && is_saturated(memory)) return &memory;
  }
  return nullptr;
}

// Of tasks that demand as much as those that run, in waves of as many: the last wave may leave much of the memory unused.
bool ContentionGate::is_better_in_turns(const Memory& memory) const {
  const std::int64_t now = memory.gives(memory.drawing);
  const std::size_t workers = drawn_on_by_.size();
  const std::size_t all = memory.bound + waiting_.size();
  const std::int64_t then = memory.gives(std::min(all, workers));
  if (then >= near(now) || memory.bound == 0) return false;
  const std::size_t waves = (all + memory.bound - 1) / memory.bound;
  return static_cast<double>(waves * memory.bound) * static_cast<double>(then) <
         static_cast<double>(all) * static_cast<double>(std::min(now, memory.demand));
}

void ContentionGate::count(const graph::Task& task, WorkerId worker, int change) {
  const std::int64_t demand = demand_of(task);
  if (demand == 0) return;
  for (const std::uint32_t m : drawn_on_by_[worker.value]) {
    Memory& memory = memories_[m];
    memory.demand += change * demand;
    memory.drawing += static_cast<std::uint32_t>(change);
    if (demand > memory.fair) memory.bound += static_cast<std::uint32_t>(change);
  }
}

// --- tasks

// One that is bound to a worker or a node finds no other way.
std::optional<Saturation> ContentionGate::keep(graph::Task& task, WorkerId worker) {
  const std::lock_guard lock(lock_);
  const Memory* const memory = task.is_bound() ? nullptr : in_the_way(task, worker);
  if (memory == nullptr) {
    count(task, worker, 1);
    return std::nullopt;
  }
  waiting_.push_back({task.priority, next_++, &task});
  std::push_heap(waiting_.begin(), waiting_.end());
  waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
  return Saturation{memory->bound, memory->under_way, memory->demand + memory->transfers,
                    memory->most};
}

graph::Task* ContentionGate::take_first() {
  std::pop_heap(waiting_.begin(), waiting_.end());
  graph::Task* const task = waiting_.back().task;
  waiting_.pop_back();
  waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
  return task;
}

graph::Task* ContentionGate::take(WorkerId worker, bool in_need) {
  if (waiting() == 0) return nullptr;
  const std::lock_guard lock(lock_);
  if (waiting_.empty()) return nullptr;
  const Memory* const memory = in_the_way(*waiting_.front().task, worker);
  if (memory != nullptr) {
    if (!in_need || memory->under_way > 0 || is_better_in_turns(*memory)) return nullptr;
  }
  graph::Task* const task = take_first();
  count(*task, worker, 1);
  return task;
}

bool ContentionGate::end(const graph::Task& task, WorkerId worker) {
  if (!governs(worker) || demand_of(task) == 0) return false;
  const std::lock_guard lock(lock_);
  count(task, worker, -1);
  return !waiting_.empty() && in_the_way(*waiting_.front().task, worker) == nullptr;
}

// --- transfers

void ContentionGate::count_transfer(Memory& memory, std::int64_t rate, bool begins) {
  memory.transfers += begins ? rate : -rate;
  if (begins) {
    ++memory.under_way;
  } else {
    --memory.under_way;
  }
}

// Those of a link share its bandwidth.
void ContentionGate::begin(const memory::Copy& copy) {
  if (copy.bytes().value < kLarge.value) return;
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    Link& link = links_[l];
    if (link.from != copy.from.node || link.to != copy.to.node || link.memories.empty()) continue;
    const std::lock_guard lock(lock_);
    copies_.push_back({copy.id, l});
    under_way_.fetch_add(1, std::memory_order_relaxed);
    if (link.under_way++ > 0) return;
    for (const std::uint32_t m : link.memories) count_transfer(memories_[m], link.rate, true);
    return;
  }
}

bool ContentionGate::end(memory::CopyId copy) {
  if (under_way_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(lock_);
  const auto found = std::ranges::find(copies_, copy, &UnderWay::copy);
  if (found == copies_.end()) return false;
  Link& link = links_[found->link];
  *found = copies_.back();
  copies_.pop_back();
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  if (--link.under_way > 0) return false;
  for (const std::uint32_t m : link.memories) count_transfer(memories_[m], link.rate, false);
  return !waiting_.empty();
}

// Those under way share a network.
bool ContentionGate::begin_message(Bytes bytes) {
  if (bytes.value < kLarge.value) return false;
  const std::lock_guard lock(lock_);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  if (messages_++ > 0) return true;
  for (Memory& memory : memories_) count_transfer(memory, memory.for_messages, true);
  return true;
}

bool ContentionGate::end_message() {
  const std::lock_guard lock(lock_);
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  if (--messages_ > 0) return false;
  for (Memory& memory : memories_) count_transfer(memory, memory.for_messages, false);
  return !waiting_.empty();
}

std::string ContentionGate::describe() const {
  const std::lock_guard lock(lock_);
  std::string text;
  for (const Waiting& waits : waiting_) {
    text += "task " + std::string(waits.task->name()) +
            ": waits for others that draw on the same memory (option contention)\n";
  }
  return text;
}

}  // namespace vicinal::engine
