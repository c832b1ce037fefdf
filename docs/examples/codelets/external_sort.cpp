// As ../external_sort.cpp, with codelets.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
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

void sort_kernel(KernelContext& k) {
  Key* keys = k.data<Key>(0);
  std::sort(keys, keys + k.count<Key>(0));
}
const Codelet sort_codelet{.name = "sort", .cpu = sort_kernel};

void merge_kernel(KernelContext& k) {
  Key* low = k.data<Key>(0);
  Key* high = k.data<Key>(1);
  Key* both = k.data<Key>(2);
  const std::size_t lower = k.count<Key>(0);
  const std::size_t upper = k.count<Key>(1);
  std::merge(low, low + lower, high, high + upper, both);
  std::copy(both, both + lower, low);
  std::copy(both + lower, both + lower + upper, high);
}
const Codelet merge_codelet{.name = "merge", .cpu = merge_kernel};

RankId owner_of(std::size_t block, const Ranks& ranks) {
  return RankId{static_cast<std::uint32_t>(block * ranks.count() / kBlocks)};
}

void sort_file(const std::string& path, Options options, const Ranks& ranks) {
  options.memory = kBlock * (kBlocks / 8);
  options.disk = ".";
  Runtime runtime(options, ranks);
  std::vector<Handle> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(
        runtime.register_file(owner_of(i, ranks), {.path = path, .offset = i * kBlock.value},
                              {.rows = kKeys, .columns = 1, .element_bytes = sizeof(Key)}));
    runtime.submit({.codelet = &sort_codelet, .operands = {RW(blocks[i])}});
  }
  for (std::size_t round = 0; round < kBlocks; ++round) {
    for (std::size_t i = round % 2; i + 1 < kBlocks; i += 2) {
      runtime.submit({.codelet = &merge_codelet,
                      .operands = {RW(blocks[i]), RW(blocks[i + 1]), Scratch(kBlock * 2)}});
    }
  }
  for (const Handle block : blocks) runtime.unregister(block);  // waits, and the file has it
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
  const std::string path = file_of_rank("external_sort_codelets.keys", ranks.rank());
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
