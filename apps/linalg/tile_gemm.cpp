#include "linalg/tile_gemm.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "linalg/micro_tile.hpp"

namespace vicinal::linalg {

#if defined(__x86_64__)

namespace {

// C is cut into blocks of 64 vectors x 128 columns (512 KB in double, which stay in the cache of the
// second level), high rather than wide because packed rows of B are used once per panel of A. The
// factors of a block are cut into pieces of 64 columns: many enough to seldom write C, few enough that
// little is waited for before the first piece is there. 32 columns are slower by 4 %, 96 as fast
// (cold tiles of 256, double).
constexpr int kBlockVectors = 64;
constexpr int kBlockColumns = 128;
constexpr int kDepth = 64;

// The length of pieces, at most `most` and as equal as multiples of `unit` can be, that make up
// `total`. `most` is a multiple of `unit`.
int piece_length(int total, int most, int unit) {
  const int pieces = std::max(1, (total + most - 1) / most);
  const int length = (total + pieces - 1) / pieces;
  return (length + unit - 1) / unit * unit;
}

// A micro-tile of C and where its factors are.
template <typename T>
struct MicroTask {
  const T* a = nullptr;  // vectors below each other, the next ones a_stride behind
  std::ptrdiff_t a_stride = 0;
  T* packed = nullptr;  // the same, packed
  std::ptrdiff_t packed_stride = 0;
  const T* b = nullptr;  // packed
  int depth = 0;
  T* c = nullptr;
  std::ptrdiff_t ldc = 0;
  int columns = 0;  // of C; further ones are computed, not stored
  // Element (i, j) is stored where i >= diagonal + j.
  int diagonal = -kColumns;
  typename Vector<T>::Mask last = 0;  // the lanes of the last vector
  Update update = Update::subtract;
  const char* ahead = nullptr;  // what to fetch meanwhile, the next ahead_stride bytes behind
  std::ptrdiff_t ahead_stride = 0;
};

template <typename T, Update kUpdate>
VICINAL_AVX512_INLINE typename Vector<T>::Register updated(typename Vector<T>::Register c,
                                                           typename Vector<T>::Register sum) {
  return kUpdate == Update::subtract ? Vector<T>::minus(c, sum) : Vector<T>::plus(c, sum);
}

template <typename T, int kHeight, Update kUpdate>
VICINAL_AVX512_INLINE void update(const MicroTile<T, kHeight>& tile, const MicroTask<T>& task) {
  using V = Vector<T>;
  constexpr bool kReads = kUpdate != Update::assign;
  T* c = task.c;
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
    if (j < task.columns) {
#pragma GCC unroll 3
      for (int r = 0; r < kHeight; ++r) {
        T* const p = c + r * V::kLanes;
        const typename V::Register sum = tile.sum[j][r];
        if (r > 0 && r < kHeight - 1) {
          V::store(p, kReads ? updated<T, kUpdate>(V::load(p), sum) : sum);
          continue;
        }
        unsigned mask = r == kHeight - 1 ? task.last : ~0U;
        if (r == 0) mask &= ~0U << std::max(0, task.diagonal + j);
        const auto lanes = static_cast<typename V::Mask>(mask);
        V::store(p, kReads ? updated<T, kUpdate>(V::load(p, lanes), sum) : sum, lanes);
      }
    }
    c += task.ldc;
  }
}

template <typename T, int kHeight>
VICINAL_AVX512_INLINE void update(const MicroTile<T, kHeight>& tile, const MicroTask<T>& task) {
  switch (task.update) {
    case Update::subtract:
      return update<T, kHeight, Update::subtract>(tile, task);
    case Update::add:
      return update<T, kHeight, Update::add>(tile, task);
    case Update::assign:
      return update<T, kHeight, Update::assign>(tile, task);
  }
}

// The product of one micro-tile. kPack: A comes from the tile and is packed on the way.
template <typename T, int kHeight, bool kPack>
VICINAL_AVX512 void multiply(const MicroTask<T>& task) {
  using V = Vector<T>;
  MicroTile<T, kHeight> tile;
  const T* c = task.c;
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 3
    for (int r = 0; r < kHeight; ++r) __builtin_prefetch(c + r * V::kLanes);
    c += task.ldc;
  }
  const T* a = task.a;
  const T* b = task.b;
  const char* ahead = task.ahead;
  T* packed = task.packed;
#pragma GCC unroll 4
  for (int p = 0; p < task.depth; ++p) {
    if constexpr (kPack) {
      const Column<T, kHeight> column(a, task.last);
      column.store(packed);
      packed += task.packed_stride;
      tile.add_product(column, b);
    } else {
      tile.add_product(Column<T, kHeight>(a), b);
    }
    a += task.a_stride;
    b += kColumns;
    fetch(ahead);
    ahead += task.ahead_stride;
  }
  update(tile, task);
}

// What is computed between two copies: a block of C with `depth` columns of the factors.
struct Piece {
  int row = 0;
  int rows = 0;
  int column = 0;
  int columns = 0;
  int first = 0;  // column of A and B
  int depth = 0;
};

struct Form {
  bool transposed = false;  // B is (n x k), and its transpose multiplies
  bool lower = false;       // only the lower triangle of C
  Update update = Update::subtract;
};

template <typename T>
class Product {
 public:
  Product(const Block<T>& a, const Block<T>& b, const Block<T>& c, const Form& form)
      : a_(a),
        b_(b),
        c_(c),
        form_(form),
        rows_(piece_length(c.rows, kBlockVectors * kLanes, kLanes)),
        columns_(piece_length(c.columns, kBlockColumns, kColumns)),
        depth_(piece_length(a.columns, kDepth, 1)) {}

  void compute() {
    if (c_.rows <= 0 || c_.columns <= 0 || a_.columns <= 0) return;
    for (Piece piece = piece_at(0, 0, 0); piece.columns > 0;) {
      const Piece next = after(piece);
      next_a_ = Lines(part_of_a(next));
      next_b_ = Lines(part_of_b(next));
      compute(piece);
      piece = next;
    }
  }

 private:
  static constexpr int kLanes = Vector<T>::kLanes;

  Piece piece_at(int row, int column, int first) const {
    return {row,    std::min(rows_, c_.rows - row),
            column, std::min(columns_, c_.columns - column),
            first,  std::min(depth_, a_.columns - first)};
  }

  // Of no columns behind the last one.
  Piece after(const Piece& p) const {
    if (p.first + p.depth < a_.columns) return piece_at(p.row, p.column, p.first + p.depth);
    if (p.row + p.rows < c_.rows) return piece_at(p.row + p.rows, p.column, 0);
    const int column = p.column + p.columns;
    if (column >= c_.columns) return {};
    return piece_at(form_.lower ? column / rows_ * rows_ : 0, column, 0);
  }

  Block<T> part_of_a(const Piece& p) const { return a_.part(p.row, p.first, p.rows, p.depth); }
  Block<T> part_of_b(const Piece& p) const {
    return form_.transposed ? b_.part(p.column, p.first, p.columns, p.depth)
                            : b_.part(p.first, p.column, p.depth, p.columns);
  }

  void compute(const Piece& piece) {
    for (int column = 0; column < piece.columns; column += kColumns) {
      const int columns = std::min(kColumns, piece.columns - column);
      const Piece part{.column = piece.column + column,
                       .columns = columns,
                       .first = piece.first,
                       .depth = piece.depth};
      form_.transposed ? pack_rows(part_of_b(part), packed_b_)
                       : pack_columns(part_of_b(part), packed_b_);
      compute(piece, column, columns);
    }
  }

  // `columns` columns of C, from `column` of the piece on.
  void compute(const Piece& piece, int column, int columns) {
    MicroTask<T> task;
    task.b = packed_b_;
    task.depth = piece.depth;
    task.ldc = c_.ld;
    task.columns = columns;
    // What the first piece has assigned the others add to.
    task.update = form_.update == Update::assign && piece.first > 0 ? Update::add : form_.update;
    const int above =
        form_.lower ? piece.column + column - piece.row : 0;  // rows above the diagonal
    const int vectors = vectors_of<T>(piece.rows);
    T* packed = packed_a_;
    for (int panel = 0; panel < vectors;) {
      const int height = panel_height(vectors - panel);
      // A panel that the diagonal crosses is begun with the vector that it crosses.
      const int vector = std::max(panel, above / kLanes);
      const int row = vector * kLanes;
      task.packed = packed + (vector - panel) * kLanes;
      task.packed_stride = height * kLanes;
      if (form_.lower) task.diagonal = above - row;
      panel += height;
      packed += height * kLanes * piece.depth;
      if (vector >= panel) continue;
      task.c = c_.at(piece.row + row, piece.column + column);
      task.last = first_lanes<T>(std::min(kLanes, piece.rows - (panel - 1) * kLanes));
      task.a = a_.at(piece.row + row, piece.first);
      multiply(panel - vector, column == 0, task);
    }
  }

  void multiply(int height, bool pack, MicroTask<T>& task) {
    Lines& lines = next_a_.empty() ? next_b_ : next_a_;
    const bool fetches = !lines.empty();
    task.ahead = fetches ? lines.take(task.depth / 2) : reinterpret_cast<const char*>(packed_b_);
    task.ahead_stride = fetches ? kLine / 2 : 0;
    if (pack) {
      task.a_stride = a_.ld;
      with_height(height, [&](auto rows) { linalg::multiply<T, rows, true>(task); });
    } else {
      task.a = task.packed;
      task.a_stride = task.packed_stride;
      with_height(height, [&](auto rows) { linalg::multiply<T, rows, false>(task); });
    }
  }

  const Block<T> a_;
  const Block<T> b_;
  const Block<T> c_;
  const Form form_;
  const int rows_;  // of a block, and so on
  const int columns_;
  const int depth_;
  Lines next_a_;  // of the piece that follows, to be fetched
  Lines next_b_;
  alignas(kLine) T packed_b_[kColumns * kDepth];
  alignas(kLine) T packed_a_[kBlockVectors * kLanes * kDepth];
};

}  // namespace

bool has_tile_gemm() {
  return __builtin_cpu_supports("avx512f") > 0;
}

template <typename T>
void tile_gemm(Update update, const Block<T>& a, const Block<T>& b, const Block<T>& c) {
  Product<T>(a, b, c, {.update = update}).compute();
}

template <typename T>
void tile_gemm_transposed(const Block<T>& a, const Block<T>& b, const Block<T>& c) {
  Product<T>(a, b, c, {.transposed = true}).compute();
}

template <typename T>
void tile_syrk(const Block<T>& a, const Block<T>& c) {
  Product<T>(a, a, c, {.transposed = true, .lower = true}).compute();
}

#else

bool has_tile_gemm() {
  return false;
}

template <typename T>
void tile_gemm(Update /*update*/, const Block<T>& /*a*/, const Block<T>& /*b*/,
               const Block<T>& /*c*/) {
  throw std::logic_error("tile_gemm needs AVX-512");
}

template <typename T>
void tile_gemm_transposed(const Block<T>& /*a*/, const Block<T>& /*b*/, const Block<T>& /*c*/) {
  throw std::logic_error("tile_gemm_transposed needs AVX-512");
}

template <typename T>
void tile_syrk(const Block<T>& /*a*/, const Block<T>& /*c*/) {
  throw std::logic_error("tile_syrk needs AVX-512");
}

#endif

template void tile_gemm(Update, const Block<float>&, const Block<float>&, const Block<float>&);
template void tile_gemm(Update, const Block<double>&, const Block<double>&, const Block<double>&);
template void tile_gemm_transposed(const Block<float>&, const Block<float>&, const Block<float>&);
template void tile_gemm_transposed(const Block<double>&, const Block<double>&,
                                   const Block<double>&);
template void tile_syrk(const Block<float>& a, const Block<float>& c);
template void tile_syrk(const Block<double>& a, const Block<double>& c);

}  // namespace vicinal::linalg
