// Data eight times as large as the memory they are computed in, on a disk and in a file.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

namespace {

using namespace vicinal;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

void fill(std::span<double> x, double value) {
  std::ranges::fill(x, value);
}
void add(std::span<const double> x, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += x[i];
}

constexpr std::size_t kTiles = 32;
constexpr Bytes kTile = 64_KiB;
constexpr std::size_t kLength = kTile.value / sizeof(double);

void sums_more_than_fits() {
  Options options;
  options.workers = 2;
  options.bind = false;
  options.memory = kTile * 4;  // of 32 tiles
  options.disk = ".";
  Runtime runtime(options);

  std::vector<Data<double>> tiles;
  for (std::size_t i = 0; i < kTiles; ++i) {
    tiles.push_back(runtime.data<double>(kLength, "tile " + std::to_string(i)));
    runtime.task("fill", fill, out(tiles[i]), double(i));
  }
  for (std::size_t i = 1; i < kTiles; ++i) runtime.task("add", add, in(tiles[i]), inout(tiles[0]));
  require(runtime.read(tiles[0])[0] == 31 * 32 / 2, "the sum");

  const Statistics statistics = runtime.statistics();
  const NodeStatistics& ram = statistics.nodes[kRam.value];
  require(ram.peak <= kTile * 4, "the limit held");
  require(ram.write_backs > 0, "what did not fit went to the disk");
}

void updates_a_file() {
  const std::string path = "out_of_core.data";
  std::remove(path.c_str());
  Options options;
  options.memory = kTile * 2;
  options.disk = ".";
  Runtime runtime(options);
  auto head = runtime.data<double>({.path = path, .offset = 0}, kLength, "head");
  auto tail = runtime.data<double>({.path = path, .offset = kTile.value}, kLength, "tail");
  runtime.task("fill", fill, out(head), 1.0);  // written first: the file is made
  runtime.task("fill", fill, out(tail), 2.0);
  runtime.release(head);
  runtime.release(tail);  // now both are in the file

  std::ifstream file(path, std::ios::binary);
  std::vector<double> content(2 * kLength);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(2 * kTile.value));
  require(file.good() && content.front() == 1 && content.back() == 2, "the file holds both");
  std::remove(path.c_str());
}

void says_early_what_cannot_fit() {
  Options options;
  options.memory = kTile * 1;
  options.disk = ".";
  Runtime runtime(options);
  const auto a = runtime.data<double>(kLength, "a");
  const auto b = runtime.data<double>(kLength, "b");
  runtime.task("fill", fill, out(a), 1.0);
  runtime.task("fill", fill, out(b), 1.0);
  bool refused = false;
  try {
    runtime.task("add", add, in(a), inout(b));  // needs both at once
  } catch (const CapacityError&) {
    refused = true;
  }
  require(refused, "refused at submission");
  runtime.wait();
}

}  // namespace

int main() {
  sums_more_than_fits();
  updates_a_file();
  says_early_what_cannot_fit();
  return 0;
}
