// Heat in a cube, explicit steps on a grid of kSide^3 points whose boundary is cold. The grid lies in slabs, whose
// neighbours see a plane of each other. It begins with a wave that each step makes smaller by a known factor; the exit
// status is 1 if an element is not what that says.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <span>
#include <utility>
#include <vicinal/slabs.hpp>

using namespace vicinal;

namespace {
constexpr std::size_t kSide = 48;  // points a side
constexpr std::size_t kPlane = kSide * kSide;
constexpr double kPart = 0.1;  // of the difference to a neighbour that goes over in a step
const double kAngle = std::numbers::pi / (kSide + 1);

// At point i of plane z.
double wave(std::size_t z, std::size_t i) {
  const auto along = [](std::size_t at) { return std::sin(kAngle * static_cast<double>(at + 1)); };
  return along(i % kSide) * along(i / kSide % kSide) * along(z + i / kPlane);
}

void copy_ends(std::span<const double> slab, std::span<double> first, std::span<double> last) {
  std::ranges::copy(slab.first(kPlane), first.begin());
  std::ranges::copy(slab.last(kPlane), last.begin());
}

void begin(std::size_t z, std::span<double> slab, std::span<double> first, std::span<double> last) {
  for (std::size_t i = 0; i < slab.size(); ++i) slab[i] = wave(z, i);
  copy_ends(slab, first, last);
}

void step(std::span<const double> before, std::span<const double> old,
          std::span<const double> after, std::span<double> now, std::span<double> first,
          std::span<double> last) {
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::size_t x = i % kSide;
    const std::size_t y = i / kSide % kSide;
    const double sum = (x > 0 ? old[i - 1] : 0) + (x + 1 < kSide ? old[i + 1] : 0) +
                       (y > 0 ? old[i - kSide] : 0) + (y + 1 < kSide ? old[i + kSide] : 0) +
                       (i >= kPlane ? old[i - kPlane] : before[i]) +
                       (i + kPlane < old.size() ? old[i + kPlane] : after[i + kPlane - old.size()]);
    now[i] = old[i] + kPart * (sum - 6 * old[i]);
  }
  copy_ends(now, first, last);
}
}  // namespace

int main() {
  constexpr int kSteps = 12;
  Runtime runtime;
  const SlabShape shape{.planes = kSide, .plane = kPlane, .slab = 6};
  Slabs<double> u(runtime, shape, "u"), v(runtime, shape, "v");
  const auto cold = [](std::span<double> plane) { std::ranges::fill(plane, 0.0); };
  for (const auto edge : {u.before(0), u.after(u.size() - 1), v.before(0), v.after(v.size() - 1)})
    runtime.task("cold", cold, out(edge));
  for (std::size_t i = 0; i < u.size(); ++i)
    runtime.task("begin", begin, u.first_plane(i), out(u(i)), out(u.first(i)), out(u.last(i)));
  const auto work = flops(8.0 * static_cast<double>(shape.slab) * kPlane);
  for (int t = 0; t < kSteps; ++t, std::swap(u, v)) {
    for (std::size_t i = 0; i < u.size(); ++i) {
      runtime.task("stencil", step, in(u.before(i)), in(u(i)), in(u.after(i)), out(v(i)),
                   out(v.first(i)), out(v.last(i)), work);
    }
  }
  runtime.wait();
  if (runtime.simulated()) return 0;
  const double factor = std::pow(1 + kPart * 6 * (std::cos(kAngle) - 1), kSteps);
  double worst = 0;
  for (std::size_t s = 0; s < u.size(); ++s) {
    const auto slab = runtime.read(u(s));
    for (std::size_t i = 0; i < slab.size(); ++i)
      worst = std::max(worst, std::abs(slab[i] - factor * wave(u.first_plane(s), i)));
  }
  std::printf("%d steps, largest error %.2g\n", kSteps, worst);
  return worst < 1e-12 ? 0 : 1;
}
