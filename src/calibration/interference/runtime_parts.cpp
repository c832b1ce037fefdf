#include "calibration/interference/runtime_parts.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "comm/local/local_world.hpp"
#include "comm/progress_thread.hpp"
#include "drivers/clock.hpp"
#include "runtime/ranks.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::interference {

namespace {

Options plain_options(std::uint32_t workers) {
  Options options;
  options.workers = workers;
  options.policy = "lws";
  options.models = "none";
  return options;
}

// The order of the conditions changes from round to round, see Rounds.
void in_turn(Rounds& rounds, std::uint32_t count, const std::function<double()>& alone,
             const std::function<double()>& beside) {
  for (std::uint32_t round = 0; round < count; ++round) {
    for (const bool again : {false, true}) {
      for (const bool first : {true, false}) {
        const bool is_alone = first == (round % 2 == 0);
        const double seconds = is_alone ? alone() : beside();
        (is_alone ? again ? rounds.alone_again : rounds.alone
         : again  ? rounds.beside_again
                  : rounds.beside)
            .push_back(seconds);
      }
    }
  }
}

Codelet short_codelet() {
  return {.name = "short", .cpu = [](KernelContext&) {
            const Time end = drivers::monotonic_now() + Time{5'000};
            while (drivers::monotonic_now() < end) {
            }
          }};
}

double seconds_per_task(const Options& options) {
  constexpr int kTasks = 1000;
  const Codelet codelet = short_codelet();  // outlives the tasks
  Runtime runtime(options);
  const Time begin = drivers::monotonic_now();
  for (int i = 0; i < kTasks; ++i) runtime.submit({.codelet = &codelet});
  runtime.wait();
  return (drivers::monotonic_now() - begin).seconds() / kTasks;
}

// --- Two ranks of this process ---------------------------------------------------------------------

constexpr int kMessages = 40;

class Arrivals final : public comm::TransportEvents {
 public:
  int count = 0;

 private:
  void message_arrived(RankId /*from*/, std::span<const std::byte> /*bytes*/) override { ++count; }
  void payload_ended(comm::PayloadId /*payload*/) override {}
  void rank_lost(RankId /*rank*/, const std::string& /*why*/) override {}
};

// To the other rank and back, by transports alone; seconds of one way.
double by_transport() {
  comm::LocalWorld world(2);
  const auto exchange = [&](std::uint32_t rank) {
    const auto transport = world.transport(RankId{rank});
    Arrivals arrivals;
    const std::array<std::byte, 4> bytes{};
    for (int i = 0; i < kMessages; ++i) {
      if (rank == 0) transport->post_message(RankId{1}, bytes);
      while (arrivals.count <= i) {
        if (!transport->poll(arrivals)) std::this_thread::yield();
      }
      if (rank == 1) transport->post_message(RankId{0}, bytes);
    }
  };
  std::thread other([&] { exchange(1); });
  const Time begin = drivers::monotonic_now();
  exchange(0);
  const double seconds = (drivers::monotonic_now() - begin).seconds();
  other.join();
  return seconds / (2 * kMessages);
}

Codelet touch_codelet() {
  return {.name = "touch", .cpu = [](KernelContext& k) { *k.data<float>(0) = 1; }};
}

// The same by tasks of the two ranks in turn, each of which writes what the other has written.
double by_runtime() {
  comm::LocalWorld world(2);
  const Codelet codelet = touch_codelet();
  double seconds = 0;
  const auto run = [&](std::uint32_t rank) {
    const auto impl =
        std::make_shared<internals::RanksImpl>([&] { return world.transport(RankId{rank}); });
    Runtime runtime(plain_options(1), internals::RanksOpener::make(impl));
    const Handle datum = runtime.register_empty(RankId{0}, Bytes{4}, "message");
    runtime.submit({.codelet = &codelet, .operands = {W(datum)}});
    runtime.wait();
    const Time begin = drivers::monotonic_now();
    for (int i = 0; i < kMessages; ++i) {
      for (const std::uint32_t at : {1U, 0U}) {
        runtime.submit({.codelet = &codelet, .operands = {RW(datum)}, .rank = RankId{at}});
      }
    }
    runtime.wait();
    if (rank == 0) seconds = (drivers::monotonic_now() - begin).seconds();
    runtime.unregister(datum);
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  return seconds / (2 * kMessages);
}

}  // namespace

Presence idle_workers(std::uint32_t workers) {
  const auto runtime = std::make_shared<std::optional<Runtime>>();
  return {.begin = [runtime, workers] { runtime->emplace(plain_options(workers)); },
          .end = [runtime] { runtime->reset(); }};
}

Presence idle_progress_thread() {
  struct Alone {
    comm::LocalWorld world{1};
    std::optional<comm::ProgressThread> thread;
  };
  const auto alone = std::make_shared<std::unique_ptr<Alone>>();
  return {.begin =
              [alone] {
                *alone = std::make_unique<Alone>();
                comm::LocalWorld& world = (*alone)->world;
                (*alone)->thread.emplace([&world] { return world.transport(RankId{0}); });
              },
          .end = [alone] { alone->reset(); }};
}

Rounds tasks_with_recording(std::uint32_t workers, std::uint32_t rounds) {
  Options recorded = plain_options(workers);
  recorded.trace = (std::filesystem::temp_directory_path() /
                    fmt::format("vicinal-interference-{}.vtrace", ::getpid()))
                       .string();
  Rounds result;
  in_turn(
      result, rounds, [&] { return seconds_per_task(plain_options(workers)); },
      [&] { return seconds_per_task(recorded); });
  std::error_code error;
  std::filesystem::remove(recorded.trace, error);
  return result;
}

Rounds messages_with_layers(std::uint32_t rounds) {
  Rounds result;
  in_turn(result, rounds, by_transport, by_runtime);
  return result;
}

}  // namespace vicinal::interference
