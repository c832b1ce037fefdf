#include "analysis/events/data.hpp"

#include <fmt/format.h>

#include "analysis/events/contradiction.hpp"
#include "base/legible.hpp"

namespace vicinal::analysis {

void DataOfRun::take_registered(const trace::RecordedEvent& event) {
  enum Field : std::size_t { home, handle, bytes, part_of };
  const std::uint64_t whole = event.field(part_of);
  const std::uint32_t of = whole == 0 ? kNobody : place(whole);
  const std::uint32_t at = place(event.field(handle));
  registered_.resize(data_.size());
  if (registered_[at]) {
    refuse_events(path_, fmt::format("datum {} (\"{}\") is registered twice", at, event.text()));
  }
  registered_[at] = true;
  DatumOfRun& datum = data_[at];
  datum.name = base::legible_name(event.text());
  datum.bytes = event.field(bytes);
  datum.home = machine_.node_or_none(event.field(home));
  datum.part_of = of == at ? kNobody : of;
}

void DataOfRun::finish() const {
  constexpr int kDeepest = 64;  // parts of parts
  for (const DatumOfRun& datum : data_) {
    std::uint32_t whole = datum.part_of;
    for (int depth = 0; whole != kNobody; ++depth) {
      if (depth == kDeepest) refuse_events(path_, "data are parts of each other");
      whole = data_[whole].part_of;
    }
  }
}

}  // namespace vicinal::analysis
