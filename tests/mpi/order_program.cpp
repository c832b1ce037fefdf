// For tests/mpi/order.py: in each round rank 0 writes a version, and all other ranks read it, with priorities that change from round
// to round: the reader on rank r of round i has the priority (r + i) modulo (ranks - 1). Rounds do not overlap. All ranks have submitted
// the whole round when rank 0 writes. Before, two versions of so many bytes go to rank 1, which keep the network busy; 0: none.
//
//   order_program <tree> <bytes> <rounds> <bytes before>
//
// Data are named "x0", "x1", ..., readers "look <round> <rank>". Each rank prints "forwarded <rank> <bytes>, ".
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "vicinal/runtime.hpp"

namespace {

using vicinal::Bytes;
using vicinal::Handle;
using vicinal::Operand;
using vicinal::R;
using vicinal::RankId;
using vicinal::W;

// When all of the round has been submitted here. Single bytes are there for their order alone.
const vicinal::Codelet kWrite{.name = "write", .cpu = [](vicinal::KernelContext& k) {
                                k.parameter<std::atomic<bool>*>()->wait(false);
                                for (std::size_t i = 0; i < k.operands(); ++i) {
                                  const std::uint64_t bytes = k.operand(i).layout.bytes().value;
                                  if (bytes > 1) std::memset(k.data<std::byte>(i), 1, bytes);
                                }
                              }};
const vicinal::Codelet kLook{.name = "look", .cpu = [](vicinal::KernelContext& k) {
                               k.data<std::byte>(0)[0] = k.data<std::byte>(1)[0];
                             }};

void run(const std::string& tree, Bytes bytes, std::uint32_t rounds, Bytes before) {
  vicinal::Options options = vicinal::Options::from_environment();
  options.workers = 1;
  options.bind = false;
  options.submitter_works = false;
  options.models = "none";
  options.broadcast = tree;
  const vicinal::Ranks ranks = vicinal::Ranks::launched(options);
  vicinal::Runtime runtime(options, ranks);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::atomic<bool> is_open{false};
    std::vector<Operand> first;
    for (int i = 0; before.value > 0 && i < 2; ++i)
      first.push_back(W(runtime.register_empty(RankId{0}, before, "before")));
    const std::vector<Operand> kept = first;
    first.push_back(W(runtime.register_empty(RankId{0}, Bytes{1}, "begun")));
    for (std::uint32_t rank = 1; rank < ranks.count(); ++rank) {
      const Handle ready = runtime.register_empty(RankId{rank}, Bytes{1}, "ready");
      runtime.submit({.codelet = &kWrite, .operands = {W(ready)}, .parameters = &is_open});
      first.push_back(R(ready));
    }
    runtime.submit({.codelet = &kWrite, .operands = first, .parameters = &is_open});
    for (const Operand& one : kept) {
      const Handle seen = runtime.register_empty(RankId{1}, Bytes{1}, "seen");
      runtime.submit({.codelet = &kLook, .operands = {W(seen), R(one.handle)}});
    }
    const Handle x = runtime.register_empty(RankId{0}, bytes, "x" + std::to_string(round));
    runtime.submit({.codelet = &kWrite,
                    .operands = {W(x), R(first[kept.size()].handle)},
                    .parameters = &is_open});
    for (std::uint32_t rank = 1; rank < ranks.count(); ++rank) {
      const Handle seen = runtime.register_empty(RankId{rank}, Bytes{1}, "seen");
      runtime.submit({.codelet = &kLook,
                      .operands = {W(seen), R(x)},
                      .priority = static_cast<int>((rank + round) % (ranks.count() - 1)),
                      .name = "look " + std::to_string(round) + " " + std::to_string(rank)});
    }
    is_open = true;
    is_open.notify_all();
    runtime.wait();
  }
  std::printf("forwarded %u %llu, \n", ranks.rank().value,
              static_cast<unsigned long long>(runtime.statistics().forwarded.value));
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count != 5) throw std::invalid_argument("usage: order_program TREE BYTES ROUNDS BEFORE");
    run(arguments[1], Bytes{std::stoull(arguments[2])},
        static_cast<std::uint32_t>(std::stoul(arguments[3])), Bytes{std::stoull(arguments[4])});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
