// Sorts a file eight times as large as the memory limit: blocks are sorted, then pairs of blocks are merged and split
// again, the lower half into the first and the upper half into the second, in rounds over neighbours. On several ranks
// (mpirun -n 4 external_sort) each has the limit for itself, and a file for its blocks, which lie next to each other.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>
#include <vicinal/trace.hpp>

using namespace vicinal;

namespace {

using Key = std::uint64_t;
constexpr std::size_t kBlocks = 64;
constexpr std::size_t kKeys = 1024;  // of a block
constexpr Bytes kBlock{kKeys * sizeof(Key)};

RankId owner_of(std::size_t block, const Ranks& ranks) {
  return RankId{static_cast<std::uint32_t>(block * ranks.count() / kBlocks)};
}

void sort_file(const std::string& path, Options options, const Ranks& ranks) {
  options.memory = kBlock * (kBlocks / 8);
  options.disk = ".";
  Runtime runtime(options, ranks);
  std::vector<Data<Key>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.emplace_back(
        runtime.register_file(owner_of(i, ranks), {.path = path, .offset = i * kBlock.value},
                              {.rows = kKeys, .columns = 1, .element_bytes = sizeof(Key)}));
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
  for (const Data<Key> block : blocks)
    runtime.release(block);  // waits, and its owner's file has it
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
  const Options options = Options::from_environment();
  const Ranks ranks = Ranks::launched(options);
  const std::string path = file_of_rank("external_sort.keys", ranks.rank());
  std::vector<Key> keys(kBlocks * kKeys);
  std::ranges::generate(keys, std::mt19937_64(2026));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(keys.data()),
             static_cast<std::streamsize>(keys.size() * sizeof(Key)));
  sort_file(path, options, ranks);
  std::ranges::sort(keys);
  const std::vector<Key> content = content_of(path);
  std::remove(path.c_str());
  bool sorted = content.size() == keys.size();
  for (std::size_t i = 0; sorted && i < keys.size(); ++i) {  // in the blocks of this rank
    sorted = owner_of(i / kKeys, ranks) != ranks.rank() || content[i] == keys[i];
  }
  return sorted ? 0 : 1;
}
