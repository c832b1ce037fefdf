#include "engine/submissions.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/legible.hpp"
#include "base/warm.hpp"
#include "engine/application.hpp"
#include "engine/arguments.hpp"
#include "engine/estimated_times.hpp"
#include "engine/lifecycle.hpp"
#include "engine/opener.hpp"
#include "engine/recording.hpp"
#include "graph/dependencies.hpp"
#include "graph/group.hpp"
#include "memory/arena.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

namespace {

[[gnu::noinline]] graph::TaskExtension& extension(graph::Task& task) {
  if (!task.extension) task.extension = std::make_unique<graph::TaskExtension>();
  return *task.extension;
}

// What few tasks have.
bool says_more(const TaskSpec& spec) {
  return !spec.name.empty() || spec.worker || spec.node || spec.group != nullptr || spec.on_end;
}

[[noreturn, gnu::cold]] void refuse_operands(const TaskSpec& spec, std::size_t operands) {
  if (spec.codelet == nullptr) throw UsageError("submit: the task has no codelet");
  throw UsageError("task " + spec.codelet->name + " has " + std::to_string(operands) +
                   " operands; there are at most " + std::to_string(kMostOperands));
}

[[gnu::noinline]] void keep_parameters(graph::Task& task, const Parameters& parameters) {
  extension(task).parameters.assign(parameters.data(), parameters.data() + parameters.size());
}

// Operand `number` names the handle of the access a second time.
[[gnu::noinline]] void name_again(graph::Task& task, graph::Access& access, const Operand& operand,
                                  std::size_t number) {
  if (access.mode == AccessMode::reduction || operand.mode == AccessMode::reduction) {
    throw UsageError("task " + std::string(task.name()) + " names handle " +
                     graph::name_of(*access.handle) + " twice, and reduces into it; name it once");
  }
  access.mode = strongest(access.mode, operand.mode);
  auto& views = extension(task).view_of;
  while (views.size() < number) views.push_back(static_cast<std::uint16_t>(views.size()));
}

Time most_overhead(const MachineDescription& machine) {
  Time most;
  for (const WorkerDescription& worker : machine.workers) {
    most = std::max(most, machine.submit_overhead + worker.task_overhead);
  }
  return most;
}

}  // namespace

// Nearly all operands: a plain access of a handle of this runtime.
inline bool Submissions::is_plain(const Operand& operand) const {
  const AccessMode mode = operand.mode;
  if (mode != AccessMode::R && mode != AccessMode::RW && mode != AccessMode::W) return false;
  if (operand.handle.runtime() != runtime_) return false;
  const graph::Handle& handle = *operand.handle.impl();
  return handle.life() == operand.handle.life() &&
         (!writes(mode) || handle.takes_writes.load(std::memory_order_acquire));
}

// One access per handle, in the strongest mode; operands keep their numbers through view_of.
[[gnu::noinline]] void Submissions::fill_accesses(graph::Task& task,
                                                  std::span<const Operand> operands) {
  graph::Access* const first = task.accesses().data();
  graph::Access* end = first;
  std::size_t count = 0;
  const bool outside = task.outside;
  bool is_simple = !task.extension;
  for (const Operand& operand : operands) {
    graph::Handle* const handle = operand.handle.impl();
    const graph::Access* same = first;
    while (same != end && same->handle != handle) ++same;
    if (same == end && is_simple && is_plain(operand)) [[likely]] {
      *end++ = graph::Access(*handle, operand.handle.life(), operand.mode, count++, outside);
    } else {
      const auto number = static_cast<std::size_t>(&operand - operands.data());
      count = fill_access(task, operand, number, count);
      end = first + count;
      is_simple = !task.extension;
    }
  }
  task.access_count = count & 0x3fffU;  // at most kMostOperands
}

// Any operand. `count`: of the accesses before it; returns that with it.
[[gnu::noinline]] std::size_t Submissions::fill_access(graph::Task& task, const Operand& operand,
                                                       std::size_t number, std::size_t count) {
  graph::Access* const accesses = task.accesses().data();
  if (operand.mode == AccessMode::scratch) {
    add_scratch(task, operand, count);
    auto& views = extension(task).view_of;
    if (!views.empty()) views.push_back(static_cast<std::uint16_t>(count));
    return count + 1;
  }
  graph::Handle& handle = application_.handles.check(operand.handle, "submit");
  if (commutes(operand.mode)) task.commutes = true;
  if (writes(operand.mode) && !handle.takes_writes.load(std::memory_order_acquire)) {
    prepare_to_write(task, handle, operand.handle.life());
  }
  std::size_t at = 0;
  while (at < count && accesses[at].handle != &handle) ++at;
  if (operand.mode == AccessMode::reduction) {
    application_.reductions.note(extension(task), task, handle, at);
  }
  if (at < count) {
    name_again(task, accesses[at], operand, number);
  } else {
    accesses[at] = graph::Access(handle, operand.handle.life(), operand.mode, at, task.outside);
    ++count;
  }
  if (task.extension && !task.extension->view_of.empty()) {
    task.extension->view_of.push_back(static_cast<std::uint16_t>(at));
  }
  return count;
}

// If the task is refused later, its scratch is found by access_count.
[[gnu::noinline]] void Submissions::add_scratch(graph::Task& task, const Operand& operand,
                                                std::size_t number) {
  if (operand.handle) {
    throw UsageError("task " + std::string(task.name()) + " uses handle " +
                     graph::name_of(application_.handles.check(operand.handle, "submit")) +
                     " as scratch, which has none; give Scratch(bytes)");
  }
  graph::TaskExtension& more = extension(task);
  const Handle room = application_.scratch.take(Bytes{operand.scratch_bytes});
  task.accesses().data()[number] =
      graph::Access(*room.impl(), room.life(), AccessMode::scratch, number, task.outside);
  more.has_scratch = true;
  task.access_count = (number + 1) & 0x3fffU;
}

// By the first task that writes it, or not at all.
[[gnu::noinline]] void Submissions::prepare_to_write(const graph::Task& task, graph::Handle& handle,
                                                     std::uint32_t life) {
  if (!handle.home.writable) {
    throw UsageError("task " + std::string(task.name()) + " writes handle " +
                     graph::name_of(handle) +
                     ", whose file was registered read-only; register it writable");
  }
  engine_.residency().give_room(handle, life);
}

// What the task says of its times; in simulation what follows from its operations or its bytes, too.
[[gnu::noinline]] void Submissions::set_times(graph::Task& task, const TaskSpec& spec) const {
  if (spec.expected != nullptr) {
    const Time least = std::ranges::min(*spec.expected);
    if (least.ns < 0) {
      throw UsageError("task " + std::string(task.name()) + " is expected to take " +
                       std::to_string(least.ns) + " ns; give a time that is not below 0");
    }
    extension(task).expected = *spec.expected;
  }
  if (world_ != nullptr && spec.codelet->estimated) {
    estimate_time(extension(task), task, engine_.machine(), spec.flops);
  }
}

[[gnu::noinline]] void Submissions::say_more(graph::Task& task, const TaskSpec& spec) const {
  graph::TaskExtension& more = extension(task);
  if (!spec.name.empty()) more.name = base::legible_name(spec.name);
  if (spec.worker) more.worker = spec.worker;
  if (spec.node) more.node = checked(*spec.node, engine_.machine(), "submit");
  if (spec.group != nullptr) more.group = &internals::Opener::count(*spec.group);
  if (spec.on_end) more.on_end = spec.on_end;
}

[[gnu::noinline]] void Submissions::say_where_and_how_long(graph::Task& task,
                                                           const TaskSpec& spec) const {
  if (spec.expected != nullptr || world_ != nullptr) set_times(task, spec);
  if (places_) {
    ask_place(task, spec);
  } else if (spec.node) {
    extension(task).only_on_node = engine_.eligibility().can_run_on(task, *spec.node);
  }
}

[[gnu::noinline]] void Submissions::note_recursive(graph::Task& task, const TaskSpec& spec) {
  if (task.reduces()) {
    throw UsageError("task " + std::string(task.name()) +
                     " reduces and may be divided, which is not possible; submit it with "
                     "Recursive::never, or let the tasks inside reduce");
  }
  extension(task);
  application_.recursions.note(task, spec.recursive);
}

graph::Task& Submissions::make(const TaskSpec& spec, std::span<const Operand> operands,
                               WorkerId worker) {
  if (spec.codelet == nullptr || operands.size() > kMostOperands) [[unlikely]]
    refuse_operands(spec, operands.size());
  graph::Task& task = engine_.new_task(worker, operands.size());
  MadeTask made(engine_, task, worker);
  task.codelet = spec.codelet;
  task.priority = spec.priority;
  task.access_count = 0;
  task.commutes = false;
  if (says_more(spec)) [[unlikely]]
    say_more(task, spec);
  const std::size_t bytes = spec.parameters.size();
  if (bytes > sizeof(task.parameters)) [[unlikely]] {
    keep_parameters(task, spec.parameters);
  } else {
    task.parameter_bytes = bytes & 0x1fU;  // at most 16
    if (bytes > 0) std::memcpy(task.parameters, spec.parameters.data(), sizeof(task.parameters));
  }
  if (!operands.empty()) fill_accesses(task, operands);
  if (looks_closely_ || spec.expected != nullptr || spec.node) [[unlikely]]
    say_where_and_how_long(task, spec);
  if (spec.codelet->recursive && spec.recursive != Recursive::never) [[unlikely]]
    note_recursive(task, spec);
  check(task);
  return made.take();
}

void Submissions::check(const graph::Task& task) {
  const bool is_divided = task.extension && task.extension->recursive == Recursive::always;
  if (!is_divided) engine_.eligibility().check(task);
  if (!looks_closely_) [[likely]]
    return;
  if (world_ != nullptr) check_simulated_time(task);
  if (application_.sole_copies.limited()) application_.sole_copies.count(task);
}

// All tasks together end before times overflow, whatever the order in which they run.
[[gnu::noinline]] void Submissions::check_simulated_time(const graph::Task& task) {
  constexpr std::int64_t kMost = sim::World::kEndOfTime.ns;
  const std::int64_t longest = longest_time(task, seconds_per_byte_).ns;
  const std::int64_t overhead = most_overhead_.ns;
  sim::World& world = *world_;
  const std::int64_t before = world.claimed().ns;
  if (longest > kMost - overhead - before) {
    throw UsageError("task " + std::string(task.name()) + ": its codelet " + task.codelet->name +
                     " expects " + std::to_string(longest) + " ns, and the tasks before it take " +
                     std::to_string(before) +
                     " ns: a simulated run lasts 2^60 ns (36 years) at most; give shorter times");
  }
  world.claim(Time{longest + overhead});
}

Submissions::Submissions(Application& application, const SubmissionsConfig& config)
    : application_(application),
      engine_(application.engine),
      most_tasks_(config.window_tasks),
      most_bytes_(config.window_bytes),
      counts_bytes_(most_bytes_.value > 0),
      places_(engine_.policy_traits().follows_placement),
      world_(config.world),
      looks_closely_(world_ != nullptr || places_ || application.sole_copies.limited()),
      runtime_(application.handles.number()),
      most_overhead_(most_overhead(engine_.machine())),
      seconds_per_byte_(seconds_per_byte(engine_.machine())) {
  if (config.computes_priorities || engine_.policy_traits().plans) {
    using Priorities = DeferredTasks::Priorities;
    deferred_.emplace(engine_,
                      config.computes_priorities ? Priorities::computed : Priorities::given,
                      std::chrono::duration<double>(config.plan_pause_seconds), config.waiting);
  }
  const Time overhead = engine_.machine().submit_overhead;
  if (config.shares_world && (overhead.ns > 0 || most_tasks_ > 0 || counts_bytes_)) {
    submitter_.emplace(*this, *world_, engine_, deferred_ ? &*deferred_ : nullptr, overhead);
  }
  is_ordered_ = deferred_ || submitter_ || engine_.notes_submissions();
  const bool takes_time = world_ != nullptr && overhead.ns > 0;
  if (most_tasks_ > 0 || counts_bytes_ || takes_time) look_first();
}

void Submissions::number_all() {
  application_.numbers.count_submissions();
  look_first();
}

std::string Submissions::describe() const {
  return (deferred_ ? deferred_->describe() : std::string()) +
         (submitter_ ? submitter_->describe() : std::string());
}

bool Submissions::is_within() const {
  return engine_.inside_task() != nullptr || submitter_->within();
}

bool Submissions::window_has_room(Bytes bytes, std::uint64_t part) const {
  // Ends first: they are never more than the submissions read afterwards.
  const std::uint64_t ended = engine_.counts().ended();
  const std::uint64_t ended_bytes = engine_.counts().ended_bytes().value;
  std::uint64_t pending = engine_.counts().submitted() - ended;
  std::uint64_t pending_bytes = bytes_.load(std::memory_order_relaxed) - ended_bytes;
  if (submitter_) {
    pending -= submitter_->tasks();
    pending_bytes -= submitter_->bytes().value;
  }
  return pending == 0 ||
         ((most_tasks_ == 0 || pending < most_tasks_ / part) &&
          (!counts_bytes_ || pending_bytes + bytes.value <= most_bytes_.value / part));
}

// Whether a submission has returned them is asked where the task enters the graph.
void Submissions::require_own(const TaskSpec& spec) const {
  const auto is_own = [this](TaskId id) { return id.runtime == application_.handles.number(); };
  if (std::ranges::all_of(spec.after, is_own)) return;
  const std::string name =
      !spec.name.empty() || spec.codelet == nullptr ? spec.name : spec.codelet->name;
  throw UsageError("task " + name +
                   " is declared after a task of another runtime, or after a task id that no "
                   "submission returned; name what submit of this runtime has returned");
}

TaskId Submissions::submit_inside(const TaskSpec& named) {
  const std::optional<TaskSpec> local = application_.declared.made_local(named);
  const TaskSpec& spec = local ? *local : named;
  if (!spec.after.empty()) require_own(spec);
  const SubmissionExtras extras{.window_bytes = window_bytes(spec.operands.span())};
  count(extras.window_bytes);
  return {submit(spec, extras).value, application_.handles.number()};
}

[[gnu::noinline]] void Submissions::check_inside(const RecursiveTask& outer,
                                                 const TaskSpec& spec) const {
  outer.check_after(spec.after);
  for (const Operand& operand : spec.operands.span()) {
    if (operand.mode == AccessMode::scratch) continue;
    outer.check_inside(application_.handles.check(operand.handle, "submit"));
  }
}

inline TaskId Submissions::put_into_graph(graph::Task& task, const TaskSpec& spec,
                                          const InTask* inside) {
  if (is_ordered_) [[unlikely]]
    return submit_in_order(task, spec, inside);
  return engine_.submit(task, spec.after, inside != nullptr ? inside->worker : kNoWorker);
}

[[gnu::flatten]] TaskId Submissions::submit(const TaskSpec& spec, const SubmissionExtras& extras) {
  const InTask* const inside = engine_.inside_task();
  const WorkerId worker = inside != nullptr ? inside->worker : kNoWorker;
  RecursiveTask* const outer = inside != nullptr ? Recursions::current() : nullptr;
  if (outer != nullptr) [[unlikely]]
    check_inside(*outer, spec);
  graph::Task* task = nullptr;
  try {
    task = &make(spec, spec.operands.span(), worker);
  } catch (const CapacityError& error) {
    if (inside == nullptr && !extras.was_refused) throw LacksRoom(error.what());
    will_not_come(extras.window_bytes);
    throw;
  } catch (...) {
    will_not_come(extras.window_bytes);
    throw;
  }
  if (spec.group != nullptr) internals::Opener::count(*spec.group).begin_one();
  // A task that is refused is gone when this throws, and with it its extension.
  try {
    MadeTask made(engine_, *task, worker);
    if (extras.number.value != 0) [[unlikely]]
      extension(*made).number = extras.number;
    if (outer != nullptr) [[unlikely]]
      add_inside(*outer, *made);
    if (application_.partitions.any()) [[unlikely]] {
      const Partitions::Lock settled = settle_parts(*made);
      return put_into_graph(made.take(), spec, inside);
    }
    return put_into_graph(made.take(), spec, inside);
  } catch (...) {
    will_not_come(extras.window_bytes,
                  spec.group != nullptr ? &internals::Opener::count(*spec.group) : nullptr);
    throw;
  }
}

[[gnu::noinline]] void Submissions::add_inside(RecursiveTask& outer, graph::Task& task) {
  if (outer.add_inside(task) && engine_.recorder().on(trace::Category::submission)) {
    record_inside(engine_.recorder(), task, outer.task());
  }
}

inline Partitions::Lock Submissions::settle(graph::Task& task) {
  if (application_.partitions.any()) [[unlikely]]
    return settle_parts(task);
  return {};
}

// Brings the content of handles in parts to the side that the task uses; nobody moves the content before the task is in
// the graph.
[[gnu::noinline]] Partitions::Lock Submissions::settle_parts(graph::Task& task) {
  const auto in_parts = [](const graph::Access& access) {
    return access.handle->has_family.load(std::memory_order_relaxed);
  };
  if (std::ranges::none_of(task.accesses(), in_parts)) return {};
  return application_.partitions.settle(task.accesses());
}

void Submissions::submit_settled(const TaskSpec& spec, const graph::Handle& whole) {
  const Bytes bytes = window_bytes(spec.operands.span());
  graph::Task& task = make_inner(spec);
  task.extension->hands_on = &whole;
  try {
    submit_plain(task);
  } catch (...) {
    will_not_come(bytes);
    throw;
  }
}

// It does not wait for the window.
graph::Task& Submissions::make_inner(const TaskSpec& spec) {
  const std::span<const Operand> operands = spec.operands.span();
  const Bytes bytes = window_bytes(operands);
  bytes_.fetch_add(bytes.value, std::memory_order_relaxed);
  try {
    MadeTask made(engine_, make(spec, operands, kNoWorker), kNoWorker);
    extension(*made).is_own = true;
    return made.take();
  } catch (...) {
    will_not_come(bytes);
    throw;
  }
}

void Submissions::discard_inner(graph::Task& task) {
  Bytes bytes;
  for (const graph::Access& access : task.accesses()) bytes += access.handle->bytes();
  if (counts_bytes_) bytes_.fetch_sub(bytes.value);
  engine_.discard(task, kNoWorker);
}

void Submissions::submit_return(const graph::Partition& partition,
                                std::function<void(Outcome)> on_end) {
  base::SureVector<graph::Access> accesses;
  for (graph::Handle* part : partition.parts) {
    accesses.emplace_back(*part, graph::has_content(*part) ? AccessMode::RW : AccessMode::W);
  }
  const SimulatedSubmitter::Within within(submitter());
  submit_repartition(accesses, std::move(on_end));
}

void Submissions::submit_repartition(std::span<const graph::Access> accesses,
                                     std::function<void(Outcome)> on_end) {
  auto data = Repartitions::make_data();
  graph::Task& task =
      engine_.new_plain_task(graph::TaskKind::repartition, "repartition", accesses.size());
  const bool outside = task.outside;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const graph::Access& access = accesses[i];
    task.accesses()[i] =
        graph::Access(*access.handle, access.named_life(), access.mode, i, outside);
  }
  task.extension->kind_data = std::move(data);
  task.extension->on_end = std::move(on_end);
  submit_plain(task);
}

// Not a task of the application's: it is named as it is called.
graph::Task& Submissions::make_plain(Call call, const graph::Access& access,
                                     std::unique_ptr<graph::KindData> data) {
  graph::Task& task = engine_.new_plain_task(call.kind, call.what);
  task.inline_accesses[0] = access;
  task.commutes = commutes(access.mode);
  task.extension->kind_data = std::move(data);
  return task;
}

void Submissions::submit_plain_settled(graph::Task& task) {
  MadeTask made(engine_, task, kNoWorker);
  const Partitions::Lock settled = settle(*made);
  submit_plain(made.take());
}

void Submissions::takes_place(const graph::Task& task) {
  if (task.kind == graph::TaskKind::send) application_.transfers.submitted(task);
}

void Submissions::submit_invalidation(graph::Task& task) {
  if (submitter_) {
    if (!is_within()) return submitter_->submit_plain(task, graph::Content::invalidated);
    submitter_->give_way(task, {});
  }
  if (deferred_) {
    deferred_->add_invalidation(task);
  } else {
    engine_.submit(task, {}, kNoWorker, {});
  }
}

// Of the different handles, if the window counts them.
[[gnu::noinline]] Bytes Submissions::window_bytes(std::span<const Operand> operands) const {
  Bytes sum;
  if (!counts_bytes_) return sum;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].mode == AccessMode::scratch) {
      sum += std::min(Bytes{operands[i].scratch_bytes}, kLargestData);  // more is refused
      continue;
    }
    const auto earlier = operands.first(i);
    const bool named_before = std::ranges::any_of(
        earlier, [&](const Operand& other) { return other.handle == operands[i].handle; });
    if (!named_before) sum += application_.handles.check(operands[i].handle, "submit").bytes();
  }
  return sum;
}

[[gnu::noinline]] TaskId Submissions::submit_in_order(graph::Task& task, const TaskSpec& spec,
                                                      const InTask* inside) {
  const WorkerId submitter = inside != nullptr ? inside->worker : kNoWorker;
  MadeTask made(engine_, task, submitter);
  if (submitter_) {
    if (!is_within()) return submit_in_turn(made.take(), spec);
    submitter_->give_way(task, spec.after);
  }
  if (spec.flops > 0) extension(task).flops = spec.flops;
  if (!deferred_) return engine_.submit(made.take(), spec.after, submitter, {});
  if (inside == nullptr)
    return deferred_->add(made.take(), spec.after, kNoWorker, Deferral::allowed);
  return deferred_->add_behind(made.take(), spec.after, submitter);
}

TaskId Submissions::submit_in_turn(graph::Task& task, const TaskSpec& spec) {
  MadeTask made(engine_, task, kNoWorker);
  if (deferred_ && spec.flops > 0) extension(task).flops = spec.flops;
  const Bytes bytes = window_bytes(spec.operands.span());
  return submitter_->submit(made.take(), spec.after, bytes);
}

void Submissions::submit_plain(graph::Task& task) {
  if (submitter_) {
    if (!is_within()) return submitter_->submit_plain(task, graph::Content::written);
    submitter_->give_way(task, {});
  }
  if (deferred_) {
    deferred_->add_behind(task, {}, kNoWorker);
  } else {
    engine_.submit(task, {}, kNoWorker, {});
  }
}

// Who waits for the window, or for the group, may wait for nothing else.
[[gnu::noinline]] void Submissions::will_not_come(Bytes bytes, graph::GroupCount* group) {
  bytes_.fetch_sub(bytes.value, std::memory_order_relaxed);
  if (group != nullptr) graph::GroupCount::end_one(*group);
  engine_.notify_waiters();
}

}  // namespace vicinal::engine
