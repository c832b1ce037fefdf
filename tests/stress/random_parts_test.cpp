// Random programs on handles in parts, parts of parts, and recursive tasks, with room for hardly more than one task:
// they end, with the content that the same operations leave one after the other. A failure names its seed.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/named_crash.hpp"
#include "support/policy_names.hpp"
#include "support/random_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using testing::TemporaryFolder;
using testing::Watchdog;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t key) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b * 0xbf58476d1ce4e5b9ULL + key;
  x ^= x >> 29;
  return x * 0x94d049bb133111ebULL;
}

// Operand 0 is changed (RW) or overwritten (W, of a task whose key is odd), 1 and 2 are read, if there are such.
void mix(std::uint64_t* to, std::size_t count, const std::uint64_t* a, std::size_t a_count,
         std::uint64_t key) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t old = key % 2 == 1 ? 0 : to[i];
    to[i] = mixed(old, a_count == 0 ? 0 : a[i % a_count], key);
  }
}

void mix_kernel(KernelContext& k) {
  const auto key = k.parameter<std::uint64_t>();
  const bool reads = k.operands() > 1;
  mix(k.data<std::uint64_t>(0), k.count<std::uint64_t>(0),
      reads ? k.data<std::uint64_t>(1) : nullptr, reads ? k.count<std::uint64_t>(1) : 0, key);
}

void mix_in_parts(Recursion& r);
const Codelet kMix{.name = "mix", .cpu = mix_kernel};
// Its operands are equally long.
const Codelet kDivided{.name = "divided", .cpu = mix_kernel, .recursive = mix_in_parts};

void mix_in_parts(Recursion& r) {
  const auto key = r.parameter<std::uint64_t>();
  const Divide how = row_blocks(2 + key % 4);
  const Parts to = r.parts(0, how);
  Parts from;
  if (r.operands() > 1) from = r.parts(1, how);
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::vector<Operand> operands{{to[i], r.mode(0)}};
    if (from.size() > 0) operands.push_back(R(from[i]));
    const bool again = key % 5 == 0 && r.layout(0).rows() > 64;
    r.submit({.codelet = again ? &kDivided : &kMix,
              .operands = operands,
              .parameters = key,
              .recursive = Recursive::always});
  }
}

// A handle, or a part of one: elements first .. first + count - 1 of a root.
struct Piece {
  std::size_t root = 0;
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t above = kNone;  // the piece that it is a part of
  Handle handle = {};
  bool writable = true;
  bool there = true;
  Parts parts = {};  // of the last partition
  std::vector<std::size_t> pieces = {};
  static constexpr std::size_t kNone = SIZE_MAX;
};

class PartsProgram {
 public:
  PartsProgram(std::uint64_t seed, const std::string& folder) : random_(seed) {
    const std::vector<std::string> names = testing::policy_names();
    options_.policy = names[seed % names.size()];
    options_.workers = 1 + static_cast<std::uint32_t>(random_.below(3));
    options_.accelerators = static_cast<std::uint32_t>(random_.below(3));
    options_.submitter_works = chance(2);
    options_.seed = seed;
    if (chance(4)) options_.window_tasks = 1 + random_.below(20);
    limited_ = chance(2);
    std::uint64_t largest = 0;
    for (std::uint64_t i = 1 + random_.below(3); i > 0; --i) {
      const std::size_t count = std::size_t{1} << random_.below(12);
      roots_.emplace_back(count);
      for (std::uint64_t& value : roots_.back()) value = random_.next();
      largest = std::max(largest, (std::uint64_t{count} * 8 + 4095) / 4096 * 4096);
    }
    memory_ = roots_;
    if (!limited_) return;
    options_.memory = Bytes{2 * largest};
    options_.accelerator_memory = Bytes{2 * largest};
    options_.disk = folder;
  }

  std::string label() const {
    return "policy " + options_.policy + ", " + std::to_string(options_.workers) + " workers, " +
           std::to_string(options_.accelerators) + " accelerators" +
           (limited_ ? ", " + std::to_string(options_.memory->value) + " bytes of memory" : "") +
           (options_.window_tasks > 0 ? ", window" : "");
  }

  void run(Watchdog& watchdog) {
    Runtime runtime(options_);
    const testing::Watched watched(watchdog, runtime);
    runtime_ = &runtime;
    for (std::size_t r = 0; r < roots_.size(); ++r) add_root(r);
    for (std::uint64_t steps = 10 + random_.below(60); steps > 0; --steps) step();
    runtime.wait();
    for (std::size_t p = 0; p < pieces_.size(); ++p) {
      if (pieces_[p].there) check(p);
    }
    for (const Piece& piece : pieces_) {
      if (piece.there && piece.above == Piece::kNone) runtime.unregister(piece.handle);
    }
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      if (at_home_[r]) {
        EXPECT_EQ(memory_[r], roots_[r]) << "root " << r;
      }
    }
  }

 private:
  bool chance(std::uint64_t in) { return random_.below(in) == 0; }

  void add_root(std::size_t r) {
    const TileShape shape{roots_[r].size(), 1, 0, 8};
    const std::string name = "root" + std::to_string(r);
    at_home_.push_back(chance(2));
    Piece piece{.root = r, .first = 0, .count = roots_[r].size()};
    if (at_home_.back()) {
      piece.handle = runtime_->register_tile(memory_[r].data(), shape, name);
    } else {
      piece.handle = runtime_->register_empty(shape, name);
      const Acquired held = runtime_->acquire(piece.handle, AccessMode::W);
      std::ranges::copy(roots_[r], held.data<std::uint64_t>());
    }
    pieces_.push_back(piece);
  }

  std::size_t any_piece() {
    std::size_t p = random_.below(pieces_.size());
    while (!pieces_[p].there) p = (p + 1) % pieces_.size();
    return p;
  }
  std::uint64_t* content(const Piece& piece) { return roots_[piece.root].data() + piece.first; }
  static bool meet(const Piece& a, const Piece& b) {
    return a.root == b.root && a.first < b.first + b.count && b.first < a.first + a.count;
  }

  void step() {
    const std::uint64_t kind = random_.below(20);
    const std::size_t p = any_piece();
    if (kind < 12) {
      submit(p);
    } else if (kind < 15) {
      divide(p);
    } else if (kind < 17) {
      unite(p);
    } else if (kind == 17) {
      check(p);
    } else if (kind == 18) {
      chance(2) ? runtime_->wait(pieces_[p].handle)
                : runtime_->prefetch(pieces_[p].handle, NodeId{0});
    } else {
      runtime_->wait();
    }
  }

  void submit(std::size_t p) {
    const Piece& to = pieces_[p];
    if (!to.writable || to.count == 0) return;
    std::uint64_t key = random_.next();
    if (key % 2 == 1 && chance(2)) ++key;
    std::vector<Operand> operands{{to.handle, key % 2 == 1 ? AccessMode::W : AccessMode::RW}};
    const Piece& from = pieces_[any_piece()];
    const bool reads = !meet(to, from) && from.count > 0;
    if (reads) operands.push_back(R(from.handle));
    const bool divisible = !reads || from.count == to.count;
    mix(content(to), to.count, reads ? content(from) : nullptr, reads ? from.count : 0, key);
    runtime_->submit({.codelet = divisible ? &kDivided : &kMix,
                      .operands = operands,
                      .parameters = key,
                      .priority = static_cast<int>(random_.below(3)),
                      .recursive = static_cast<Recursive>(random_.below(3))});
  }

  void divide(std::size_t p) {
    if (pieces_[p].parts.size() > 0) return;
    const bool writable = pieces_[p].writable && !chance(4);
    std::vector<Block> blocks;
    std::uint64_t at = 0;
    while (at < pieces_[p].count && blocks.size() < 6) {
      const std::uint64_t rows = 1 + random_.below(pieces_[p].count - at);
      if (!chance(6)) blocks.push_back({.row = at, .column = 0, .rows = rows, .columns = 1});
      at += rows;
    }
    if (blocks.empty()) return;
    const Parts parts = runtime_->partition(
        pieces_[p].handle,
        [&](const Layout&) {
          return Division{blocks, 0};
        },
        writable ? PartAccess::writable : PartAccess::read_only);
    pieces_[p].parts = parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      pieces_[p].pieces.push_back(pieces_.size());
      pieces_.push_back({.root = pieces_[p].root,
                         .first = pieces_[p].first + blocks[i].row,
                         .count = blocks[i].rows,
                         .above = p,
                         .handle = parts[i],
                         .writable = writable});
    }
  }

  void unite(std::size_t p) {
    if (pieces_[p].parts.size() == 0) return;
    runtime_->unpartition(pieces_[p].parts);
    gone(p);
  }
  void gone(std::size_t p) {
    for (const std::size_t part : pieces_[p].pieces) {
      gone(part);
      pieces_[part].there = false;
    }
    pieces_[p].pieces.clear();
    pieces_[p].parts = {};
  }

  void check(std::size_t p) {
    const Piece& piece = pieces_[p];
    const Acquired held = runtime_->acquire(piece.handle, AccessMode::R);
    EXPECT_TRUE(
        std::equal(content(piece), content(piece) + piece.count, held.data<std::uint64_t>()))
        << "elements " << piece.first << " + " << piece.count << " of root " << piece.root;
  }

  base::Random random_;
  Options options_;
  bool limited_ = false;
  std::vector<std::vector<std::uint64_t>>
      roots_;  // as the operations leave them, one after the other
  std::vector<std::vector<std::uint64_t>> memory_;  // homes
  std::vector<bool> at_home_;
  Runtime* runtime_ = nullptr;
  std::vector<Piece> pieces_;
};

TEST(RandomParts, HaveTheResultOfTheSequence) {
  for (const std::uint64_t seed : testing::seeds(200)) {
    const TemporaryFolder folder("parts");
    PartsProgram program(seed, folder.path());
    const std::string label = "TEST_SEED_VICINAL=" + std::to_string(seed) +
                              " tests/stress --gtest_filter=RandomParts.* (" + program.label() +
                              ")";
    SCOPED_TRACE(label);
    const testing::NamedCrash named(label);
    Watchdog watchdog(label, 30, Watchdog::Counts::tasks);
    try {
      program.run(watchdog);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

}  // namespace
}  // namespace vicinal
