// The codelets of typed tasks, by name.
#include <array>
#include <memory>

#include "base/text.hpp"
#include "vicinal/typed_task.hpp"

namespace vicinal::internals {

// Hashed by name, without a lock: an entry is never changed, and none goes. Half of the places stay free.
struct Codelets::Table {
  static constexpr std::size_t kPlaces = 4 * kMostNames;
  std::array<std::atomic<const Codelet*>, kPlaces> places{};
  std::atomic<std::size_t> names{0};

  // Null: it is not there, and `most` are. Else adds it.
  const Codelet* find_or_add(std::string_view name, std::size_t most, const Codelets& kernel) {
    std::size_t at = std::hash<std::string_view>{}(name) % kPlaces;
    std::unique_ptr<const Codelet> added;
    for (;;) {
      const Codelet* there = places[at].load(std::memory_order_acquire);
      if (there == nullptr) {
        if (added == nullptr) {
          if (names.load(std::memory_order_relaxed) >= most) return nullptr;
          if (names.fetch_add(1, std::memory_order_relaxed) >= most) {
            names.fetch_sub(1, std::memory_order_relaxed);
            return nullptr;
          }
          added = std::make_unique<const Codelet>(kernel.made(name));
        }
        if (places[at].compare_exchange_strong(there, added.get(), std::memory_order_release,
                                               std::memory_order_acquire)) {
          return added.release();
        }
      }
      if (there->name == name) {
        if (added != nullptr) names.fetch_sub(1, std::memory_order_relaxed);
        return there;
      }
      at = (at + 1) % kPlaces;
    }
  }
};

// In simulation the machine says what it takes.
Codelet Codelets::made(std::string_view name) const {
  return {.name = std::string(name), .cpu = cpu_, .kernels = kernels_, .estimated = true};
}

// The name that came first, most often the only one, is found first.
const Codelet& Codelets::first_or(std::string_view name) {
  const Codelet* first = first_.load(std::memory_order_acquire);
  if (first != nullptr) return *first;
  auto added = std::make_unique<const Codelet>(made(name));
  if (!first_.compare_exchange_strong(first, added.get(), std::memory_order_acq_rel)) return *first;
  return *added.release();
}

Codelets::Table& Codelets::table() {
  Table* there = others_.load(std::memory_order_acquire);
  if (there != nullptr) return *there;
  auto added = std::make_unique<Table>();
  if (!others_.compare_exchange_strong(there, added.get(), std::memory_order_acq_rel)) {
    return *there;
  }
  return *added.release();
}

const Codelet& Codelets::find_or_add(std::string_view name) {
  const Codelet& first = first_or(name);
  if (first.name == name) return first;
  Table& others = table();
  if (const Codelet* own = others.find_or_add(name, kMostNames - 1, *this)) return *own;
  const std::string_view common = base::stem(name);
  if (common.empty()) return first;
  const Codelet* const shared = others.find_or_add(common, 2 * kMostNames, *this);
  return shared != nullptr ? *shared : first;
}

}  // namespace vicinal::internals
