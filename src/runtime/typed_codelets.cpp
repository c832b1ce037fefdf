// The codelets of typed tasks, by name.
#include "vicinal/typed_task.hpp"

namespace vicinal::typed {

// A list that only grows, at its end: the name that came first, most often the only one, is found first.
const Codelet& Codelets::find_or_add(std::string_view name) {
  Named* added = nullptr;
  std::atomic<Named*>* link = &first_;
  for (;;) {
    Named* there = link->load(std::memory_order_acquire);
    if (there == nullptr) {
      if (added == nullptr)
        added = new Named{.codelet = {.name = std::string(name), .cpu = kernel_}};
      if (link->compare_exchange_strong(there, added, std::memory_order_release,
                                        std::memory_order_acquire)) {
        return added->codelet;
      }
    }
    if (there->codelet.name == name) {
      delete added;
      return there->codelet;
    }
    link = &there->next;
  }
}

}  // namespace vicinal::typed
