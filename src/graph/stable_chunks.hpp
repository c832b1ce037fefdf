// Objects that stay where they are, many to an allocation. A deque allocates each large one alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace vicinal::graph {

template <typename T>
class StableChunks {
 public:
  std::size_t size() const { return size_; }
  // One more, as it is constructed.
  T& add() {
    if (size_ == chunks_.size() * kPerChunk) chunks_.push_back(std::make_unique<T[]>(kPerChunk));
    return at(size_++);
  }
  T& at(std::size_t number) const { return chunks_[number / kPerChunk][number % kPerChunk]; }

  class Iterator {
   public:
    Iterator(const StableChunks& of, std::size_t number) : of_(&of), number_(number) {}
    T& operator*() const { return of_->at(number_); }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const StableChunks* of_;
    std::size_t number_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  static constexpr std::size_t kPerChunk = std::max<std::size_t>(1, 4096 / sizeof(T));
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace vicinal::graph
