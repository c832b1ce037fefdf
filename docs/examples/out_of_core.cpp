// Data eight times as large as the memory they are computed in, on a disk and in a file.

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

namespace {

using namespace vicinal;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

void fill(KernelContext& k) {
  for (std::size_t i = 0; i < k.count<double>(0); ++i) k.data<double>(0)[i] = k.parameter<double>();
}
void add(KernelContext& k) {
  for (std::size_t i = 0; i < k.count<double>(1); ++i) k.data<double>(1)[i] += k.data<double>(0)[i];
}
const Codelet fill_codelet{.name = "fill", .cpu = fill};
const Codelet add_codelet{.name = "add", .cpu = add};

constexpr std::uint64_t kTiles = 32;
constexpr Bytes kTile = 64_KiB;

void sums_more_than_fits() {
  Options options;
  options.workers = 2;
  options.bind = false;
  options.memory = kTile * 4;  // of 32 tiles
  options.disk = ".";
  Runtime runtime(options);

  std::vector<Handle> tiles;
  for (std::uint64_t i = 0; i < kTiles; ++i) {
    tiles.push_back(runtime.register_empty(kTile, "tile " + std::to_string(i)));
    runtime.submit({.codelet = &fill_codelet, .operands = {W(tiles[i])}, .parameters = double(i)});
  }
  for (std::uint64_t i = 1; i < kTiles; ++i) {
    runtime.submit({.codelet = &add_codelet, .operands = {R(tiles[i]), RW(tiles[0])}});
  }
  require(runtime.acquire(tiles[0], AccessMode::R).data<double>()[0] == 31 * 32 / 2, "the sum");

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
  Handle head = runtime.register_file({.path = path, .offset = 0}, kTile, "head");  // extends it
  Handle tail = runtime.register_file({.path = path, .offset = kTile.value}, kTile, "tail");
  runtime.submit({.codelet = &fill_codelet, .operands = {W(head)}, .parameters = 1.0});
  runtime.submit({.codelet = &fill_codelet, .operands = {W(tail)}, .parameters = 2.0});
  runtime.unregister(head);
  runtime.unregister(tail);  // now both are in the file

  std::ifstream file(path, std::ios::binary);
  std::vector<double> content(2 * kTile.value / sizeof(double));
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(2 * kTile.value));
  require(file.good() && content.front() == 1 && content.back() == 2, "the file holds both");
  std::remove(path.c_str());
}

void says_early_what_cannot_fit() {
  Options options;
  options.memory = kTile * 1;
  options.disk = ".";
  Runtime runtime(options);
  Handle a = runtime.register_empty(kTile, "a");
  Handle b = runtime.register_empty(kTile, "b");
  runtime.submit({.codelet = &fill_codelet, .operands = {W(a)}, .parameters = 1.0});
  runtime.submit({.codelet = &fill_codelet, .operands = {W(b)}, .parameters = 1.0});
  bool refused = false;
  try {
    runtime.submit({.codelet = &add_codelet, .operands = {R(a), RW(b)}});  // needs both at once
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
