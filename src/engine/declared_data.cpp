#include "engine/declared_data.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/legible.hpp"
#include "engine/application.hpp"
#include "engine/arguments.hpp"
#include "engine/lifecycle.hpp"

namespace vicinal::engine {

Handle DeclaredData::declare(const Layout& layout, std::string name, Handle registered) {
  require_size(layout, name);
  name = base::legible_name(name);
  const std::lock_guard lock(mutex_);
  if (table_ == nullptr) {
    table_ = std::make_unique<graph::DeclaredTable>();
    nobody_.store(&table_->nobody(), std::memory_order_release);
  }
  const bool is_told = application_.engine.inside_task() == nullptr && !registered;
  const std::uint32_t number =
      table_->add(layout, name, is_told ? application_.numbers.next_data() : graph::DataNumber{});
  if (registered) table_->give(number, *registered.impl(), registered.life());
  application_.submissions.look_first();
  return {table_->nobody(), application_.handles.number(), number};
}

Handle DeclaredData::name(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return {table_->nobody(), application_.handles.number(), number};
}

std::string DeclaredData::describe(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto datum = table_->find(number);
  return datum && !datum->name.empty() ? datum->name : "data" + std::to_string(number);
}

Bytes DeclaredData::bytes(std::uint32_t number) const {
  return layout(number).bytes();
}

Layout DeclaredData::layout(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto datum = table_->find(number);
  return datum ? datum->layout : Layout{};
}

bool DeclaredData::any_of(std::span<const Operand> operands) const {
  return std::ranges::any_of(operands,
                             [this](const Operand& operand) { return has(operand.handle); });
}

std::optional<TaskSpec> DeclaredData::made_local(const TaskSpec& spec) {
  const std::span<const Operand> operands = spec.operands.span();
  if (!any_of(operands)) return std::nullopt;
  std::vector<Operand> registered(operands.begin(), operands.end());
  for (Operand& operand : registered) operand.handle = local(operand.handle, "submit");
  std::optional<TaskSpec> made(spec);
  made->operands = Operands(std::move(registered));
  return made;
}

// Under the lock: two threads that use it first register it once.
Handle DeclaredData::use(Handle handle, const char* what) {
  const std::lock_guard lock(mutex_);
  std::optional<graph::DeclaredTable::Datum> datum;
  if (handle.runtime() == application_.handles.number()) datum = table_->find(handle.life());
  if (!datum) application_.handles.throw_unknown(handle, what);
  if (datum->handle != nullptr) return {*datum->handle, application_.handles.number(), datum->life};
  std::string name = std::move(datum->name);
  if (name.empty()) name = "data" + std::to_string(datum->number.value);
  const Handle local =
      application_.handles.add(datum->layout, {}, false, std::move(name), {.data = datum->number});
  table_->give(handle.life(), *local.impl(), local.life());
  return local;
}

Handle DeclaredData::used(Handle handle) const {
  const std::lock_guard lock(mutex_);
  const auto datum = table_->find(handle.life());
  if (!datum || datum->handle == nullptr) return {};
  return {*datum->handle, application_.handles.number(), datum->life};
}

bool DeclaredData::is_unused(Handle handle) const {
  const std::lock_guard lock(mutex_);
  const auto datum = table_->find(handle.life());
  return datum && datum->handle == nullptr;
}

bool DeclaredData::forget(Handle handle) {
  const std::lock_guard lock(mutex_);
  return table_->forget(handle.life());
}

std::size_t DeclaredData::size() const {
  const std::lock_guard lock(mutex_);
  return table_ != nullptr ? table_->size() : 0;
}

}  // namespace vicinal::engine
