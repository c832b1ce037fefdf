// Sorts a file eight times as large as the memory limit: blocks are sorted, then pairs of blocks are merged and split
// again, the lower half into the first and the upper half into the second, in rounds over neighbours.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {

using Key = std::uint64_t;
constexpr std::size_t kBlocks = 64;
constexpr std::size_t kKeys = 1024;  // of a block
constexpr Bytes kBlock{kKeys * sizeof(Key)};

void sort_file(const std::string& path) {
  Runtime runtime({.memory = kBlock * (kBlocks / 8), .disk = "."});
  std::vector<Data<Key>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(runtime.data<Key>({.path = path, .offset = i * kBlock.value}, kKeys));
    runtime.task(
        "sort", [](std::span<Key> keys) { std::ranges::sort(keys); }, inout(blocks[i]));
  }
  const auto merge = [](std::span<Key> low, std::span<Key> high, std::span<Key> both) {
    std::ranges::merge(low, high, both.begin());
    std::ranges::copy(both.first(low.size()), low.begin());
    std::ranges::copy(both.last(high.size()), high.begin());
  };
  for (std::size_t round = 0; round < kBlocks; ++round) {
    for (std::size_t i = round % 2; i + 1 < kBlocks; i += 2) {
      runtime.task("merge", merge, inout(blocks[i]), inout(blocks[i + 1]), scratch<Key>(2 * kKeys));
    }
  }
  for (const Data<Key> block : blocks) runtime.release(block);  // waits, and the file has it
}

std::vector<Key> content_of(const std::string& path) {
  std::vector<Key> keys(kBlocks * kKeys);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(keys.data()),
            static_cast<std::streamsize>(keys.size() * sizeof(Key)));
  return file ? keys : std::vector<Key>{};
}

}  // namespace

int main() {
  const std::string path = "external_sort.keys";
  std::vector<Key> keys(kBlocks * kKeys);
  std::ranges::generate(keys, std::mt19937_64(2026));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(keys.data()),
             static_cast<std::streamsize>(keys.size() * sizeof(Key)));
  sort_file(path);
  std::ranges::sort(keys);
  const bool sorted = content_of(path) == keys;
  std::remove(path.c_str());
  return sorted ? 0 : 1;
}
