// k-means: points in blocks, which need nothing of each other. Each block adds its points to sums by cluster, in copies of
// its own worker, and the centres of the next round are the means. The exit status is 1 if a centre is not what a loop finds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <span>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {
constexpr std::size_t kClusters = 8, kBlocks = 16, kPoints = 4096;  // points of a block
constexpr int kRounds = 6;

struct Point {
  double x, y, weight;
  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y, a.weight + b.weight}; }
};

// Around the corners of an octagon.
void make(std::size_t block, std::span<Point> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double number = static_cast<double>(block * points.size() + i);
    const double corner = 0.785398 * static_cast<double>(i % kClusters);
    points[i] = {10 * std::cos(corner) + 3 * std::sin(number),
                 10 * std::sin(corner) + 3 * std::cos(7 * number), 1};
  }
}

void assign(std::span<const Point> points, std::span<const Point> centres, std::span<Point> sums) {
  for (const Point& p : points) {
    const auto is_nearer = [&](const Point& a, const Point& b) {
      return std::hypot(a.x - p.x, a.y - p.y) < std::hypot(b.x - p.x, b.y - p.y);
    };
    Point& sum = sums[std::ranges::min_element(centres, is_nearer) - centres.begin()];
    sum = sum + p;
  }
}

void move(std::span<Point> sums, std::span<Point> centres) {
  for (std::size_t c = 0; c < sums.size(); ++c) {
    if (sums[c].weight > 0)
      centres[c] = {sums[c].x / sums[c].weight, sums[c].y / sums[c].weight, 1};
    sums[c] = {};
  }
}
}  // namespace

int main() {
  Runtime runtime;
  std::vector<Data<Point>> blocks;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    blocks.push_back(runtime.data<Point>(kPoints, "points " + std::to_string(b)));
    runtime.task("make", make, b, out(blocks[b]));
  }
  const auto centres = runtime.data<Point>(kClusters, "centres");
  const auto sums = runtime.data<Point>(kClusters, "sums");
  runtime.set_reduction(
      sums, [] { return Point{}; }, std::plus<>());
  runtime.task("start", make, std::size_t{0}, out(centres));
  runtime.task(
      "zero", [](auto to) { std::ranges::fill(to, Point{}); }, out(sums));
  const auto work = flops(10.0 * kPoints * kClusters);
  for (int round = 0; round < kRounds; ++round) {
    for (const auto block : blocks)
      runtime.task("assign", assign, in(block), in(centres), reduce(sums), work);
    runtime.task("move", move, inout(sums), inout(centres));
  }
  runtime.wait();
  if (runtime.simulated()) return 0;
  std::vector<Point> points(kPoints), right(kClusters), sums_of_loop(kClusters);
  make(0, right);
  for (int round = 0; round < kRounds; ++round, move(sums_of_loop, right)) {
    for (std::size_t b = 0; b < kBlocks; ++b) make(b, points), assign(points, right, sums_of_loop);
  }
  const auto is_same = [](Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y) < 1e-9; };
  return std::ranges::equal(runtime.read(centres), right, is_same) ? 0 : 1;
}
