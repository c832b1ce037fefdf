// From what the application says to a task in the graph.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/legible.hpp"
#include "base/warm.hpp"
#include "graph/dependencies.hpp"
#include "graph/group.hpp"
#include "memory/arena.hpp"
#include "runtime/estimated_times.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

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

}  // namespace

// Nearly all operands: a plain access of a handle of this runtime, for a task that has nothing special.
inline bool RuntimeImpl::is_plain(const graph::Task& task, const Operand& operand) const {
  const AccessMode mode = operand.mode;
  if (mode != AccessMode::R && mode != AccessMode::RW && mode != AccessMode::W) return false;
  if (task.extension || operand.handle.runtime() != number_) return false;
  const graph::Handle& handle = *operand.handle.impl();
  return handle.life() == operand.handle.life() &&
         (!writes(mode) || handle.takes_writes.load(std::memory_order_acquire));
}

// One access per handle, in the strongest mode; operands keep their numbers through view_of.
[[gnu::noinline]] void RuntimeImpl::fill_accesses(graph::Task& task,
                                                  std::span<const Operand> operands) {
  graph::Access* const first = task.accesses().data();
  graph::Access* end = first;
  const bool outside = task.outside;
  for (const Operand& operand : operands) {
    graph::Handle* const handle = operand.handle.impl();
    const graph::Access* same = first;
    while (same != end && same->handle != handle) ++same;
    if (same == end && is_plain(task, operand)) [[likely]] {
      *end = graph::Access(*handle, operand.handle.life(), operand.mode,
                           static_cast<std::size_t>(end - first), outside);
      ++end;
    } else {
      const auto number = static_cast<std::size_t>(&operand - operands.data());
      end = first + fill_access(task, operand, number, static_cast<std::size_t>(end - first));
    }
  }
  task.access_count = static_cast<std::size_t>(end - first) & 0x3fffU;  // at most kMostOperands
}

// Any operand. `count`: of the accesses before it; returns that with it.
[[gnu::noinline]] std::size_t RuntimeImpl::fill_access(graph::Task& task, const Operand& operand,
                                                       std::size_t number, std::size_t count) {
  graph::Access* const accesses = task.accesses().data();
  if (operand.mode == AccessMode::scratch) {
    add_scratch(task, operand, count);
    auto& views = extension(task).view_of;
    if (!views.empty()) views.push_back(static_cast<std::uint16_t>(count));
    return count + 1;
  }
  graph::Handle& handle = check(operand.handle, "submit");
  if (commutes(operand.mode)) task.commutes = true;
  if (writes(operand.mode) && !handle.takes_writes.load(std::memory_order_acquire)) {
    prepare_to_write(task, handle, operand.handle.life());
  }
  std::size_t at = 0;
  while (at < count && accesses[at].handle != &handle) ++at;
  if (operand.mode == AccessMode::reduction) {
    reductions_.note(extension(task), task, handle, at);
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
[[gnu::noinline]] void RuntimeImpl::add_scratch(graph::Task& task, const Operand& operand,
                                                std::size_t number) {
  if (operand.handle) {
    throw UsageError("task " + std::string(task.name()) + " uses handle " +
                     graph::name_of(check(operand.handle, "submit")) +
                     " as scratch, which has none; give Scratch(bytes)");
  }
  graph::TaskExtension& more = extension(task);
  const Handle room = scratch_.take(Bytes{operand.scratch_bytes});
  task.accesses().data()[number] =
      graph::Access(*room.impl(), room.life(), AccessMode::scratch, number, task.outside);
  more.has_scratch = true;
  task.access_count = (number + 1) & 0x3fffU;
}

// By the first task that writes it, or not at all.
[[gnu::noinline]] void RuntimeImpl::prepare_to_write(const graph::Task& task, graph::Handle& handle,
                                                     std::uint32_t life) {
  if (!handle.home.writable) {
    throw UsageError("task " + std::string(task.name()) + " writes handle " +
                     graph::name_of(handle) +
                     ", whose file was registered read-only; register it writable");
  }
  engine_->residency().give_room(handle, life);
}

// What the task says of its times; in simulation what follows from its operations or its bytes, too.
[[gnu::noinline]] void RuntimeImpl::set_times(graph::Task& task, const TaskSpec& spec) const {
  if (spec.expected != nullptr) {
    const Time least = std::ranges::min(*spec.expected);
    if (least.ns < 0) {
      throw UsageError("task " + std::string(task.name()) + " is expected to take " +
                       std::to_string(least.ns) + " ns; give a time that is not below 0");
    }
    extension(task).expected = *spec.expected;
  }
  if (setup_.simulated && spec.codelet->estimated) {
    estimate_time(extension(task), task, setup_.machine, spec.flops);
  }
}

[[gnu::noinline]] void RuntimeImpl::say_more(graph::Task& task, const TaskSpec& spec) const {
  graph::TaskExtension& more = extension(task);
  if (!spec.name.empty()) more.name = base::legible_name(spec.name);
  if (spec.worker) more.worker = spec.worker;
  if (spec.node) more.node = check_node(*spec.node, "submit");
  if (spec.group != nullptr) more.group = &Opener::count(*spec.group);
  if (spec.on_end) more.on_end = spec.on_end;
}

[[gnu::noinline]] void RuntimeImpl::say_where_and_how_long(graph::Task& task,
                                                           const TaskSpec& spec) const {
  if (spec.expected != nullptr || setup_.simulated) set_times(task, spec);
  if (places_) {
    ask_place(task, spec);
  } else if (spec.node) {
    extension(task).only_on_node = engine_->eligibility().can_run_on(task, *spec.node);
  }
}

[[gnu::noinline]] void RuntimeImpl::note_recursive(graph::Task& task, const TaskSpec& spec) {
  if (task.reduces()) {
    throw UsageError("task " + std::string(task.name()) +
                     " reduces and may be divided, which is not possible; submit it with "
                     "Recursive::never, or let the tasks inside reduce");
  }
  extension(task);
  recursions_.note(task, spec.recursive);
}

graph::Task& RuntimeImpl::make_task(const TaskSpec& spec, std::span<const Operand> operands,
                                    WorkerId worker) {
  if (spec.codelet == nullptr || operands.size() > kMostOperands) [[unlikely]]
    refuse_operands(spec, operands.size());
  graph::Task& task = engine_->new_task(worker, operands.size());
  try {
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
    check_task(task);
  } catch (...) {
    engine_->discard(task, worker);
    throw;
  }
  return task;
}

void RuntimeImpl::check_task(const graph::Task& task) {
  const bool is_divided = task.extension && task.extension->recursive == Recursive::always;
  if (!is_divided) engine_->eligibility().check(task);
  if (!looks_closely_) [[likely]]
    return;
  if (setup_.simulated) check_simulated_time(task);
  if (counts_sole_copies()) check_sole_copies(task);
}

std::string RuntimeImpl::how_to_get_room() const {
  return setup_.simulated ? "give the machine a disk, or more RAM"
                          : "give a folder with the option disk, or raise the option memory";
}

void RuntimeImpl::wait_for_copies(const char* call) {
  const std::string what = std::string(call) + " (private copies have the room that it needs)";
  wait_until([&] { return !reductions_.any_more_copies(); }, what.c_str());
}

// A task was refused, and that is being handled. What nobody uses any more may have the room that it lacks; private
// copies may: that is waited for.
[[gnu::noinline]] graph::Task& RuntimeImpl::make_once_more(const TaskSpec& spec,
                                                           std::span<const Operand> operands,
                                                           Bytes bytes, bool inside_task) {
  try {
    if (inside_task) throw;
    if (departures_.sweep()) return make_task(spec, operands, kNoWorker);
    if (!reductions_.any()) throw;
    const Reductions::Sparing sparing(reductions_);
    wait_for_copies("submit");
    return make_task(spec, operands, kNoWorker);
  } catch (...) {
    will_not_come(bytes, nullptr);
    throw;
  }
}

bool RuntimeImpl::take_sole_room(graph::Handle& handle) {
  if (!counts_sole_copies()) return true;
  const Bytes bytes = memory::Arena::padded(handle.bytes());
  const std::lock_guard lock(handles_mutex_);
  if (unhomed_ + bytes + most_scratch_ > *sole_limit_) return false;
  unhomed_ += bytes;
  handle.counts_unhomed.store(true, std::memory_order_relaxed);
  return true;
}

void RuntimeImpl::give_back_sole_room(graph::Handle& handle) {
  const std::lock_guard lock(handles_mutex_);
  if (!handle.counts_unhomed.exchange(false, std::memory_order_relaxed)) return;
  unhomed_ -= memory::Arena::padded(handle.bytes());
}

// All tasks together end before times overflow, whatever the order in which they run.
[[gnu::noinline]] void RuntimeImpl::check_simulated_time(const graph::Task& task) {
  constexpr std::int64_t kMost = sim::World::kEndOfTime.ns;
  std::int64_t longest = std::ranges::max(task.codelet->expected).ns;
  if (task.extension) longest = std::max(longest, std::ranges::max(task.extension->expected).ns);
  const std::int64_t overhead = most_overhead_.ns;
  sim::World& world = setup_.world->world;
  const std::int64_t before = world.claimed().ns;
  if (longest > kMost - overhead - before) {
    throw UsageError("task " + std::string(task.name()) + ": its codelet " + task.codelet->name +
                     " expects " + std::to_string(longest) + " ns, and the tasks before it take " +
                     std::to_string(before) +
                     " ns: a simulated run lasts 2^60 ns (36 years) at most; give shorter times");
  }
  world.claim(Time{longest + overhead});
}

[[gnu::noinline]] void RuntimeImpl::check_sole_copies(const graph::Task& task) {
  if (task.extension && task.extension->has_scratch) reserve_scratch(task);
  count_sole_copies(task.accesses(), "task ", task.name());
}

// RAM is limited and there is no disk: what the runtime allocates must fit in RAM altogether, since
// it has nowhere else to go. Said at the first write that would break it, not when a run is stuck.
void RuntimeImpl::count_sole_copies(std::span<const graph::Access> accesses, const char* kind,
                                    std::string_view name) {
  const auto counts = [](const graph::Access& access) {
    return (leaves_content(access.mode) || access.mode == AccessMode::reduction) &&
           access.named_life() == access.handle->life() &&
           access.handle->home.kind == graph::HomeKind::none &&
           !access.handle->counts_unhomed.load(std::memory_order_relaxed);
  };
  if (std::ranges::none_of(accesses, counts)) return;
  const std::lock_guard lock(handles_mutex_);
  Bytes added;
  for (const graph::Access& access : accesses) {
    const graph::Handle& handle = *access.handle;
    if (!counts(access)) continue;
    const Bytes bytes = memory::Arena::padded(handle.bytes());
    added += bytes;
    const Bytes all = unhomed_ + added + most_scratch_;
    if (all > *sole_limit_) {
      throw CapacityError(std::string(kind).append(name) + " writes " + handle.name +
                          ": the data written so far and this" +
                          (most_scratch_.value > 0 ? ", with the scratch of a task," : "") +
                          " need " + std::to_string(all.value) + " bytes, the memory limit is " +
                          std::to_string(sole_limit_->value) + " bytes and there is no disk; " +
                          how_to_get_room());
    }
  }
  unhomed_ += added;
  for (const graph::Access& access : accesses) {
    if (counts(access)) access.handle->counts_unhomed.store(true, std::memory_order_relaxed);
  }
}

// Of the application, which may wait for the room that private copies have.
void RuntimeImpl::count_acquired(graph::Handle& handle, std::uint32_t life) {
  const graph::Access access(handle, life, AccessMode::W, 0, false);
  try {
    count_sole_copies({&access, 1}, "acquire", "");
  } catch (const CapacityError&) {
    if (!reductions_.any()) throw;
    const Reductions::Sparing sparing(reductions_);
    wait_for_copies("acquire");
    count_sole_copies({&access, 1}, "acquire", "");
  }
}

// What has no home stays in RAM, and beside it there must be room for the scratch of one task.
[[gnu::noinline]] void RuntimeImpl::reserve_scratch(const graph::Task& task) {
  const bool on_core =
      std::ranges::any_of(setup_.machine.workers, [&](const WorkerDescription& worker) {
        return worker.node == kRam && engine_->eligibility().can_run(task, worker.id);
      });
  if (!on_core) return;
  Bytes scratch;
  for (const graph::Access& access : task.accesses()) {
    if (access.mode == AccessMode::scratch)
      scratch += memory::Arena::padded(access.handle->bytes());
  }
  const std::lock_guard lock(handles_mutex_);
  if (unhomed_ + scratch > *sole_limit_) {
    throw CapacityError(
        "task " + std::string(task.name()) + " has scratch of " + std::to_string(scratch.value) +
        " bytes: with the data written so far it needs " +
        std::to_string((unhomed_ + scratch).value) + " bytes, the memory limit is " +
        std::to_string(sole_limit_->value) + " bytes and there is no disk; " + how_to_get_room());
  }
  most_scratch_ = std::max(most_scratch_, scratch);
}

// Whether a submission has returned them is asked where the task enters the graph.
void RuntimeImpl::require_own(const TaskSpec& spec) const {
  const auto is_own = [this](TaskId id) { return id.runtime == number_; };
  if (std::ranges::all_of(spec.after, is_own)) return;
  const std::string name =
      !spec.name.empty() || spec.codelet == nullptr ? spec.name : spec.codelet->name;
  throw UsageError("task " + name +
                   " is declared after a task of another runtime, or after a task id that no "
                   "submission returned; name what submit of this runtime has returned");
}

inline TaskId RuntimeImpl::put_into_graph(graph::Task& task, const TaskSpec& spec,
                                          const engine::InTask* inside) {
  if (held_back_) return hold_back(task, spec, inside);
  return engine_->submit(task, spec.after, inside != nullptr ? inside->worker : kNoWorker);
}

[[gnu::noinline]] void RuntimeImpl::check_inside(const RecursiveTask& outer,
                                                 const TaskSpec& spec) const {
  outer.check_after(spec.after);
  for (const Operand& operand : spec.operands.span()) {
    if (operand.mode == AccessMode::scratch) continue;
    outer.check_inside(check(operand.handle, "submit"));
  }
}

[[gnu::flatten]] TaskId RuntimeImpl::submit(const TaskSpec& spec) {
  const engine::InTask* const inside = engine_->inside_task();
  const WorkerId worker = inside != nullptr ? inside->worker : kNoWorker;
  RecursiveTask* const outer = inside != nullptr ? Recursions::current() : nullptr;
  if (outer != nullptr) [[unlikely]]
    check_inside(*outer, spec);
  // Often last written by the worker that ended the last task that used them.
  const std::span<const Operand> operands = spec.operands.span();
  for (const Operand& operand : operands) base::warm(operand.handle.impl());
  // Before the task is made, for a task that is made counts as submitted.
  const Bytes bytes = windowed_ ? window_bytes(operands) : Bytes{0};
  if (windowed_) respect_window(bytes, inside == nullptr);
  graph::Task* made = nullptr;
  try {
    made = &make_task(spec, operands, worker);
  } catch (const CapacityError&) {
    made = &make_once_more(spec, operands, bytes, inside != nullptr);
  } catch (...) {
    will_not_come(bytes, nullptr);
    throw;
  }
  graph::Task& task = *made;
  if (spec.group != nullptr) Opener::count(*spec.group).begin_one();
  // A task that is refused is gone when this throws, and with it its extension.
  try {
    if (outer != nullptr) [[unlikely]]
      add_inside(*outer, task, worker);
    if (partitions_.any()) [[unlikely]] {
      const Partitions::Lock settled = settle_parts(task, worker);
      return put_into_graph(task, spec, inside);
    }
    return put_into_graph(task, spec, inside);
  } catch (...) {
    will_not_come(bytes, spec.group != nullptr ? &Opener::count(*spec.group) : nullptr);
    throw;
  }
}

// If it is refused the task is gone.
[[gnu::noinline]] void RuntimeImpl::add_inside(RecursiveTask& outer, graph::Task& task,
                                               WorkerId worker) {
  try {
    if (outer.add_inside(task) && engine_->recorder().on(trace::Category::submission)) {
      engine_->record_inside(task, outer.task());
    }
  } catch (...) {
    engine_->discard(task, worker);
    throw;
  }
}

// What it uses of handles in parts is brought to where it looks for it; nobody moves it before the task is in the
// graph. If it is refused the task is gone.
[[gnu::noinline]] Partitions::Lock RuntimeImpl::settle_parts(graph::Task& task, WorkerId worker) {
  const auto in_parts = [](const graph::Access& access) {
    return access.handle->has_family.load(std::memory_order_relaxed);
  };
  if (std::ranges::none_of(task.accesses(), in_parts)) return {};
  try {
    return partitions_.settle(task.accesses());
  } catch (...) {
    engine_->discard(task, worker);
    throw;
  }
}

void RuntimeImpl::submit_settled(const TaskSpec& spec, const graph::Handle& whole) {
  const Bytes bytes = windowed_ ? window_bytes(spec.operands.span()) : Bytes{0};
  graph::Task& task = make_inner(spec);
  task.extension->hands_on = &whole;
  try {
    submit_plain(task);
  } catch (...) {
    will_not_come(bytes, nullptr);
    throw;
  }
}

// It does not wait for the window.
graph::Task& RuntimeImpl::make_inner(const TaskSpec& spec) {
  const std::span<const Operand> operands = spec.operands.span();
  const Bytes bytes = windowed_ ? window_bytes(operands) : Bytes{0};
  submitted_bytes_.fetch_add(bytes.value, std::memory_order_relaxed);
  graph::Task* made = nullptr;
  try {
    made = &make_task(spec, operands, kNoWorker);
    extension(*made).is_own = true;
    return *made;
  } catch (...) {
    if (made != nullptr) engine_->discard(*made, kNoWorker);
    will_not_come(bytes, nullptr);
    throw;
  }
}

void RuntimeImpl::discard_inner(graph::Task& task) {
  Bytes bytes;
  for (const graph::Access& access : task.accesses()) bytes += access.handle->bytes();
  if (options_.window_bytes.value > 0) submitted_bytes_.fetch_sub(bytes.value);
  engine_->discard(task, kNoWorker);
}

void RuntimeImpl::submit_return(const graph::Partition& partition,
                                std::function<void(Outcome)> on_end) {
  base::SureVector<graph::Access> accesses;
  for (graph::Handle* part : partition.parts) {
    accesses.emplace_back(*part, graph::has_content(*part) ? AccessMode::RW : AccessMode::W);
  }
  submit_repartition(accesses, std::move(on_end));
}

void RuntimeImpl::submit_repartition(std::span<const graph::Access> accesses,
                                     std::function<void(Outcome)> on_end) {
  graph::Task& task =
      engine_->new_plain_task(graph::TaskKind::repartition, "repartition", accesses.size());
  const bool outside = task.outside;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const graph::Access& access = accesses[i];
    task.accesses()[i] =
        graph::Access(*access.handle, access.named_life(), access.mode, i, outside);
  }
  task.extension->on_runnable = [this](graph::Task& ready) { engine_->pass_on_in_ram(ready); };
  task.extension->on_end = std::move(on_end);
  submit_plain(task);
}

// Of the different handles, if the window counts them.
[[gnu::noinline]] Bytes RuntimeImpl::window_bytes(std::span<const Operand> operands) const {
  Bytes sum;
  if (options_.window_bytes.value == 0) return sum;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].mode == AccessMode::scratch) {
      sum += std::min(Bytes{operands[i].scratch_bytes}, kLargestData);  // more is refused
      continue;
    }
    const auto earlier = operands.first(i);
    const bool named_before = std::ranges::any_of(
        earlier, [&](const Operand& other) { return other.handle == operands[i].handle; });
    if (!named_before) sum += check(operands[i].handle, "submit").bytes();
  }
  return sum;
}

[[gnu::noinline]] TaskId RuntimeImpl::hold_back(graph::Task& task, const TaskSpec& spec,
                                                const engine::InTask* inside) {
  const WorkerId submitter = inside != nullptr ? inside->worker : kNoWorker;
  try {
    if (spec.flops > 0) extension(task).flops = spec.flops;
  } catch (...) {
    engine_->discard(task, submitter);
    throw;
  }
  if (inside == nullptr) return held_back_->add(task, spec.after, kNoWorker, Held::back);
  return held_back_->add_behind(task, spec.after, submitter);
}

void RuntimeImpl::submit_plain(graph::Task& task) {
  if (held_back_) {
    held_back_->add_behind(task, {}, kNoWorker);
  } else {
    engine_->submit(task, {}, kNoWorker);
  }
}

// Of a task that was refused, and counted until now. Who waits for the window, or for the group, may wait for nothing
// else.
[[gnu::noinline]] void RuntimeImpl::will_not_come(Bytes bytes, graph::GroupCount* group) {
  submitted_bytes_.fetch_sub(bytes.value, std::memory_order_relaxed);
  if (group != nullptr) graph::GroupCount::end_one(*group);
  notify_waiters();
}

// A submitter that runs far ahead works, or sleeps, until the window has room; until half of it is free if the
// policy plans, or it would plan one task at a time. What is submitted inside a task is counted, but does not wait.
[[gnu::noinline]] void RuntimeImpl::respect_window(Bytes bytes, bool may_wait) {
  const auto has_room_in = [&](std::uint64_t part) {
    // Ends first: they are never more than the submissions read afterwards.
    const std::uint64_t ended = engine_->counts().ended();
    const std::uint64_t ended_bytes = engine_->counts().ended_bytes().value;
    const std::uint64_t pending = engine_->counts().submitted() - ended;
    const std::uint64_t pending_bytes =
        submitted_bytes_.load(std::memory_order_relaxed) - ended_bytes;
    return pending == 0 ||
           ((options_.window_tasks == 0 || pending < options_.window_tasks / part) &&
            (options_.window_bytes.value == 0 ||
             pending_bytes + bytes.value <= options_.window_bytes.value / part));
  };
  if (may_wait && !has_room_in(1)) {
    const std::uint64_t part = engine_->policy_plans() ? 2 : 1;
    wait_until([&] { return has_room_in(part); }, "submit (the submission window is full)");
  }
  submitted_bytes_.fetch_add(bytes.value, std::memory_order_relaxed);
}

}  // namespace vicinal::runtime
