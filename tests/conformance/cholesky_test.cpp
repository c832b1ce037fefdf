// Cholesky under every policy: in memory and in a quarter of it, float and double, checked.
#if VICINAL_HAVE_BLAS

#include "linalg/cholesky.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <unistd.h>

#include <gtest/gtest.h>

#include "linalg/cholesky_check.hpp"
#include "linalg/cholesky_run.hpp"
#include "support/linalg_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {
namespace {

using testing::change_elements;
using testing::expect_within_limit;
using testing::padded;
using testing::policy_names;
using testing::precision_name;
using testing::TemporaryFolder;
using testing::with_policy;

Bytes padded_matrix(const TileGrid& grid) {
  Bytes sum;
  for (std::uint64_t j = 0; j < grid.tiles(); ++j) {
    for (std::uint64_t i = j; i < grid.tiles(); ++i)
      sum += padded(grid.shape(i, j).layout().bytes());
  }
  return sum;
}

// 7 x 7 tiles, the last row and column smaller: 28 tiles, of which 7 fit in a quarter.
TileGrid ragged_grid(Precision precision) {
  return {600, 96, precision};
}

// A limit of a quarter of the matrix, the rest in `folder`.
Options quarter(const std::string& policy, const TileGrid& grid, const TemporaryFolder& folder) {
  Options options = with_policy(policy);
  options.memory = Bytes{padded_matrix(grid).value / 4};
  options.disk = folder.path();
  return options;
}

using Case = std::tuple<std::string, Precision>;

class CholeskyConformance : public ::testing::TestWithParam<Case> {
 protected:
  std::string policy() const { return std::get<0>(GetParam()); }
  TileGrid grid() const { return ragged_grid(std::get<1>(GetParam())); }
  // A checked run of the request.
  static CholeskyOutcome expect_right(const Options& options, CholeskyRequest request) {
    Runtime runtime(options);
    request.check = true;
    CholeskyOutcome outcome = run_cholesky(runtime, request);
    EXPECT_TRUE(outcome.residual->passed())
        << outcome.residual->value << " > " << outcome.residual->tolerance;
    expect_within_limit(runtime);
    return outcome;
  }
};

TEST_P(CholeskyConformance, IsRightInMemory) {
  const CholeskyOutcome outcome = expect_right(with_policy(policy()), {.grid = grid()});
  EXPECT_EQ(outcome.after.tasks_done - outcome.before.tasks_done, cholesky_tasks(7));
}

TEST_P(CholeskyConformance, IsRightInAQuarterOfTheMemory) {
  const TemporaryFolder folder;
  const CholeskyOutcome outcome =
      expect_right(quarter(policy(), grid(), folder), {.grid = grid(), .names = true});
  // Three quarters at least must come in, and go out.
  const Bytes matrix = padded_matrix(grid());
  EXPECT_GE(outcome.after.nodes[0].bytes_in - outcome.before.nodes[0].bytes_in,
            Bytes{matrix.value / 4});
  EXPECT_GE(outcome.last.nodes[0].bytes_out, Bytes{matrix.value / 2});
}

TEST_P(CholeskyConformance, IsRightWhereOnlyOneTaskFits) {
  const TemporaryFolder folder;
  Options options = quarter(policy(), grid(), folder);
  options.memory = padded(grid().full_tile_bytes()) * 3;  // gemm's operands
  expect_right(options, {.grid = grid()});
}

TEST_P(CholeskyConformance, IsRightOnAnAcceleratorWithAQuarterOfTheMemory) {
  Options options = with_policy(policy());
  options.workers = 1;
  options.accelerators = 1;
  options.accelerator_memory = Bytes{padded_matrix(grid()).value / 4};
  expect_right(options, {.grid = grid()});
}

TEST_P(CholeskyConformance, IsRightWithoutPrioritiesAndWithASmallWindow) {
  Options options = with_policy(policy());
  options.window_tasks = 10;
  expect_right(options, {.grid = grid(), .priorities = false});
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, CholeskyConformance,
                         ::testing::Combine(::testing::ValuesIn(policy_names()),
                                            ::testing::Values(Precision::f32, Precision::f64)),
                         [](const ::testing::TestParamInfo<Case>& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(to_string(std::get<1>(test.param)));
                         });

TEST(Cholesky, TheFactorIsTheSameToTheBitUnderEveryPolicy) {
  // The order of updates of a tile is fixed by the dependencies, so nothing may differ.
  const TileGrid grid = ragged_grid(Precision::f64);
  std::vector<double> first;
  for (const std::string& policy : policy_names()) {
    Runtime runtime(with_policy(policy));
    const CholeskyCodelets codelets = cholesky_codelets(grid);
    const TiledMatrix matrix = TiledMatrix::empty(runtime, grid, "A");
    fill(runtime, matrix, Generator(grid.size, 1));
    submit_cholesky(runtime, matrix, codelets, {});
    const Acquired last = runtime.acquire(matrix.tile(6, 6), AccessMode::R);
    const std::vector<double> tile(last.data<double>(), last.data<double>() + 24 * 24);
    if (first.empty()) first = tile;
    EXPECT_EQ(tile, first) << policy;
  }
}

// --- the check must see a wrong tile -------------------------------------------------------------
class CholeskyCheck : public ::testing::TestWithParam<Precision> {};

TEST_P(CholeskyCheck, FailsWhenOneTileIsChangedByAThousandth) {
  for (const auto& [size, tile] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{500, 125}, {1000, 128}, {2000, 500}}) {
    SCOPED_TRACE(::testing::Message() << size << " in tiles of " << tile);
    const TileGrid grid{size, tile, GetParam()};
    Runtime runtime(with_policy("lws"));
    const Generator generator(size, 1);
    const CholeskyCodelets codelets = cholesky_codelets(grid);
    const TiledMatrix matrix = TiledMatrix::empty(runtime, grid, "A");
    fill(runtime, matrix, generator);
    submit_cholesky(runtime, matrix, codelets, {});
    runtime.wait();
    ASSERT_TRUE(check_cholesky(runtime, matrix, generator).passed());
    for (const auto& [i, j] : {std::pair{1, 0}, {grid.tiles() - 1, 0}, {2, 2}, {3, 1}}) {
      change_elements(runtime, matrix.tile(i, j), GetParam(), 1e-3);
      const Residual residual = check_cholesky(runtime, matrix, generator);
      EXPECT_FALSE(residual.passed())
          << "tile (" << i << "," << j << "): " << residual.value << " <= " << residual.tolerance;
      change_elements(runtime, matrix.tile(i, j), GetParam(), -1e-3);
    }
  }
}

TEST_P(CholeskyCheck, FailsOnNaN) {
  const TileGrid grid{100, 50, GetParam()};
  Runtime runtime(with_policy("lws"));
  const CholeskyCodelets codelets = cholesky_codelets(grid);
  const TiledMatrix matrix = TiledMatrix::empty(runtime, grid, "A");
  const Generator generator(grid.size, 1);
  fill(runtime, matrix, generator);
  submit_cholesky(runtime, matrix, codelets, {});
  change_elements(runtime, matrix.tile(1, 0), GetParam(), std::nan(""));
  EXPECT_FALSE(check_cholesky(runtime, matrix, generator).passed());
}

INSTANTIATE_TEST_SUITE_P(BothPrecisions, CholeskyCheck,
                         ::testing::Values(Precision::f32, Precision::f64), precision_name);

// --- files ---------------------------------------------------------------------------------------
class CholeskyFiles : public ::testing::TestWithParam<Precision> {};

TEST_P(CholeskyFiles, AMatrixFromAFileGivesAFactorInAFile) {
  const TemporaryFolder folder;
  const TileGrid grid = ragged_grid(GetParam());
  const std::string a = folder.file("a.tiles");
  const std::string l = folder.file("l.tiles");
  {
    Runtime runtime(quarter("lws", grid, folder));
    generate_to_file(runtime, grid, 5, a);
  }
  {
    Runtime runtime(quarter("lws", grid, folder));
    const CholeskyOutcome outcome =
        run_cholesky(runtime, {.grid = grid, .matrix = a, .output = l, .check = true});
    EXPECT_TRUE(outcome.residual->passed())
        << outcome.residual->value << " > " << outcome.residual->tolerance;
    expect_within_limit(runtime);
  }
  // What is in the files is a matrix and its factor.
  const TileFile a_file = TileFile::open(a);
  const TileFile l_file = TileFile::open(l);
  EXPECT_EQ(a_file.grid(), grid);
  EXPECT_EQ(a_file.content(), TileContent::symmetric);
  EXPECT_EQ(l_file.content(), TileContent::lower);
  Runtime runtime(quarter("lws", grid, folder));
  const TiledMatrix factor = TiledMatrix::from_file(runtime, l_file, false, "L");
  EXPECT_TRUE(check_cholesky(runtime, factor, Generator(grid.size, 5)).passed());
  const TiledMatrix matrix = TiledMatrix::from_file(runtime, a_file, false, "A");
  EXPECT_TRUE(check_cholesky(runtime, factor, &matrix).passed());
}

INSTANTIATE_TEST_SUITE_P(BothPrecisions, CholeskyFiles,
                         ::testing::Values(Precision::f32, Precision::f64), precision_name);

TEST(TileFile, RefusesWhatIsNotACompleteTileFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("m.tiles");
  const auto message = [&] {
    try {
      TileFile::open(path);
      return std::string();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(message().find("cannot read"), std::string::npos) << message();
  std::ofstream(path) << "short";
  EXPECT_NE(message().find("shorter than its header"), std::string::npos) << message();
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_NE(message().find("not a tile file"), std::string::npos) << message();
  TileFile file = TileFile::create(path, {100, 30, Precision::f32}, TileContent::symmetric);
  EXPECT_NE(message().find("incomplete"), std::string::npos) << message();
  file.mark_complete();
  EXPECT_EQ(message(), "");
  // 10 slots of 30 * 30 * 4 = 3600 bytes, padded to 4096, after the header.
  EXPECT_EQ(std::filesystem::file_size(path), 4096U * 11);
  std::filesystem::resize_file(path, 4096U * 11 - 1);
  EXPECT_NE(message().find("too short"), std::string::npos) << message();
}

TEST(CholeskyRun, RefusesToOverwriteItsMatrix) {
  const TemporaryFolder folder;
  const TileGrid grid{50, 20, Precision::f64};
  Options options = with_policy("lws");
  options.disk = folder.path();
  Runtime runtime(options);
  const std::string path = folder.file("m.tiles");
  generate_to_file(runtime, grid, 1, path);
  EXPECT_THROW(run_cholesky(runtime, {.grid = grid, .matrix = path, .output = path}), UsageError);
  EXPECT_THROW(run_cholesky(runtime, {.grid = {60, 20, Precision::f64}, .matrix = path}),
               UsageError);
}

}  // namespace
}  // namespace vicinal::linalg

#endif
