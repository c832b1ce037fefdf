// A set of ranks in eight bytes: the first 63 ranks in place, a bitmap elsewhere once a later one is in it.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "vicinal/ids.hpp"

namespace vicinal::comm {

class RankSet {
 public:
  RankSet() = default;
  RankSet(RankSet&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  RankSet& operator=(RankSet&& other) noexcept {
    std::swap(bits_, other.bits_);
    return *this;
  }
  ~RankSet() { clear(); }

  bool empty() const { return bits_ == 0; }
  bool has(RankId rank) const {
    if (is_large()) return rank.value / 64 < large().size() && bit_of(large(), rank);
    return rank.value < kInPlace && ((bits_ >> (rank.value + 1)) & 1) != 0;
  }
  // May find no memory if the rank is beyond the first 63.
  void add(RankId rank) {
    if (!is_large() && rank.value < kInPlace) {
      bits_ |= std::uint64_t{2} << rank.value;
      return;
    }
    if (!is_large()) grow();
    std::vector<std::uint64_t>& words = large();
    if (words.size() <= rank.value / 64) words.resize(rank.value / 64 + 1);
    words[rank.value / 64] |= std::uint64_t{1} << (rank.value % 64);
  }
  std::uint32_t size() const {
    const auto ones = [](std::uint64_t word) {
      return static_cast<std::uint32_t>(std::popcount(word));
    };
    if (!is_large()) return ones(bits_);
    std::uint32_t count = 0;
    for (const std::uint64_t word : large()) count += ones(word);
    return count;
  }
  // In their order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    const auto each_of = [&](std::uint64_t word, std::uint32_t first) {
      for (; word != 0; word &= word - 1) {
        visit(RankId{first + static_cast<std::uint32_t>(std::countr_zero(word))});
      }
    };
    if (!is_large()) return each_of(bits_ >> 1, 0);
    for (std::uint32_t i = 0; i < large().size(); ++i) each_of(large()[i], 64 * i);
  }
  void clear() {
    if (is_large()) delete &large();
    bits_ = 0;
  }

 private:
  static constexpr std::uint32_t kInPlace = 63;
  // The lowest bit: the rest is the address of the words, which is even.
  bool is_large() const { return (bits_ & 1) != 0; }
  std::vector<std::uint64_t>& large() const {
    return *std::bit_cast<std::vector<std::uint64_t>*>(bits_ & ~std::uint64_t{1});
  }
  static bool bit_of(const std::vector<std::uint64_t>& words, RankId rank) {
    return ((words[rank.value / 64] >> (rank.value % 64)) & 1) != 0;
  }
  void grow() {
    auto words = std::make_unique<std::vector<std::uint64_t>>(1, bits_ >> 1);
    bits_ = std::bit_cast<std::uint64_t>(words.release()) | 1;
  }

  std::uint64_t bits_ = 0;
};

}  // namespace vicinal::comm
