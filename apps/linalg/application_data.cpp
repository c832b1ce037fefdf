#include "linalg/application_data.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <random>
#include <sys/stat.h>

#include <fmt/format.h>

#include "linalg/gather.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {

namespace {

template <typename T>
void generate_kernel(KernelContext& context) {
  const auto part = context.parameter<GeneratedPart>();
  const Layout& layout = context.operand(0).layout;
  for (std::uint64_t j = 0; j < layout.columns; ++j) {
    T* column = context.data<T>(0) + j * layout.leading_dimension();
    for (std::uint64_t i = 0; i < layout.rows(); ++i) {
      column[i] = static_cast<T>(part.generator.element(part.first_row + i, part.first_column + j));
    }
  }
}

void copy_kernel(KernelContext& context) {
  const OperandView& from = context.operand(0);
  const OperandView& to = context.operand(1);
  for (std::uint64_t j = 0; j < to.layout.columns; ++j) {
    std::copy_n(from.address + j * from.layout.stride_bytes, to.layout.column_bytes,
                to.address + j * to.layout.stride_bytes);
  }
}

const Codelet& copy_codelet() {
  static const Codelet codelet{.name = "copy", .cpu = copy_kernel};
  return codelet;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat of_a {};
  struct stat of_b {};
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 &&
         of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

void require_fit(const TileFile& file, const TileGrid& needed) {
  const TileGrid& grid = file.grid();
  if (grid == needed && file.content() == TileContent::symmetric) return;
  throw UsageError(fmt::format(
      "{} holds a {} matrix of {} x {} {}s in tiles of {}, and a "
      "symmetric one of {} x {} {}s in tiles of {} is needed",
      file.path(), file.content() == TileContent::symmetric ? "symmetric" : "triangular", grid.size,
      grid.size, to_string(grid.precision), grid.tile, needed.size, needed.size,
      to_string(needed.precision), needed.tile));
}

// One file for all ranks. The first makes it, and the others find it: the number in it tells that it is the same, and not
// one of that name on a disk of their own.
TileFile output_file(Runtime& runtime, const TileGrid& grid, const DataPlaces& places) {
  if (runtime.rank_count() == 1) return TileFile::create(places.output, grid, places.left);
  std::optional<TileFile> file;
  std::uint64_t mark = 0;
  if (runtime.this_rank().value == 0) {
    mark = std::random_device()();
    file = TileFile::create(places.output, grid, places.left, mark);
  }
  mark = gather(runtime, mark).front();
  return file ? *file : TileFile::join(places.output, grid, places.left, mark);
}

// "A(3,1)", in messages, of what is A before the tasks and "L(3,1)" after them.
std::string before_tasks(const std::string& name) {
  return "A" + name.substr(1);
}

Bytes padded(const TileShape& shape) {
  constexpr std::uint64_t kPage = 4096;
  return {(shape.layout().bytes().value + kPage - 1) / kPage * kPage};
}

}  // namespace

// Constants, so that they outlive every runtime.
const Codelet& generate_codelet(Precision precision) {
  static const Codelet single{.name = "generate", .cpu = generate_kernel<float>};
  static const Codelet twice{.name = "generate", .cpu = generate_kernel<double>};
  return precision == Precision::f32 ? single : twice;
}

Bytes ApplicationData::memory_of(const Application& application) {
  Bytes all;
  for (std::size_t d = 0; d < application.data.size(); ++d) all += padded(application.shape(d));
  return all;
}

ApplicationData::ApplicationData(Runtime& runtime, const Application& application,
                                 const DataPlaces& places)
    : application_(application), seed_(places.seed) {
  if (!places.matrix.empty() && same_file(places.matrix, places.output)) {
    throw UsageError(
        fmt::format("the factor would overwrite the matrix in {}: give another file "
                    "for the output",
                    places.matrix));
  }
  const TileGrid& grid = application.grid;
  const Distribution distribution = places.distribution.value_or(
      Distribution::automatic(runtime.rank_count(), application.triangle));
  if (!places.matrix.empty()) open_matrix(runtime, places, distribution);
  if (!places.output.empty()) output_ = output_file(runtime, grid, places);
  handles_.reserve(application.data.size());
  std::byte* memory = places.memory;
  for (std::size_t d = 0; d < application.data.size(); ++d) {
    const std::string& name = application.data[d].name;
    const TileShape shape = application.shape(d);
    const RankId owner = application.owner(d, distribution);
    if (output_) {
      handles_.push_back(
          runtime.register_file(owner, output_->region(d, true), shape,
                                places.left == TileContent::lower ? name : before_tasks(name)));
    } else if (memory != nullptr) {
      handles_.push_back(runtime.register_tile(owner, memory, shape, name));
      memory += padded(shape).value;
    } else {
      handles_.push_back(runtime.register_empty(owner, shape, name));
    }
  }
  if (!places.devices) return;
  const play::TileAdvice advice(runtime.machine(), distribution, places.devices);
  for (std::size_t d = 0; d < handles_.size(); ++d) {
    const auto [row, column] = application.place(d);
    runtime.advise(handles_[d], advice.node(row, column));
  }
}

void ApplicationData::open_matrix(Runtime& runtime, const DataPlaces& places,
                                  const Distribution& distribution) {
  const TileFile file = TileFile::open(places.matrix);
  require_fit(file, application_.grid);
  for (std::size_t d = 0; d < application_.data.size(); ++d) {
    matrix_.push_back(runtime.register_file(application_.owner(d, distribution),
                                            file.region(d, false), application_.shape(d),
                                            before_tasks(application_.data[d].name)));
  }
}

std::variant<GeneratedPart, Handle> ApplicationData::content(std::size_t datum) const {
  if (!matrix_.empty()) return matrix_[datum];
  const graphs::MatrixBlock& block = application_.data[datum].block;
  return GeneratedPart{application_.content(block.matrix, seed_), block.first_row,
                       block.first_column};
}

std::uint64_t ApplicationData::fill_tasks() const {
  return static_cast<std::uint64_t>(
      std::ranges::count(application_.data, true, &Datum::has_content));
}

void ApplicationData::fill(Runtime& runtime) const {
  for (std::size_t d = 0; d < handles_.size(); ++d) {
    if (!application_.data[d].has_content) continue;
    const auto from = content(d);
    if (const auto* part = std::get_if<GeneratedPart>(&from)) {
      runtime.submit({.codelet = &generate_codelet(precision()),
                      .operands = {W(handles_[d])},
                      .parameters = *part});
    } else {
      runtime.submit(
          {.codelet = &copy_codelet(), .operands = {R(std::get<Handle>(from)), W(handles_[d])}});
    }
  }
}

void ApplicationData::unregister(Runtime& runtime) {
  std::exception_ptr first;
  const auto unregister_all = [&](std::vector<Handle>& handles, WriteBack write_back) {
    for (const Handle handle : handles) {
      try {
        runtime.unregister(handle, write_back);
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    }
    handles.clear();
  };
  unregister_all(handles_, output_ ? WriteBack::yes : WriteBack::no);
  unregister_all(matrix_, WriteBack::no);
  if (first) std::rethrow_exception(first);
  if (!output_) return;
  if (runtime.rank_count() > 1) {
    output_->sync();
    meet(runtime);
    if (runtime.this_rank().value != 0) return;
  }
  output_->mark_complete();
}

}  // namespace vicinal::linalg
