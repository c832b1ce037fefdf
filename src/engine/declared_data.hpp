// Data that the application has declared to this runtime, and that something here may use, see
// graph/declared_table.hpp. Their public handles are good for all calls; the first call that uses the data registers
// them as data without a home that nobody has written.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "graph/declared_table.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/task.hpp"

namespace vicinal::engine {

struct Application;

// Any thread.
class DeclaredData {
 public:
  explicit DeclaredData(Application& application) : application_(application) {}

  // Throws UsageError for a shape that cannot be, CapacityError when there are 2^32 of them.
  Handle declare(const Layout& layout, std::string name) {
    return declare(layout, std::move(name), {});
  }
  // The same of data that are registered here already; the public handle stands for them.
  Handle declare(const Layout& layout, std::string name, Handle registered);
  // They are numbered from 0 on, in the order of these calls.
  static std::uint32_t number(Handle handle) { return handle.life(); }
  Handle name(std::uint32_t number) const;
  std::string describe(std::uint32_t number) const;  // the name of the data
  Bytes bytes(std::uint32_t number) const;
  Layout layout(std::uint32_t number) const;  // of no bytes if it is forgotten
  // The handle is of such data, now or before. Takes no lock.
  bool has(Handle handle) const {
    return handle.impl() != nullptr && handle.impl() == nobody_.load(std::memory_order_acquire);
  }
  bool any_of(std::span<const Operand> operands) const;
  // One that is registered: the same, of other data than these. `what` is the call, for messages. Throws UsageError if
  // the data are forgotten.
  Handle local(Handle handle, const char* what) { return has(handle) ? use(handle, what) : handle; }
  // The task with all such data registered; none: it names none.
  std::optional<TaskSpec> made_local(const TaskSpec& spec);
  // The handle that is registered in its place; null: the datum is not used yet, or forgotten.
  Handle used(Handle handle) const;
  // It is there, and nothing here has used it.
  bool is_unused(Handle handle) const;
  // False: it is forgotten already.
  bool forget(Handle handle);
  std::size_t size() const;  // those that are not forgotten

 private:
  Handle use(Handle handle, const char* what);

  Application& application_;
  mutable std::mutex mutex_;  // guards the table
  std::unique_ptr<graph::DeclaredTable> table_;
  std::atomic<graph::Handle*> nobody_{nullptr};  // the table's; null: there are none
};

}  // namespace vicinal::engine
