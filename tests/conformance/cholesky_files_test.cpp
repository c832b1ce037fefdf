// Cholesky of a matrix in a tile file, with its factor left in one.
#if VICINAL_HAVE_BLAS

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "linalg/run.hpp"
#include "support/linalg_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {
namespace {

using testing::expect_within_limit;
using testing::padded;
using testing::precision_name;
using testing::TemporaryFolder;
using testing::with_policy;

// A limit of a quarter of the matrix, the rest in `folder`.
Options quarter(const TileGrid& grid, const TemporaryFolder& folder) {
  Options options = with_policy("lws");
  options.memory = Bytes{padded(grid.full_tile_bytes()).value * grid.lower_tiles() / 4};
  options.disk = folder.path();
  return options;
}

// What is in the file, without what pads its slots.
std::string tiles_of(const std::string& path, const Application& application) {
  const TileFile file = TileFile::open(path);
  std::ifstream stream(path, std::ios::binary);
  std::string all;
  for (std::size_t d = 0; d < application.data.size(); ++d) {
    std::string tile(application.shape(d).layout().bytes().value, '\0');
    stream.seekg(static_cast<std::streamoff>(file.region(d, false).offset));
    stream.read(tile.data(), static_cast<std::streamsize>(tile.size()));
    all += tile;
  }
  return all;
}

class CholeskyFiles : public ::testing::TestWithParam<Precision> {};

TEST_P(CholeskyFiles, AMatrixFromAFileGivesAFactorInAFile) {
  const TemporaryFolder folder;
  const TileGrid grid{600, 96, GetParam()};  // 7 x 7 tiles, the last row and column smaller
  const Application application = cholesky(grid);
  const std::string a = folder.file("a.tiles");
  const std::string l = folder.file("l.tiles");
  {
    Runtime runtime(quarter(grid, folder));
    generate(runtime, application, {.seed = 5, .output = a, .left = TileContent::symmetric});
  }
  // Checked against the matrix in the file.
  const auto factorise = [&](const DataPlaces& places) {
    Runtime runtime(quarter(grid, folder));
    const RunOutcome outcome =
        run(runtime, {.application = &application, .places = places, .check = true});
    EXPECT_TRUE(outcome.residual->passed())
        << outcome.residual->value << " > " << outcome.residual->tolerance;
    expect_within_limit(runtime);
  };
  factorise({.matrix = a, .output = l});
  // What is in the files is the generated matrix and its factor.
  const TileFile a_file = TileFile::open(a);
  const TileFile l_file = TileFile::open(l);
  EXPECT_EQ(a_file.grid(), grid);
  EXPECT_EQ(a_file.content(), TileContent::symmetric);
  EXPECT_EQ(l_file.grid(), grid);
  EXPECT_EQ(l_file.content(), TileContent::lower);
  const std::string of_generated = folder.file("generated.tiles");
  factorise({.seed = 5, .output = of_generated});
  EXPECT_EQ(tiles_of(l, application), tiles_of(of_generated, application));
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
  const Application application = cholesky({50, 20, Precision::f64});
  const Application larger = cholesky({60, 20, Precision::f64});
  Options options = with_policy("lws");
  options.disk = folder.path();
  Runtime runtime(options);
  const std::string path = folder.file("m.tiles");
  generate(runtime, application, {.output = path, .left = TileContent::symmetric});
  EXPECT_THROW(
      run(runtime, {.application = &application, .places = {.matrix = path, .output = path}}),
      UsageError);
  EXPECT_THROW(run(runtime, {.application = &larger, .places = {.matrix = path}}), UsageError);
}

}  // namespace
}  // namespace vicinal::linalg

#endif
