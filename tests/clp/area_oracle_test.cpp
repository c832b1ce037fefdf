// The area bound against the linear programme itself, solved by CLP.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <Clp_C_Interface.h>

#include "gtest/gtest.h"
#include "support/area_instance.hpp"
#include "support/random_runs.hpp"

namespace vicinal::testing {
namespace {

struct DeleteModel {
  void operator()(Clp_Simplex* model) const { Clp_deleteModel(model); }
};

// Column by column. Rows: a type each, then a kind each.
struct Matrix {
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> rows;
  std::vector<double> values;

  void add(std::size_t row, double value) {
    rows.push_back(static_cast<int>(row));
    values.push_back(value);
  }
  void end_column() { starts.push_back(static_cast<CoinBigIndex>(rows.size())); }
};

// Without the types that nobody runs: the programme would have no solution.
AreaInstance solvable(AreaInstance instance) {
  std::erase_if(instance.types, [](const bounds::TaskType& type) {
    return std::all_of(type.seconds.begin(), type.seconds.end(), [](double s) { return s <= 0; });
  });
  return instance;
}

// Seconds that bring count times duration near 1: the solver's tolerances are absolute.
double unit_of(const AreaInstance& instance) {
  double unit = 0;
  for (const bounds::TaskType& type : instance.types) {
    double least = std::numeric_limits<double>::infinity();
    for (const double s : type.seconds) {
      if (s > 0) least = std::min(least, static_cast<double>(type.count) * s);
    }
    unit += least;
  }
  return unit;
}

// The unknowns are the fractions x[t,w] / n_t, type by type, and last T in units.
Matrix matrix_of(const AreaInstance& instance) {
  Matrix matrix;
  const std::size_t types = instance.types.size();
  const double unit = unit_of(instance);
  for (std::size_t t = 0; t < types; ++t) {
    const bounds::TaskType& type = instance.types[t];
    for (std::size_t w = 0; w < kProcessorKinds; ++w) {
      if (type.seconds[w] <= 0) continue;
      matrix.add(t, 1);
      matrix.add(types + w, static_cast<double>(type.count) * type.seconds[w] / unit);
      matrix.end_column();
    }
  }
  for (std::size_t w = 0; w < kProcessorKinds; ++w) {
    if (instance.workers[w] > 0) matrix.add(types + w, -1.0 * instance.workers[w]);
  }
  matrix.end_column();
  return matrix;
}

void load(Clp_Simplex* model, const AreaInstance& instance) {
  constexpr double kInfinity = std::numeric_limits<double>::max();  // what CLP takes for it
  const Matrix matrix = matrix_of(instance);
  const std::size_t columns = matrix.starts.size() - 1;
  const std::size_t types = instance.types.size();
  const std::size_t rows = types + kProcessorKinds;
  const std::vector<double> lowest(columns, 0);
  const std::vector<double> highest(columns, kInfinity);
  std::vector<double> objective(columns, 0);
  objective.back() = 1;
  std::vector<double> row_lowest(rows, -kInfinity);
  std::vector<double> row_highest(rows, 0);
  for (std::size_t t = 0; t < types; ++t) row_lowest[t] = row_highest[t] = 1;
  Clp_loadProblem(model, static_cast<int>(columns), static_cast<int>(rows), matrix.starts.data(),
                  matrix.rows.data(), matrix.values.data(), lowest.data(), highest.data(),
                  objective.data(), row_lowest.data(), row_highest.data());
}

double solved_seconds(const AreaInstance& instance) {
  const std::unique_ptr<Clp_Simplex, DeleteModel> model(Clp_newModel());
  Clp_setLogLevel(model.get(), 0);
  load(model.get(), instance);
  Clp_initialSolve(model.get());
  EXPECT_EQ(Clp_status(model.get()), 0);  // optimal
  return Clp_objectiveValue(model.get()) * unit_of(instance);
}

class AreaOracle : public ::testing::TestWithParam<std::size_t> {};

TEST_P(AreaOracle, TheBoundIsWhatClpFinds) {
  for_each_seed(200, [](base::Random& random, std::uint64_t /*seed*/) {
    const AreaInstance instance = solvable(random_area_instance(random, GetParam(), 8));
    if (instance.types.empty()) return;
    const double solved = solved_seconds(instance);
    const double bound = bounds::area_bound(instance.types, instance.workers).value.seconds();
    EXPECT_NEAR(bound, solved, 1e-6 * solved + 1e-8);
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, AreaOracle, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace vicinal::testing
