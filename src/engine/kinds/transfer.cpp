#include "engine/kinds/transfer.hpp"

#include <utility>

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "engine/ram_hold.hpp"
#include "memory/replica.hpp"

namespace vicinal::engine {

struct Transfers::Data final : graph::KindData {
  explicit Data(std::uint64_t its_number, const Destination& its_to = {})
      : number(its_number), to(its_to) {}
  const std::uint64_t number;
  Destination to;  // RAM, once it was looked at
  RamHold hold;
  enum class Has : std::uint8_t { nothing, hold, pin, room } has = Has::nothing;
  std::byte* room = nullptr;  // where it was read to
};

Transfers::Data& Transfers::data_of(const graph::Task& task) {
  return static_cast<Data&>(*task.extension->kind_data);
}

void Transfers::submit_send(Handle registered, std::uint64_t number, int priority) {
  graph::Task& task = application_.submissions.make_plain(
      {graph::TaskKind::send, "send"},
      {*registered.impl(), registered.life(), AccessMode::R, 0, false},
      std::make_unique<Data>(number));
  task.priority = priority;
  application_.submissions.submit_plain_settled(task);
}

void Transfers::submit_receive(Handle registered, std::uint64_t number, const Destination& to) {
  graph::Handle& handle = *registered.impl();
  if (!handle.takes_writes.load(std::memory_order_acquire)) {
    application_.engine.residency().give_room(handle, registered.life());
  }
  graph::Task& task = application_.submissions.make_plain(
      {graph::TaskKind::receive, "receive"}, {handle, registered.life(), AccessMode::W, 0, false},
      std::make_unique<Data>(number, to));
  application_.submissions.submit_plain_settled(task);
}

void Transfers::submitted(const graph::Task& task) {
  carrier_->submitted(data_of(task).number);
}

void Transfers::ready(graph::Task& task) {
  carrier_->ready(data_of(task).number, task);
}

void Transfers::hold(graph::Task& task) {
  Data& data = data_of(task);
  data.has = Data::Has::hold;
  data.hold.take(application_.engine, task, *this);
}

void Transfers::bring(graph::Task& task) {
  Data& data = data_of(task);
  const bool is_empty = task.accesses()[0].handle->bytes().value == 0;
  if (is_empty || !application_.engine.residency().limit(kRam)) return hold(task);
  if (application_.engine.data().pin_in_ram(task)) {
    data.has = Data::Has::pin;
    return carrier_->held(data.number, nullptr);
  }
  {
    const std::lock_guard lock(mutex_);
    if (is_taken_) {
      waiting_.push_back(&task);
      return;
    }
    is_taken_ = true;
  }
  read_into_room(task);
}

void Transfers::read_into_room(graph::Task& task) {
  Data& data = data_of(task);
  data.has = Data::Has::room;
  data.room = room_;
  application_.engine.data().read(task, room_, [this, &data](const std::exception_ptr& error) {
    carrier_->held(data.number, error);
  });
}

void Transfers::leave_room() {
  graph::Task* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    is_taken_ = !waiting_.empty();
    if (is_taken_) {
      next = waiting_.front();
      waiting_.pop_front();
    }
  }
  if (next != nullptr) return read_into_room(*next);
  application_.engine.notify_waiters();  // see keep
}

bool Transfers::keep(std::byte* room) {
  const std::lock_guard lock(mutex_);
  if (is_taken_) return false;
  room_ = room;
  return true;
}

void Transfers::held(graph::Task& task, const std::exception_ptr& error) {
  carrier_->held(data_of(task).number, error);
}

OperandView Transfers::view(const graph::Task& task) {
  if (std::byte* const room = data_of(task).room) {
    return {room, task.accesses()[0].handle->layout.packed()};
  }
  const graph::Handle& handle = *task.accesses()[0].handle;
  const memory::Replica& replica = memory::replica_of(handle, kRam);
  // By member: behind the last lies what others may write meanwhile, see graph::Handle.
  const Layout& own = handle.layout;
  const Layout at_home{own.column_bytes, own.columns, own.stride_bytes, own.element_bytes};
  return {replica.address, replica.own_layout ? at_home : own.packed()};
}

// Before whoever reads it: else the policy, asked where they are to run, would find it in RAM alone.
void Transfers::pass_on(const graph::Task& task, memory::Actions& actions) {
  const Destination to = std::exchange(data_of(task).to, {});
  memory::Residency& residency = application_.engine.residency();
  const std::optional<NodeId> node = arrivals_.node_of(to, residency);
  graph::Handle& handle = *task.accesses()[0].handle;
  if (node && residency.pass_on(handle, *node, actions)) arrivals_.count(handle.bytes());
}

void Transfers::share(graph::Task& task) {
  data_of(task).hold.share(application_.engine,
                           [this, &task](memory::Actions& actions) { pass_on(task, actions); });
}

void Transfers::put_down(graph::Task& task) {
  Data& data = data_of(task);
  const Data::Has has = std::exchange(data.has, Data::Has::nothing);
  data.room = nullptr;
  if (has == Data::Has::hold) data.hold.put_down(application_.engine);
  if (has == Data::Has::pin) application_.engine.data().unpin_in_ram(task);
  if (has == Data::Has::room) leave_room();
}

bool Transfers::is_lost(const graph::Task& task) {
  return task.accesses()[0].handle->poisoned.load(std::memory_order_relaxed);
}

void Transfers::end(graph::Task& task, Outcome outcome) {
  Data& data = data_of(task);
  if (data.has == Data::Has::hold) {
    if (outcome != Outcome::done) data.to = {};
    return data.hold.let_go(application_.engine, outcome, nullptr,
                            [this, &task](memory::Actions& actions) { pass_on(task, actions); });
  }
  const bool leaves = data.has == Data::Has::room;
  if (data.has == Data::Has::pin) application_.engine.data().unpin_in_ram(task);
  application_.engine.end_unstarted(task, outcome);
  if (leaves) leave_room();
}

}  // namespace vicinal::engine
