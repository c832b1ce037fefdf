#include "linalg/check.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <variant>
#include <vector>

#include "linalg/check_kernels.hpp"

namespace vicinal::linalg {

namespace {

// A vector in one registered segment per tile row. Segment i has extent(i) elements and one more, for the sum of
// the squares of the elements that were multiplied.
class Segments {
 public:
  // Cut as one dimension of the grid; all zeroes.
  Segments(Runtime& runtime, const TileGrid& grid) : runtime_(runtime), grid_(grid) {
    values_.resize(grid.size + grid.tiles());
    handles_.reserve(grid.tiles());
    for (std::uint64_t i = 0; i < grid.tiles(); ++i) {
      handles_.push_back(runtime.register_buffer(
          segment(i), Bytes{(grid.extent(i) + 1) * sizeof(double)}, "check vector"));
    }
  }
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;
  // Before the values go: also when a task has failed.
  ~Segments() {
    try {
      release();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the error has been, or will be, thrown by wait
    }
  }
  // On several ranks: each has all of the vector, for segment().
  void collect() {
    if (runtime_.rank_count() == 1) return;
    for (std::uint64_t i = 0; i < count(); ++i) {
      const Acquired held = runtime_.acquire(handles_[i], AccessMode::R);
      std::memmove(segment(i), held.data<double>(), (extent(i) + 1) * sizeof(double));
    }
  }
  // Waits for the tasks that use the vector, after which segment() may be read.
  void release() {
    while (!handles_.empty()) {
      const Handle handle = handles_.back();
      handles_.pop_back();
      runtime_.unregister(handle, WriteBack::yes);
    }
  }
  // The segment that begins with this element of the vector.
  Handle from(std::uint64_t element) const { return handles_[element / grid_.tile]; }
  double* segment(std::uint64_t i) { return values_.data() + grid_.first(i) + i; }
  std::uint64_t extent(std::uint64_t i) const { return grid_.extent(i); }
  std::uint64_t count() const { return grid_.tiles(); }

 private:
  Runtime& runtime_;
  TileGrid grid_;
  std::vector<double> values_;
  std::vector<Handle> handles_;
};

// x <- 1 or -1 each, always the same ones. No task may use it yet.
void set_random_signs(Segments& x) {
  std::uint64_t element = 0;
  for (std::uint64_t i = 0; i < x.count(); ++i) {
    for (std::uint64_t r = 0; r < x.extent(i); ++r, ++element) {
      constexpr std::uint64_t kKey = 0x5851f42d4c957f2dULL;  // any: not that of the matrix
      const std::uint64_t h = scatter(kKey + (element + 1) * 0x9e3779b97f4a7c15ULL);
      x.segment(i)[r] = (h >> 63) != 0 ? 1 : -1;
    }
  }
}

double distance(Segments& y, Segments& z) {
  double squares = 0;
  for (std::uint64_t i = 0; i < y.count(); ++i) {
    for (std::uint64_t r = 0; r < y.extent(i); ++r) {
      const double d = y.segment(i)[r] - z.segment(i)[r];
      squares += d * d;
    }
  }
  return std::sqrt(squares);
}

// ||y - z||_2 over the square root of the sums that go with y. With y = M x it is the residual: ||x||_2 = sqrt(N),
// and the sums are those of the squares of M.
double relative_difference(Segments& y, Segments& z) {
  double squares = 0;
  for (std::uint64_t i = 0; i < y.count(); ++i) squares += y.segment(i)[y.extent(i)];
  return distance(y, z) / std::sqrt(squares);
}

struct Vectors {
  Vectors(Runtime& runtime, const TileGrid& outer, const TileGrid& inner)
      : x(runtime, outer), y(runtime, outer), w(runtime, inner), z(runtime, outer) {}
  Segments x;
  Segments y;
  Segments w;
  Segments z;

  const Segments& operator[](CheckVector vector) const {
    switch (vector) {
      case CheckVector::x:
        return x;
      case CheckVector::y:
        return y;
      case CheckVector::w:
        return w;
      case CheckVector::z:
        break;
    }
    return z;
  }
};

void submit_product(Runtime& runtime, const ApplicationData& data, const Vectors& vectors,
                    const CheckProduct& product) {
  const graphs::MatrixBlock& block = data.application().data[product.datum].block;
  TileForm form{.part = product.part,
                .transposed = product.transposed,
                .diagonal = block.first_row == block.first_column};
  const Segments& from = vectors[product.from];
  const Segments& to = vectors[product.to];
  std::vector<Operand> operands;
  const auto multiply = [&](std::uint64_t row, std::uint64_t column) {
    operands.push_back(R(from.from(column)));
    operands.push_back(RW(to.from(row)));
  };
  TaskSpec spec;
  const auto content = data.content(product.datum);
  const auto* part = std::get_if<GeneratedPart>(&content);
  const CheckCodelets& codelets = check_codelets(data.precision());
  if (product.is_result || part == nullptr) {
    spec.codelet = &codelets.stored;
    spec.parameters = form;
    operands.push_back(R(product.is_result ? data[product.datum] : std::get<Handle>(content)));
  } else {
    spec.codelet = &codelets.generated;
    spec.parameters = GeneratedTile{*part, form};
  }
  product.transposed ? multiply(block.first_column, block.first_row)
                     : multiply(block.first_row, block.first_column);
  if (product.part == Part::mirrored && !form.diagonal) {
    multiply(block.first_column, block.first_row);
  }
  spec.operands = operands;
  spec.rank = runtime.owner(data[product.datum]);  // the tile stays there, segments are small
  runtime.submit(spec);
}

void submit_undo(Runtime& runtime, const ApplicationData& data, const Segments& z,
                 const CheckUndo& undo) {
  const graphs::MatrixBlock& inner = data.application().data[undo.inner].block;
  std::vector<Operand> operands{R(data[undo.factor]), R(data[undo.inner]), R(data[undo.pivots]),
                                RW(z.from(inner.first_column))};
  if (undo.is_tstrf) operands.push_back(RW(z.from(inner.first_row)));
  runtime.submit({.codelet = &check_codelets(data.precision()).undone,
                  .operands = operands,
                  .rank = runtime.owner(data[undo.factor])});
}

// z <- Q z or Q^T z. The first reflection is the first that goes to z in Q^T z.
void submit_reflections(Runtime& runtime, const ApplicationData& data, const Segments& z,
                        const Check& check, Factor by) {
  const auto& blocks = data.application().data;
  const std::size_t count = check.reflections.size();
  for (std::size_t n = 0; n < count; ++n) {
    const CheckReflection& one = check.reflections[by == Factor::q ? count - 1 - n : n];
    std::vector<Operand> operands{R(data[one.v]), R(data[one.t])};
    if (one.of != Reflectors::of_tile) {
      operands.push_back(RW(z.from(blocks[one.above].block.first_row)));
    }
    operands.push_back(RW(z.from(blocks[one.v].block.first_row)));
    runtime.submit({.codelet = &check_codelets(data.precision()).reflected,
                    .operands = operands,
                    .parameters = TileReflection{one.of, by},
                    .rank = runtime.owner(data[one.v])});
  }
}

}  // namespace

Residual run_check(Runtime& runtime, const ApplicationData& data, const Check& check) {
  Vectors vectors(runtime, data.application().grid, check.inner);
  const bool reflects = !check.reflections.empty();
  set_random_signs(vectors.x);  // no task uses it yet
  if (reflects) set_random_signs(vectors.w);
  for (const CheckProduct& product : check.products) {
    submit_product(runtime, data, vectors, product);
  }
  for (const CheckUndo& undo : check.undone) submit_undo(runtime, data, vectors.z, undo);
  if (reflects) {
    submit_reflections(runtime, data, vectors.z, check, Factor::q);
    submit_reflections(runtime, data, vectors.w, check, Factor::q);
    submit_reflections(runtime, data, vectors.w, check, Factor::q_transposed);
  }
  runtime.wait();
  std::vector<Segments*> compared{&vectors.y, &vectors.z};
  if (reflects) compared.insert(compared.end(), {&vectors.x, &vectors.w});
  for (Segments* const vector : compared) {
    vector->collect();
    vector->release();
  }
  double value = relative_difference(vectors.y, vectors.z);
  if (reflects) {
    const auto order = static_cast<double>(data.application().grid.size);
    const double of_signs = distance(vectors.x, vectors.w) / std::sqrt(order);
    if (of_signs > value || std::isnan(of_signs)) value = of_signs;
  }
  return {value, check.tolerance};
}

}  // namespace vicinal::linalg
