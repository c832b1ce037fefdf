#include "graph/declared_table.hpp"

#include "vicinal/error.hpp"

namespace vicinal::graph {

DeclaredTable::DeclaredTable() {
  static_assert(kMost < kForgotten - 1);
  nobody_.current_life.store(kForgotten - 1, std::memory_order_relaxed);
  nobody_.name = "data that this runtime has only declared";
}

std::uint32_t DeclaredTable::number_of(const Layout& layout) {
  const LayoutKey key{layout.column_bytes, layout.columns, layout.stride_bytes,
                      layout.element_bytes};
  const auto found = layout_numbers_.find(key);
  if (found != layout_numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(layouts_.size());
  layouts_.push_back(layout);
  try {
    layout_numbers_.emplace(key, number);
  } catch (...) {
    layouts_.pop_back();
    throw;
  }
  return number;
}

std::uint32_t DeclaredTable::add(const Layout& layout, std::string_view name, DataNumber data) {
  const bool begins = next_ % kPerChunk == 0;
  const std::size_t names = begins ? 0 : chunks_.back() ? chunks_.back()->names.size() : 0;
  if (next_ >= kMost || data.value >= kForgotten || names + name.size() >= kMost) {
    throw CapacityError(
        "data " + std::string(name) +
        ": a runtime hears of at most 2^32 - 16 data, and their names have 4 GiB at most");
  }
  const std::uint32_t shape = number_of(layout);
  if (begins) chunks_.push_back(std::make_unique<Chunk>());
  // All before it in the chunk may be forgotten.
  if (chunks_.back() == nullptr) chunks_.back() = std::make_unique<Chunk>();
  Chunk& chunk = *chunks_.back();
  try {
    chunk.names.append(name).push_back('\0');
    if ((next_ + 1) % kPerChunk == 0) chunk.names.shrink_to_fit();
  } catch (...) {
    chunk.names.resize(names);
    if (begins) chunks_.pop_back();
    throw;
  }
  Record& record = chunk.records[next_ % kPerChunk];
  record.layout = shape;
  record.name = static_cast<std::uint32_t>(names);
  record.data = static_cast<std::uint32_t>(data.value);
  ++chunk.there;
  ++size_;
  return next_++;
}

DeclaredTable::Record* DeclaredTable::record(std::uint32_t number) const {
  if (number >= next_ || chunks_[number / kPerChunk] == nullptr) return nullptr;
  Record& found = chunks_[number / kPerChunk]->records[number % kPerChunk];
  return found.layout != kForgotten ? &found : nullptr;
}

std::optional<DeclaredTable::Datum> DeclaredTable::find(std::uint32_t number) const {
  const Record* const found = record(number);
  if (found == nullptr) return std::nullopt;
  return Datum{layouts_[found->layout], chunks_[number / kPerChunk]->names.c_str() + found->name,
               DataNumber{found->data}, found->handle, found->life};
}

void DeclaredTable::give(std::uint32_t number, Handle& handle, std::uint32_t life) {
  Record* const found = record(number);
  if (found == nullptr) return;
  found->handle = &handle;
  found->life = life;
}

bool DeclaredTable::forget(std::uint32_t number) {
  Record* const found = record(number);
  if (found == nullptr) return false;
  *found = {};
  --size_;
  std::unique_ptr<Chunk>& chunk = chunks_[number / kPerChunk];
  if (--chunk->there == 0) chunk.reset();
  return true;
}

}  // namespace vicinal::graph
