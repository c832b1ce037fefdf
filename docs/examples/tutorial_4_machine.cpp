// Tutorial, step 4: the same tasks on a machine that is not there: one to four V100, each with 1 GiB for the data.
//
//   tutorial_4_machine      prints a row for each policy and number of GPUs: simulated seconds, bytes loaded into the GPUs

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {

constexpr std::uint64_t kTiles = 8;  // a side
constexpr std::uint64_t kTile = 2048;
constexpr Bytes kTileBytes{kTile * kTile * sizeof(double)};

// No kernel runs. 7 TFlop/s is what the vendor gives for a V100 in double precision.
constexpr Time kMultiply = Time::from_seconds(2.0 * kTile * kTile * kTile / 7e12);
const Codelet multiply = [] {
  Codelet codelet{.name = "multiply"};
  codelet.expected[static_cast<std::size_t>(ProcessorKind::gpu)] = kMultiply;
  return codelet;
}();

struct Played {
  Time time;
  Bytes loaded;
};

Played run(const char* policy, std::uint32_t gpus) {
  Runtime runtime(read_machine("v100", {.gpus = gpus, .cpu_workers = 0, .gpu_memory = 1_GiB}),
                  {.policy = policy});
  const auto matrix = [&](const std::string& name) {
    std::vector<Handle> tiles;
    for (std::uint64_t i = 0; i < kTiles * kTiles; ++i) {
      tiles.push_back(runtime.register_simulated(kTileBytes, kRam, name));
    }
    return tiles;
  };
  const std::vector<Handle> a = matrix("A");
  const std::vector<Handle> b = matrix("B");
  const std::vector<Handle> c = matrix("C");

  for (std::uint64_t j = 0; j < kTiles; ++j) {
    for (std::uint64_t i = 0; i < kTiles; ++i) {
      for (std::uint64_t k = 0; k < kTiles; ++k) {
        runtime.submit(
            {.codelet = &multiply,
             .operands = {R(a[i + k * kTiles]), R(b[k + j * kTiles]), RW(c[i + j * kTiles])}});
      }
    }
  }
  runtime.wait();

  const Statistics statistics = runtime.statistics();
  Played played{.time = statistics.now, .loaded = {}};
  for (std::size_t node = 1; node < statistics.nodes.size(); ++node) {
    played.loaded += statistics.nodes[node].bytes_in;
  }
  return played;
}

}  // namespace

int main() {
  std::printf("policy,gpus,seconds,bytes,work_seconds\n");
  for (const char* policy : {"eager", "lws", "dmdas", "darts"}) {
    for (std::uint32_t gpus = 1; gpus <= 4; ++gpus) {
      const Played played = run(policy, gpus);
      // No schedule is faster than the work, shared evenly.
      const double work = kMultiply.seconds() * kTiles * kTiles * kTiles / gpus;
      const double seconds = played.time.seconds();
      std::printf("%s,%u,%.4f,%llu,%.4f\n", policy, gpus, seconds,
                  static_cast<unsigned long long>(played.loaded.value), work);
      if (seconds < work) return 1;
    }
  }
  return 0;
}
