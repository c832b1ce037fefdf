// Heat that spreads in a rod: each point becomes the mean of itself and its neighbours. The rod lies in blocks, so
// that a block's next step begins as soon as its neighbours have done theirs. On several ranks (mpirun -n 4 stencil) each
// has blocks next to each other, and the blocks at its ends go to the ranks beside it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {

constexpr std::size_t kBlocks = 16;
constexpr std::size_t kPoints = 1000;  // of a block
constexpr int kSteps = 50;

double mean(double left, double here, double right) {
  return (left + here + right) / 3;
}

void step(std::span<const double> left, std::span<const double> here, std::span<const double> right,
          std::span<double> next) {
  const std::size_t last = here.size() - 1;
  next[0] = mean(left.back(), here[0], here[1]);
  for (std::size_t i = 1; i < last; ++i) next[i] = mean(here[i - 1], here[i], here[i + 1]);
  next[last] = mean(here[last - 1], here[last], right.front());
}

std::vector<double> in_tasks(const std::vector<double>& rod) {
  const Options options = Options::from_environment();
  const Ranks ranks = Ranks::launched(options);
  Runtime runtime(options, ranks);
  std::vector<Data<double>> now;
  std::vector<Data<double>> next;
  for (std::size_t i = 0; i < kBlocks; ++i) {  // neighbours share a rank
    const RankId owner{static_cast<std::uint32_t>(i * ranks.count() / kBlocks)};
    now.push_back(runtime.data<double>(owner, kPoints));
    next.push_back(runtime.data<double>(owner, kPoints));
    const auto begin = [from = std::span(rod).subspan(i * kPoints, kPoints)](std::span<double> to) {
      std::ranges::copy(from, to.begin());
    };
    runtime.task("begin", begin, out(now[i]));
  }
  for (int n = 0; n < kSteps; ++n, std::swap(now, next)) {
    for (std::size_t i = 0; i < kBlocks; ++i) {  // the rod is a ring
      runtime.task("step", step, in(now[(i + kBlocks - 1) % kBlocks]), in(now[i]),
                   in(now[(i + 1) % kBlocks]), out(next[i]));
    }
  }
  std::vector<double> result;
  for (const Data<double> block : now) {
    const auto points = runtime.read(block);  // waits, and each rank gets a copy
    result.insert(result.end(), points.begin(), points.end());
  }
  return result;
}

std::vector<double> serially(std::vector<double> rod) {
  std::vector<double> next(rod.size());
  for (int n = 0; n < kSteps; ++n, std::swap(rod, next)) {
    for (std::size_t i = 0; i < rod.size(); ++i) {
      next[i] = mean(rod[(i + rod.size() - 1) % rod.size()], rod[i], rod[(i + 1) % rod.size()]);
    }
  }
  return rod;
}

}  // namespace

int main() {
  std::vector<double> rod(kBlocks * kPoints);
  rod[rod.size() / 2] = 1000;
  return in_tasks(rod) == serially(rod) ? 0 : 1;
}
