#include "engine/declared_data.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/legible.hpp"
#include "engine/application.hpp"
#include "engine/arguments.hpp"
#include "engine/lifecycle.hpp"

namespace vicinal::engine {

Handle DeclaredData::declare(const Layout& layout, std::string name) {
  require_size(layout, name);
  name = base::legible_name(name);
  const std::lock_guard lock(mutex_);
  if (table_ == nullptr) {
    table_ = std::make_unique<graph::DeclaredTable>();
    nobody_.store(&table_->nobody(), std::memory_order_release);
  }
  const bool is_told = application_.engine.inside_task() == nullptr;
  const std::uint32_t number =
      table_->add(layout, name, is_told ? application_.numbers.next_data() : graph::DataNumber{});
  application_.submissions.look_first();
  return {table_->nobody(), application_.handles.number(), number};
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

bool DeclaredData::forget(Handle handle) {
  const std::lock_guard lock(mutex_);
  return table_->forget(handle.life());
}

std::size_t DeclaredData::size() const {
  const std::lock_guard lock(mutex_);
  return table_ != nullptr ? table_->size() : 0;
}

}  // namespace vicinal::engine
