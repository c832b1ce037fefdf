#include "engine/kinds/transfer.hpp"

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "engine/ram_hold.hpp"
#include "memory/replica.hpp"

namespace vicinal::engine {

struct Transfers::Data final : graph::KindData {
  explicit Data(std::uint64_t its_number) : number(its_number) {}
  const std::uint64_t number;
  RamHold hold;
  bool is_held = false;
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

void Transfers::submit_receive(Handle registered, std::uint64_t number) {
  graph::Handle& handle = *registered.impl();
  if (!handle.takes_writes.load(std::memory_order_acquire)) {
    application_.engine.residency().give_room(handle, registered.life());
  }
  graph::Task& task = application_.submissions.make_plain(
      {graph::TaskKind::receive, "receive"}, {handle, registered.life(), AccessMode::W, 0, false},
      std::make_unique<Data>(number));
  application_.submissions.submit_plain_settled(task);
}

void Transfers::ready(graph::Task& task) {
  carrier_->ready(data_of(task).number, task);
}

void Transfers::hold(graph::Task& task) {
  Data& data = data_of(task);
  data.is_held = true;
  data.hold.take(application_.engine, task, *this);
}

void Transfers::held(graph::Task& task, const std::exception_ptr& error) {
  carrier_->held(data_of(task).number, error);
}

OperandView Transfers::view(const graph::Task& task) {
  return memory::view(*task.accesses()[0].handle, kRam);
}

bool Transfers::is_lost(const graph::Task& task) {
  return task.accesses()[0].handle->poisoned.load(std::memory_order_relaxed);
}

void Transfers::end(graph::Task& task, Outcome outcome) {
  Data& data = data_of(task);
  if (data.is_held) return data.hold.let_go(application_.engine, outcome);
  application_.engine.end_unstarted(task, outcome);
}

}  // namespace vicinal::engine
