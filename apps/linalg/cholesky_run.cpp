#include "linalg/cholesky_run.hpp"

#include <optional>
#include <sys/stat.h>

#include <fmt/format.h>

#include "linalg/cholesky.hpp"
#include "linalg/cholesky_check.hpp"
#include "linalg/tile_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {

namespace {

bool same_file(const std::string& a, const std::string& b) {
  struct stat of_a {};
  struct stat of_b {};
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 &&
         of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

// A and L: the handles, and the files behind them if there are any.
struct Matrices {
  std::optional<TileFile> input_file;
  std::optional<TiledMatrix> input;
  std::optional<TileFile> output_file;
  std::optional<TiledMatrix> factor;
  Generator generator;
  Content source() const { return input ? Content(&*input) : Content(generator); }
};

void open_input(Runtime& runtime, const CholeskyRequest& request, Matrices& matrices) {
  matrices.input_file = TileFile::open(request.matrix);
  const TileGrid& grid = matrices.input_file->grid();
  if (grid != request.grid || matrices.input_file->content() != TileContent::symmetric) {
    throw UsageError(fmt::format(
        "{} holds a {} matrix of {} x {} {}s in tiles of {}, and a "
        "symmetric one of {} x {} {}s in tiles of {} is needed",
        request.matrix,
        matrices.input_file->content() == TileContent::symmetric ? "symmetric" : "triangular",
        grid.size, grid.size, to_string(grid.precision), grid.tile, request.grid.size,
        request.grid.size, to_string(request.grid.precision), request.grid.tile));
  }
  matrices.input = TiledMatrix::from_file(runtime, *matrices.input_file, false, "A");
}

Matrices open_matrices(Runtime& runtime, const CholeskyRequest& request) {
  Matrices matrices;
  if (!request.matrix.empty() && !request.output.empty() &&
      same_file(request.matrix, request.output)) {
    throw UsageError(
        fmt::format("the factor would overwrite the matrix in {}: give another file "
                    "for the output",
                    request.matrix));
  }
  matrices.generator = Generator(request.grid.size, request.seed);
  if (!request.matrix.empty()) open_input(runtime, request, matrices);
  if (request.output.empty()) {
    matrices.factor = TiledMatrix::empty(runtime, request.grid, "L");
  } else {
    matrices.output_file = TileFile::create(request.output, request.grid, TileContent::lower);
    matrices.factor = TiledMatrix::from_file(runtime, *matrices.output_file, true, "L");
  }
  return matrices;
}

}  // namespace

RunOutcome run_cholesky(Runtime& runtime, const CholeskyRequest& request,
                        const PhaseObserver& observer) {
  const TileGrid& grid = request.grid;
  const CholeskyCodelets codelets = cholesky_codelets(grid);
  Matrices matrices = open_matrices(runtime, request);
  RunParts parts;
  parts.fill = {"fill", grid.lower_tiles(),
                [&] { fill(runtime, *matrices.factor, matrices.source()); }};
  parts.timed = {"factorise", cholesky_tasks(grid.tiles()), [&] {
                   submit_cholesky(runtime, *matrices.factor, codelets,
                                   {.priorities = request.priorities, .names = request.names});
                 }};
  if (request.check) {
    parts.check_tasks = check_tasks(grid);
    parts.check = [&] { return check_cholesky(runtime, *matrices.factor, matrices.source()); };
  }
  parts.unregister = [&] {
    matrices.factor->unregister(runtime, request.output.empty() ? WriteBack::no : WriteBack::yes);
    if (matrices.input) matrices.input->unregister(runtime, WriteBack::no);
    if (matrices.output_file) matrices.output_file->mark_complete();
  };
  return run_parts(runtime, parts, observer);
}

void generate_to_file(Runtime& runtime, const TileGrid& grid, std::uint64_t seed,
                      const std::string& path, const PhaseObserver& observer) {
  TileFile file = TileFile::create(path, grid, TileContent::symmetric);
  TiledMatrix matrix = TiledMatrix::from_file(runtime, file, true, "A");
  if (observer) observer("fill", grid.lower_tiles());
  fill(runtime, matrix, Generator(grid.size, seed));
  runtime.wait();
  if (observer) observer("write", 0);
  matrix.unregister(runtime, WriteBack::yes);
  file.mark_complete();
}

}  // namespace vicinal::linalg
