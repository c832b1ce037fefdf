// The data of a random program that runs: where each lies, what it must hold, and whether it does.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/content.hpp"
#include "support/random_program.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

inline std::uint64_t hash_of(const Content& content) {
  return mixed(content.size(), content.data(), content.size());
}

// All words are the same: of what is counted up, whoever looks sees a whole number of increments.
inline std::uint64_t counter_of(const OperandView& view) {
  const Content content = gather(view);
  std::uint64_t first = 0;
  if (content.size() >= 8) std::memcpy(&first, content.data(), 8);
  for (std::size_t i = 8; i + 8 <= content.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, content.data() + i, 8);
    EXPECT_EQ(word, first) << "half an increment, at byte " << i;
    if (word != first) break;
  }
  return first;
}
inline void set_counter(const OperandView& view, std::uint64_t value) {
  Content content(view.layout.bytes().value);
  for (std::size_t i = 0; i + 8 <= content.size(); i += 8) {
    std::memcpy(content.data() + i, &value, 8);
  }
  scatter(content, view);
}

class ProgramDatum {
 public:
  ProgramDatum(const ProgramData& data, std::string name, std::string file, std::uint64_t offset)
      : data_(data), name_(std::move(name)), file_(std::move(file)), offset_(offset) {
    if (data.home == Home::buffer || data.home == Home::strided) {
      buffer_.assign(data.bytes + gap() * data.columns, kUntouched);
    }
  }

  // With a content that follows from the key; zeros, if it is counted up.
  void register_with(Runtime& runtime, std::uint64_t key) {
    Content content(data_.bytes);
    if (!data_.shared()) fill(content.data(), content.size(), key);
    switch (data_.home) {
      case Home::none:
        handle_ = runtime.register_empty(Bytes{data_.bytes}, name_);
        return;
      case Home::buffer:
        scatter(content, view_of_buffer());
        handle_ = runtime.register_buffer(buffer_.data(), Bytes{data_.bytes}, name_);
        return;
      case Home::strided:
        scatter(content, view_of_buffer());
        handle_ = runtime.register_tile(buffer_.data(), shape(), name_);
        return;
      case Home::file: {
        std::ofstream file(file_, std::ios::binary);
        file << std::string(offset_, 'x');
        file.write(reinterpret_cast<const char*>(content.data()),
                   static_cast<std::streamsize>(content.size()));
        file << "after";
        file.close();
        handle_ = runtime.register_file({file_, offset_}, Bytes{data_.bytes}, name_);
        return;
      }
    }
  }
  bool has_home() const { return data_.home != Home::none; }
  Handle handle() const { return handle_; }
  const std::string& name() const { return name_; }

  // What lies at its home, which is the application's again; and nothing else was written.
  Content at_home() {
    if (data_.home == Home::file) return in_file();
    const Content content = gather(view_of_buffer());
    Content whole = buffer_;
    scatter(Content(data_.bytes, kUntouched),
            {reinterpret_cast<std::byte*>(whole.data()), shape().layout()});
    EXPECT_EQ(std::ranges::count(whole, kUntouched), static_cast<std::ptrdiff_t>(whole.size()))
        << name_ << ": bytes between the columns were written";
    return content;
  }

 private:
  static constexpr std::uint8_t kUntouched = 0xEE;
  std::uint64_t gap() const { return data_.home == Home::strided ? 24 : 0; }
  TileShape shape() const {
    const std::uint64_t rows = data_.bytes / data_.columns;
    return {rows, data_.columns, rows + gap(), 1};
  }
  OperandView view_of_buffer() {
    return {reinterpret_cast<std::byte*>(buffer_.data()), shape().layout()};
  }
  Content in_file() const {
    std::ifstream file(file_, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (all.size() != offset_ + data_.bytes + 5) {
      ADD_FAILURE() << file_ << " of " << all.size() << " bytes";
      return {};
    }
    EXPECT_EQ(all.substr(0, offset_), std::string(offset_, 'x')) << file_ << ", what lies before";
    EXPECT_EQ(all.substr(offset_ + data_.bytes), "after") << file_;
    return {all.begin() + static_cast<std::ptrdiff_t>(offset_),
            all.begin() + static_cast<std::ptrdiff_t>(offset_ + data_.bytes)};
  }

  const ProgramData data_;
  const std::string name_;
  const std::string file_;
  const std::uint64_t offset_;
  std::vector<std::uint8_t> buffer_;
  Handle handle_;
};

}  // namespace vicinal::testing
