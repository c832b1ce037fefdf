#include "engine/contention_gate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

ContentionGate::ContentionGate(const MachineDescription& machine, bool wanted, bool is_shared)
    : is_shared_(is_shared),
      most_bytes_(machine.nodes.front().limit ? machine.nodes.front().limit->value / 8
                                              : std::numeric_limits<std::uint64_t>::max()),
      drawn_on_by_(machine.workers.size()),
      waiting_(machine.workers.size()) {
  if (!wanted) return;
  if (machine.contention) {
    set_up_numa_nodes(machine);
  } else {
    set_up_segments(machine);
  }
  set_up_links(machine);
}

namespace {
bool draws(const WorkerDescription& worker) {
  return worker.kind == ProcessorKind::cpu && worker.node == kRam;
}

// The first at which it is nearly as large as anywhere.
std::size_t first_near_most(const std::vector<std::int64_t>& rates) {
  const std::int64_t most = near(*std::max_element(rates.begin() + 1, rates.end()));
  const auto enough = [&](std::int64_t rate) { return rate >= most; };
  return static_cast<std::size_t>(std::find_if(rates.begin() + 1, rates.end(), enough) -
                                  rates.begin());
}

// The first behind which the next is worth less than a third of what one has.
std::size_t first_nearly_flat(const std::vector<std::int64_t>& rates, std::int64_t one) {
  std::size_t n = 1;
  while (n + 1 < rates.size() && 3 * (rates[n + 1] - rates[n]) >= one) ++n;
  return n;
}
}  // namespace

// Workers are on the cores in order, socket by socket, and their data on their own NUMA node, as first touch has it; messages
// come to the first, where the NIC is.
void ContentionGate::set_up_numa_nodes(const MachineDescription& machine) {
  const ContentionModel& model = *machine.contention;
  const std::uint32_t nodes = model.sockets * model.numa_nodes_per_socket;
  const double cores_per_node =
      static_cast<double>(model.cores_per_socket) / model.numa_nodes_per_socket;
  Memory all;
  std::vector<std::int64_t> beside{0};
  all.leaves = {whole(model.local.transfer)};
  all.gives = {whole(model.local.core)};
  for (std::uint32_t n = 1; n <= model.cores_per_socket; ++n) {
    const ContentionShares shares = predict_contention(model, n, 0, 0);
    all.gives.push_back(whole(shares.alone));
    beside.push_back(whole(shares.computations) + whole(shares.transfer));
    all.leaves.push_back(whole(shares.transfer));
  }
  all.core = whole(model.local.core);
  all.enough = static_cast<double>(first_nearly_flat(all.gives, all.core));
  all.enough_beside = static_cast<double>(first_nearly_flat(beside, all.core));
  all.all = static_cast<double>(first_near_most(beside));
  all.most = near(*std::ranges::max_element(all.gives));
  all.for_messages = whole(model.local.transfer);
  std::vector<std::uint32_t> workers(nodes, 0);
  memories_.assign(nodes, all);
  with_messages_ = 1;
  std::uint32_t core = 0;
  for (const WorkerDescription& worker : machine.workers) {
    if (!draws(worker)) continue;
    const auto node = std::min(nodes - 1, static_cast<std::uint32_t>(core++ / cores_per_node));
    ++workers[node];
    drawn_on_by_[worker.id.value].push_back(node);
  }
  const double far = model.remote.transfer.value / model.local.transfer.value;
  for (std::uint32_t m = 0; m < nodes; ++m) {
    if (m >= model.numa_nodes_per_socket) {
      for (std::int64_t& rate : memories_[m].leaves) {
        rate = static_cast<std::int64_t>(far * static_cast<double>(rate));
      }
    }
    memories_[m].fair = all.most / std::max(workers[m], 1U);
  }
}

// Those on which cores draw: of an accelerator's memory its own queue has the use.
void ContentionGate::set_up_segments(const MachineDescription& machine) {
  std::vector<std::uint32_t> workers;  // by memory
  for (const WorkerDescription& worker : machine.workers) {
    if (!draws(worker)) continue;
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
    memory.gives = {whole(segment.bandwidth)};
    for (const BytesPerSecond rate : segment.by_kernels) memory.gives.push_back(whole(rate));
    if (memory.gives.size() == 1) memory.gives.push_back(memory.gives.front());
    const std::size_t all = first_near_most(memory.gives);
    memory.enough = static_cast<double>(first_nearly_flat(memory.gives, memory.gives[1]));
    memory.all = static_cast<double>(all);
    memory.most = near(memory.gives[all]);
    memory.fair = memory.most / workers[m];
    memory.for_messages = whole(segment.for_copies.value_or(BytesPerSecond{}));
  }
  with_messages_ = memories_.size();
}

void ContentionGate::set_up_links(const MachineDescription& machine) {
  for (const LinkDescription& link : machine.links) {
    Link& own = links_.emplace_back(Link{.from = link.from, .to = link.to});
    BytesPerSecond rate = link.bandwidth;
    std::int64_t kept = 0;  // for a copy whose own speed is not known
    for (const std::uint32_t segment : link.segments) {
      const auto memory = machine.contention
                              ? memories_.end()
                              : std::ranges::find(memories_, segment, &Memory::segment);
      if (memory != memories_.end()) {
        own.memories.push_back(static_cast<std::uint32_t>(memory - memories_.begin()));
        kept = memory->for_messages;
        continue;
      }
      const BytesPerSecond most = machine.segments[segment].bandwidth;
      if (rate.value <= 0 || (most.value > 0 && most.value < rate.value)) rate = most;
    }
    // The machine does not say which part of RAM a copy is of.
    if (machine.contention && memories_.size() == 1 && (link.from == kRam || link.to == kRam)) {
      own.memories = {0};
      kept = memories_.front().for_messages;
    }
    own.rate = rate.value > 0 ? whole(rate) : kept;
  }
}

std::int64_t ContentionGate::demand_of(const graph::Task& task) {
  return whole(graph::demand_of(task, ProcessorKind::cpu));
}

bool ContentionGate::Memory::is_saturated() const {
  if (core > 0) return drawers() >= (under_way > 0 ? enough_beside : enough);
  return drawers() >= enough && demand + transfers >= saturating();
}

bool ContentionGate::Memory::is_used_up() const {
  if (core > 0) return drawers() >= all;
  return drawers() >= all && demand + transfers >= most;
}

std::int64_t ContentionGate::Memory::saturating() const {
  if (core == 0) return near(static_cast<std::int64_t>(given(enough)));
  const double cores = under_way > 0 ? enough_beside : enough;
  return static_cast<std::int64_t>(cores * static_cast<double>(core)) + transfers;
}

// A memory that gives the task nothing, and where others run at whose end it will be looked at again. Null: it may start.
const ContentionGate::Memory* ContentionGate::in_the_way(const graph::Task& task,
                                                         WorkerId worker) const {
  const std::int64_t demand = demand_of(task);
  for (const std::uint32_t m : drawn_on_by_[worker.value]) {
    const Memory& memory = memories_[m];
    if (demand > memory.fair && memory.bound > 0 && memory.is_saturated()) return &memory;
  }
  return nullptr;
}

// Of tasks that demand as much as those that run, in waves of as many: the last wave may leave much of the memory unused.
bool ContentionGate::is_better_in_turns(const Memory& memory) const {
  const std::size_t all = memory.bound + waiting();
  const std::size_t at_once = std::min(all, drawn_on_by_.size());
  const double each = memory.drawers() / memory.bound;
  const double now = memory.given(memory.drawers());
  const double then = memory.given(each * static_cast<double>(at_once));
  if (then >= kNear * now) return false;
  const std::size_t waves = (all + memory.bound - 1) / memory.bound;
  return static_cast<double>(waves * memory.bound) * then <
         static_cast<double>(all) * std::min(now, static_cast<double>(memory.demand));
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

std::uint64_t ContentionGate::bytes_of(const graph::Task& task) {
  std::uint64_t bytes = 0;
  for (const graph::Access& access : task.accesses()) bytes += access.handle->bytes().value;
  return bytes;
}

// --- tasks

// One that is bound to a worker or a node finds no other way.
std::optional<Saturation> ContentionGate::keep(graph::Task& task, WorkerId worker) {
  if (demand_of(task) == 0) return std::nullopt;
  const std::lock_guard lock(lock_);
  const Memory* const memory = task.is_bound() ? nullptr : in_the_way(task, worker);
  if (memory == nullptr) {
    count(task, worker, 1);
    return std::nullopt;
  }
  Heap& own = waiting_[worker.value];
  own.push_back({task.priority, next_++, &task});
  std::push_heap(own.begin(), own.end());
  waiting_count_.fetch_add(1, std::memory_order_relaxed);
  waiting_bytes_.fetch_add(bytes_of(task), std::memory_order_relaxed);
  return Saturation{memory->bound, memory->under_way, memory->demand + memory->transfers,
                    memory->saturating()};
}

// The heap whose first comes first; null: none waits.
ContentionGate::Heap* ContentionGate::first_of_all() {
  Heap* first = nullptr;
  for (Heap& heap : waiting_) {
    if (!heap.empty() && (first == nullptr || first->front() < heap.front())) first = &heap;
  }
  return first;
}

graph::Task* ContentionGate::take(WorkerId worker, bool in_need) {
  if (waiting() == 0) return nullptr;
  const std::lock_guard lock(lock_);
  Heap* const heap = is_shared_ || in_need ? first_of_all() : &waiting_[worker.value];
  if (heap == nullptr || heap->empty()) return nullptr;
  const Memory* const memory = in_the_way(*heap->front().task, worker);
  if (memory != nullptr) {
    const bool beside_transfers = memory->under_way > 0 && memory->is_used_up();
    if (!in_need || beside_transfers || is_better_in_turns(*memory)) return nullptr;
  }
  std::pop_heap(heap->begin(), heap->end());
  graph::Task* const task = heap->back().task;
  heap->pop_back();
  waiting_count_.fetch_sub(1, std::memory_order_relaxed);
  waiting_bytes_.fetch_sub(bytes_of(*task), std::memory_order_relaxed);
  count(*task, worker, 1);
  return task;
}

bool ContentionGate::end(const graph::Task& task, WorkerId worker) {
  if (!governs(worker) || demand_of(task) == 0) return false;
  const std::lock_guard lock(lock_);
  count(task, worker, -1);
  const Heap* const heap = first_of_all();
  return heap != nullptr && in_the_way(*heap->front().task, worker) == nullptr;
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
  return waiting() > 0;
}

// Those under way share a network.
void ContentionGate::count_messages(bool begin) {
  for (std::size_t m = 0; m < with_messages_; ++m) {
    count_transfer(memories_[m], memories_[m].for_messages, begin);
  }
}

void ContentionGate::begin_message(Bytes bytes) {
  if (bytes.value < kLarge.value) return;
  const std::lock_guard lock(lock_);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  if (messages_++ == 0) count_messages(true);
}

bool ContentionGate::end_message(Bytes bytes) {
  if (bytes.value < kLarge.value) return false;
  const std::lock_guard lock(lock_);
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  if (--messages_ > 0) return false;
  count_messages(false);
  return waiting() > 0;
}

// Cores are counted as their kernels demand, the next whole number. Who reads from afar is slowed down by it, so another node
// than the first has to leave a third more.
std::uint32_t ContentionGate::quietest_numa_node() const {
  const std::lock_guard lock(lock_);
  std::uint32_t quietest = 0;
  std::int64_t most = -1;
  for (std::uint32_t m = 0; m < memories_.size(); ++m) {
    const std::vector<std::int64_t>& leaves = memories_[m].leaves;
    if (leaves.empty()) return 0;
    const auto cores = static_cast<std::size_t>(std::ceil(memories_[m].drawers()));
    const std::int64_t left = leaves[std::min(cores, leaves.size() - 1)];
    if (left <= most) continue;
    most = m == 0 ? left / 3 * 4 : left;
    quietest = m;
  }
  return quietest;
}

std::string ContentionGate::describe() const {
  const std::lock_guard lock(lock_);
  std::string text;
  for (const Heap& heap : waiting_) {
    for (const Waiting& waits : heap) {
      text += "task " + std::string(waits.task->name()) +
              ": waits for others that draw on the same memory (option contention)\n";
    }
  }
  return text;
}

}  // namespace vicinal::engine
