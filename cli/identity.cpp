#include "identity.hpp"

#include <array>
#include <cstddef>
#include <fstream>

namespace vicinal::cli {

namespace {

// FNV-1a, by words.
std::uint64_t with_content(std::uint64_t hash, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<std::uint64_t, 8192> words{};
  while (file.read(reinterpret_cast<char*>(words.data()), sizeof(words)) || file.gcount() > 0) {
    // The last word is filled up with zeros, and the length tells how many.
    const auto bytes = static_cast<std::size_t>(file.gcount());
    const std::size_t count = (bytes + sizeof(words[0]) - 1) / sizeof(words[0]);
    for (std::size_t i = 0; i < count; ++i) {
      hash = (hash ^ words[i]) * 0x100000001b3ULL;
      hash ^= hash >> 29U;
    }
    hash = (hash ^ bytes) * 0x100000001b3ULL;
    words.fill(0);
  }
  return hash;
}

}  // namespace

std::uint64_t identity_of_program(const std::vector<std::string>& files) {
  std::uint64_t hash = with_content(0xcbf29ce484222325ULL, "/proc/self/exe");
  for (const std::string& file : files) hash = with_content(hash, file);
  return hash;
}

}  // namespace vicinal::cli
