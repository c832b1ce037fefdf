#include "reproduction/results.hpp"

#include <algorithm>

namespace vicinal::reproduction {

namespace {

template <typename Value, typename Of>
std::vector<Value> distinct(const std::vector<Row>& rows, std::string_view panel, const Of& of) {
  std::vector<Value> values;
  for (const Row& row : rows) {
    if (row.point.beside || (!panel.empty() && row.point.panel != panel)) continue;
    if (std::ranges::find(values, of(row)) == values.end()) values.push_back(of(row));
  }
  return values;
}

}  // namespace

const OrderedRun* Results::order(std::string_view name) const {
  const auto found = std::ranges::find(orders_, name, &OrderedRun::name);
  return found == orders_.end() ? nullptr : &*found;
}

std::vector<const Row*> Results::of(std::string_view panel, std::string_view series,
                                    Where where) const {
  std::vector<const Row*> found;
  for (const Row& row : rows_) {
    if (!panel.empty() && row.point.panel != panel) continue;
    if (row.point.series != series) continue;
    const bool fits = row.measures.fits();
    if ((where == Where::fitting && !fits) || (where == Where::beyond && fits)) continue;
    found.push_back(&row);
  }
  return found;
}

const Row* Results::at(std::string_view panel, std::string_view series, double x) const {
  for (const Row* row : of(panel, series)) {
    if (row->point.x == x) return row;
  }
  return nullptr;
}

std::vector<std::string> Results::series(std::string_view panel) const {
  return distinct<std::string>(rows_, panel, [](const Row& row) { return row.point.series; });
}

std::vector<std::string> Results::panels() const {
  return distinct<std::string>(rows_, {}, [](const Row& row) { return row.point.panel; });
}

std::vector<double> Results::sizes(std::string_view panel) const {
  return distinct<double>(rows_, panel, [](const Row& row) { return row.point.x; });
}

}  // namespace vicinal::reproduction
