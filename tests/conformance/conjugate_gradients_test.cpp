// Conjugate gradients beside a plain loop: in memory and in a quarter of it, on emulated accelerators, on several ranks, under
// every policy.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linalg/generator.hpp"
#include "sparse/cg.hpp"
#include "sparse/matrix_market.hpp"
#include "support/linalg_runs.hpp"
#include "support/local_ranks.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::sparse {
namespace {

using graphs::parse_grid;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::with_policy;

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// What a plain loop comes to in so many iterations.
struct PlainResult {
  double recurrence = 0;
  CgCheck check;
};

template <typename Matrix>
PlainResult plain_loop(const Matrix& matrix, std::uint64_t rows, std::uint64_t iterations,
                       std::uint64_t seed = 1) {
  const auto times = [&](const Vector& from) {
    Vector to(rows);
    for (std::uint64_t row = 0; row < rows; ++row) {
      matrix.visit_row(
          row, [&](std::uint64_t column, double value) { to[row] += value * from[column]; });
    }
    return to;
  };
  const linalg::Generator solution = linalg::Generator::random(1, seed);
  Vector known(rows);
  for (std::uint64_t i = 0; i < rows; ++i) known[i] = solution.element(i, 0);
  const Vector b = times(known);
  Vector x(rows);
  Vector r = b;
  Vector p = b;
  double rr = dot(r, r);
  for (std::uint64_t k = 0; k < iterations; ++k) {
    const Vector q = times(p);
    const double alpha = rr / dot(p, q);
    for (std::uint64_t i = 0; i < rows; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    const double before = std::exchange(rr, dot(r, r));
    for (std::uint64_t i = 0; i < rows; ++i) p[i] = r[i] + rr / before * p[i];
  }
  Vector residual = times(x);
  Vector error = x;
  for (std::uint64_t i = 0; i < rows; ++i) {
    residual[i] -= b[i];
    error[i] -= known[i];
  }
  return {std::sqrt(rr / dot(b, b)),
          {std::sqrt(dot(residual, residual) / dot(b, b)),
           std::sqrt(dot(error, error) / dot(known, known))}};
}

// Roundings, which differ, grow with the iterations: 15 are few.
constexpr std::uint64_t kIterations = 15;

void expect_same(const CgOutcome& outcome, const PlainResult& plain) {
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-10 * (a + b) + 1e-14; };
  EXPECT_EQ(outcome.iterations, kIterations);
  EXPECT_PRED2(near, outcome.recurrence, plain.recurrence);
  ASSERT_TRUE(outcome.check);
  EXPECT_PRED2(near, outcome.check->residual, plain.check.residual);
  EXPECT_PRED2(near, outcome.check->error, plain.check.error);
}

CgOutcome iterate(Runtime& runtime, const CgProblem& problem) {
  return solve(runtime, {.problem = &problem,
                         .tolerance = 0,
                         .iterations = kIterations,
                         .check = true,
                         .names = true});
}

Bytes bytes_of(const CgProblem& problem) {
  Bytes all;
  for (const graphs::RowBlock& block : problem.blocks) {
    all += testing::padded(block.bytes());
    for (int vector = 0; vector < 5; ++vector) all += testing::padded(block.vector_bytes());
  }
  return all;
}

class ConjugateGradients : public ::testing::TestWithParam<std::string> {
 protected:
  static Options options() { return with_policy(GetParam()); }
  static Options limited_to(Bytes memory, const TemporaryFolder& folder) {
    Options options = with_policy(GetParam());
    options.memory = memory;
    options.disk = folder.path();
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Every, ConjugateGradients,
                         ::testing::ValuesIn(testing::policy_names_of_each_way()));

TEST_P(ConjugateGradients, SolvesThePoissonEquationAsAPlainLoopDoes) {
  for (const char* const text : {"40x30", "12x10x11", "23x1"}) {
    SCOPED_TRACE(text);
    const graphs::PoissonGrid grid = parse_grid(text);
    const CgProblem problem = poisson_problem(grid, 7);
    Runtime runtime(options());
    expect_same(iterate(runtime, problem), plain_loop(grid, grid.points(), kIterations));
  }
}

TEST_P(ConjugateGradients, DoesSoInAQuarterOfTheMemory) {
  const TemporaryFolder folder;
  const graphs::PoissonGrid grid = parse_grid("80x70");
  const CgProblem problem = poisson_problem(grid, 16);
  Runtime runtime(limited_to(Bytes{bytes_of(problem).value / 4}, folder));
  const CgOutcome outcome = iterate(runtime, problem);
  expect_same(outcome, plain_loop(grid, grid.points(), kIterations));
  testing::expect_within_limit(runtime);
  EXPECT_GT(outcome.after.nodes[0].bytes_in.value - outcome.before.nodes[0].bytes_in.value, 0U);
}

TEST_P(ConjugateGradients, DoesSoOnAcceleratorsWithAQuarterOfTheMemory) {
  const graphs::PoissonGrid grid = parse_grid("60x50");
  const CgProblem problem = poisson_problem(grid, 12);
  Options accelerated = options();
  accelerated.accelerators = 2;
  accelerated.accelerator_memory = Bytes{bytes_of(problem).value / 4};
  Runtime runtime(accelerated);
  expect_same(iterate(runtime, problem), plain_loop(grid, grid.points(), kIterations));
  testing::expect_within_limit(runtime);
}

TEST_P(ConjugateGradients, EndsWhenTheResidualIsSmallEnough) {
  const CgProblem problem = poisson_problem(parse_grid("20x20"), 5);
  Runtime runtime(options());
  const CgOutcome outcome = solve(runtime, {.problem = &problem, .tolerance = 1e-9, .check = true});
  EXPECT_LE(outcome.check->residual, 1e-9);
  EXPECT_LE(outcome.check->error, error_bound(problem, 1e-9));
  EXPECT_LT(outcome.iterations, 120U);  // a plain loop makes some 70
}

// --- what no policy sees

TEST(ConjugateGradientsOnRanks, ComeToWhatAPlainLoopComesTo) {
  const graphs::PoissonGrid grid = parse_grid("30x25");
  const CgProblem problem = poisson_problem(grid, 9);
  const PlainResult plain = plain_loop(grid, grid.points(), kIterations);
  for (const std::uint32_t ranks : {1U, 2U, 4U, 7U}) {
    SCOPED_TRACE(ranks);
    comm::LocalWorld world(ranks, {.seed = ranks});
    const auto options = [](RankId) {
      Options each = with_policy("lws");
      each.workers = 1;
      return each;
    };
    const auto outcomes = tests::run_on_ranks(
        world, options, [&](Runtime& runtime) { expect_same(iterate(runtime, problem), plain); });
    for (const tests::RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
  }
}

TEST(ConjugateGradientsOnRanks, DoSoInAQuarterOfTheMemory) {
  const TemporaryFolder folder;
  const graphs::PoissonGrid grid = parse_grid("80x70");
  const CgProblem problem = poisson_problem(grid, 32);
  const PlainResult plain = plain_loop(grid, grid.points(), kIterations);
  comm::LocalWorld world(2);
  const auto options = [&](RankId) {
    Options each = with_policy("lws");
    each.workers = 1;
    each.memory = Bytes{bytes_of(problem).value / 2 / 4};
    each.disk = folder.path();
    return each;
  };
  const auto outcomes = tests::run_on_ranks(world, options, [&](Runtime& runtime) {
    expect_same(iterate(runtime, problem), plain);
    testing::expect_within_limit(runtime);
  });
  for (const tests::RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
}

// Columns of other blocks at random.
TEST(ConjugateGradientsOfFiles, ComeToWhatAPlainLoopComesTo) {
  constexpr std::uint64_t kRows = 300;
  std::vector<Entry> entries;
  std::uint64_t state = 1;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    entries.push_back({row, row, 12});  // more than the 2 to 10 others of size 1
    for (int k = 0; k < 2; ++k) {
      state = linalg::scatter(state + 1);
      const auto column = static_cast<std::uint32_t>((row + 1 + state % 149) % kRows);
      entries.push_back({row, column, -0.5});
      entries.push_back({column, row, -0.5});
    }
  }
  const auto matrix = std::make_shared<const SparseMatrix>(from_entries(kRows, entries));
  const CgProblem problem = matrix_problem(matrix, 20);
  Runtime runtime(with_policy("dmdas"));
  expect_same(iterate(runtime, problem), plain_loop(*matrix, kRows, kIterations));
}

TEST(ConjugateGradientsOfFiles, SayThatAMatrixIsNotPositiveDefinite) {
  const auto matrix = std::make_shared<const SparseMatrix>(parse_matrix_market(
      "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 -1\n2 2 -3\n", "m.mtx"));
  const CgProblem problem = matrix_problem(matrix, 2);
  Runtime runtime(with_policy("lws"));
  try {
    static_cast<void>(solve(runtime, {.problem = &problem}));
    FAIL() << "was not refused";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("not positive definite"));
  }
}

TEST(ConjugateGradientsOfFiles, OfTheUnitMatrixEndAtOnce) {
  std::vector<Entry> entries;
  for (std::uint32_t row = 0; row < 10; ++row) entries.push_back({row, row, 1});
  const CgProblem problem =
      matrix_problem(std::make_shared<const SparseMatrix>(from_entries(10, entries)), 3);
  Runtime runtime(with_policy("lws"));
  const CgOutcome outcome = solve(runtime, {.problem = &problem, .check = true});
  EXPECT_EQ(outcome.check->residual, 0);
  EXPECT_EQ(outcome.check->error, 0);
}

}  // namespace
}  // namespace vicinal::sparse
