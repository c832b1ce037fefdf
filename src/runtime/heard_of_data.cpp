#include "runtime/heard_of_data.hpp"

#include <algorithm>
#include <utility>

#include "base/legible.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/sizes.hpp"

namespace vicinal::runtime {

Handle HeardOfData::hear_of(const Layout& layout, std::string name) {
  require_size(layout, name);
  name = base::legible_name(name);
  const std::lock_guard lock(mutex_);
  if (table_ == nullptr) {
    table_ = std::make_unique<graph::HeardOf>();
    nobody_.store(&table_->nobody(), std::memory_order_release);
  }
  const bool is_told = runtime_.engine().inside_task() == nullptr;
  const std::uint32_t number =
      table_->add(layout, name, is_told ? runtime_.numbers().next_data() : graph::DataNumber{});
  runtime_.look_at_submissions();
  return {table_->nobody(), runtime_.number(), number};
}

bool HeardOfData::any_of(std::span<const Operand> operands) const {
  return std::ranges::any_of(operands,
                             [this](const Operand& operand) { return has(operand.handle); });
}

// Under the lock: two threads that use it first register it once.
Handle HeardOfData::use(Handle handle, const char* what) {
  const std::lock_guard lock(mutex_);
  std::optional<graph::HeardOf::Datum> datum;
  if (handle.runtime() == runtime_.number()) datum = table_->find(handle.life());
  if (!datum) runtime_.throw_unknown_handle(handle, what);
  if (datum->handle != nullptr) return {*datum->handle, runtime_.number(), datum->life};
  std::string name = std::move(datum->name);
  if (name.empty()) name = "data" + std::to_string(datum->number.value);
  const Handle local =
      runtime_.add(datum->layout, {}, false, std::move(name), {.data = datum->number});
  table_->give(handle.life(), *local.impl(), local.life());
  return local;
}

Handle HeardOfData::used(Handle handle) const {
  const std::lock_guard lock(mutex_);
  const auto datum = table_->find(handle.life());
  if (!datum || datum->handle == nullptr) return {};
  return {*datum->handle, runtime_.number(), datum->life};
}

bool HeardOfData::forget(Handle handle) {
  const std::lock_guard lock(mutex_);
  return table_->forget(handle.life());
}

std::size_t HeardOfData::size() const {
  const std::lock_guard lock(mutex_);
  return table_ != nullptr ? table_->size() : 0;
}

}  // namespace vicinal::runtime
