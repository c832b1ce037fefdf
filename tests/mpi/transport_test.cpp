// The transport over MPI, as the library loads it: each rank of `mpirun -n N mpi_transport MODE` checks what it gets, and
// exits with 1 where that is wrong.
//
//   order      messages of all sizes arrive in order
//   payloads   all to all, many channels, all layouts, no bytes; PIECE bytes at a time if given
//   thousands  of payloads under way at once
//   large      2^31 + 8 bytes, and as many in columns; 77 where there is no memory for it (needs 2 ranks)
//   cancel     what never comes is given up, and the end does not wait for it
//   silent     a rank that is stopped is not waited for
//   twice      MPI begins once in a process
//   error      prints why there is no transport
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "comm/launch.hpp"
#include "vicinal/options.hpp"

namespace {

using vicinal::Layout;
using vicinal::RankId;
using vicinal::comm::Channel;
using vicinal::comm::kChannels;
using vicinal::comm::kMostMessage;
using vicinal::comm::PayloadId;
using vicinal::comm::Transport;

constexpr std::uint64_t kSeed = 20261127;

enum class Kind : std::uint32_t { numbered, ready, barrier };
struct Header {
  Kind kind = Kind::numbered;
  std::uint32_t channel = 0;
  std::uint64_t number = 0;
};

std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::byte content(std::uint64_t seed, std::uint64_t at) {
  return static_cast<std::byte>(mixed(seed + at / 8) >> (at % 8 * 8));
}

class Rank final : public vicinal::comm::TransportEvents {
 public:
  explicit Rank(Transport& transport)
      : transport_(transport), numbers_(transport.ranks()), barriers_(transport.ranks()) {}

  void message_arrived(RankId from, std::span<const std::byte> bytes) override {
    Header header;
    if (bytes.size() < sizeof header) {
      ++short_messages;
      return;
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    for (std::size_t at = sizeof header; at < bytes.size(); ++at) {
      if (bytes[at] != content(header.number, at)) {
        fail(fmt::format("message {} of rank {}: byte {} differs", header.number, from.value, at));
      }
    }
    switch (header.kind) {
      case Kind::numbered:
        if (header.number != numbers_[from.value]++) {
          fail(fmt::format("message {} of rank {} comes in place of {}", header.number, from.value,
                           numbers_[from.value] - 1));
        }
        ++numbered;
        break;
      case Kind::ready:
        on_ready(from, header);
        break;
      case Kind::barrier:
        ++barriers_[from.value];
        break;
    }
  }
  void payload_ended(PayloadId payload) override {
    if (!on_ended(payload)) fail(fmt::format("payload {} ends, but is not there", payload.value));
  }
  void rank_lost(RankId rank, const std::string& why) override {
    fail(fmt::format("rank {} is lost: {}", rank.value, why));
  }

  void post(RankId to, const Header& header, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t at = 0; at < size; ++at) bytes[at] = content(header.number, at);
    std::memcpy(bytes.data(), &header, std::min(size, sizeof header));
    transport_.post_message(to, bytes);
  }
  void wait(const std::function<bool()>& until) {
    while (!until()) {
      if (!transport_.poll(*this)) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  void barrier() {
    ++barrier_;
    for (std::uint32_t to = 0; to < transport_.ranks(); ++to) {
      post(RankId{to}, {.kind = Kind::barrier}, sizeof(Header));
    }
    wait([this] { return *std::min_element(barriers_.begin(), barriers_.end()) >= barrier_; });
  }
  [[noreturn]] void fail(const std::string& why) {
    std::printf("rank %u of %u: %s (seed %llu)\n", transport_.rank().value, transport_.ranks(),
                why.c_str(), static_cast<unsigned long long>(kSeed));
    std::fflush(stdout);
    ::_exit(1);
  }

  std::function<void(RankId, const Header&)> on_ready = [](RankId, const Header&) {};
  std::function<bool(PayloadId)> on_ended = [](PayloadId) { return false; };
  std::uint64_t numbered = 0;
  std::uint64_t short_messages = 0;

 private:
  Transport& transport_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::uint64_t> barriers_;
  std::uint64_t barrier_ = 0;
};

void order(Transport& transport, Rank& rank) {
  constexpr std::uint64_t kMessages = 1000;
  const std::uint32_t ranks = transport.ranks();
  std::mt19937_64 random(kSeed + transport.rank().value);
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      const std::size_t size =
          random() % 2 == 0 ? sizeof(Header)
                            : sizeof(Header) + random() % (kMostMessage - sizeof(Header) + 1);
      rank.post(RankId{to}, {.number = number}, size);
    }
  }
  for (std::uint32_t to = 0; to < ranks; ++to) transport.post_message(RankId{to}, {});
  rank.wait([&] { return rank.numbered == kMessages * ranks && rank.short_messages == ranks; });
}

// Memory of a layout, with what is to be in it.
class Block {
 public:
  Block(const Layout& layout, std::uint64_t seed)
      : layout_(layout), seed_(seed), bytes_(layout.span().value, kGap) {}
  void fill() {
    each([&](std::byte& byte, std::uint64_t at) { byte = content(seed_, at); });
  }
  // The first byte that is wrong; -1: none.
  std::int64_t wrong() {
    std::int64_t found = -1;
    std::vector<bool> in_column(bytes_.size());
    each([&](std::byte& byte, std::uint64_t at) {
      in_column[static_cast<std::size_t>(&byte - bytes_.data())] = true;
      if (byte != content(seed_, at) && found < 0) found = &byte - bytes_.data();
    });
    for (std::size_t at = 0; at < bytes_.size() && found < 0; ++at) {
      if (!in_column[at] && bytes_[at] != kGap) found = static_cast<std::int64_t>(at);
    }
    return found;
  }
  std::byte* data() { return bytes_.data(); }
  const Layout& layout() const { return layout_; }

 private:
  static constexpr std::byte kGap{0xa5};
  void each(const std::function<void(std::byte&, std::uint64_t)>& visit) {
    for (std::uint64_t column = 0; column < layout_.columns; ++column) {
      for (std::uint64_t row = 0; row < layout_.column_bytes; ++row) {
        visit(bytes_[column * layout_.stride_bytes + row], column * layout_.column_bytes + row);
      }
    }
  }
  Layout layout_;
  std::uint64_t seed_;
  std::vector<std::byte> bytes_;
};

// Both ends know what is sent by rank `from` to rank `to` on a channel, and have layouts of their own.
std::uint64_t seed_of(std::uint32_t from, std::uint32_t to, std::uint64_t number) {
  return mixed(kSeed + mixed((std::uint64_t{from} << 32 | to) + mixed(number)));
}

Layout layout_of(std::uint64_t seed, bool at_receiver, std::uint64_t most) {
  std::mt19937_64 random(seed);
  const std::uint64_t bytes = random() % 8 == 0 ? 0 : random() % (most + 1);
  random.discard(at_receiver ? 2 : 1);
  const std::uint64_t columns = random() % 3 == 0 ? 1 : 1 + random() % 16;
  if (bytes == 0) return {.column_bytes = random() % 2 * 8, .columns = 0, .stride_bytes = 8};
  if (bytes % columns != 0) return {.column_bytes = bytes, .stride_bytes = bytes};
  const std::uint64_t column = bytes / columns;
  return {.column_bytes = column,
          .columns = columns,
          .stride_bytes = column + (random() % 4 == 0 ? 0 : random() % 64)};
}

void payloads(Transport& transport, Rank& rank, std::size_t count, std::uint64_t most) {
  const std::uint32_t ranks = transport.ranks();
  const std::uint32_t here = transport.rank().value;
  std::map<std::uint64_t, std::unique_ptr<Block>> sent;
  std::map<std::uint64_t, std::unique_ptr<Block>> received;
  std::uint64_t next = 0;
  const auto channel_of = [&](std::uint64_t number) {
    return Channel{static_cast<std::uint16_t>(number % 2 == 0 ? number : kChannels - number)};
  };
  rank.on_ready = [&](RankId to, const Header& header) {
    const std::uint64_t seed = seed_of(here, to.value, header.number);
    const std::uint64_t payload = next++;
    Block& block = *(sent[payload] = std::make_unique<Block>(layout_of(seed, false, most), seed));
    block.fill();
    transport.post_send(to, Channel{static_cast<std::uint16_t>(header.channel)}, block.data(),
                        block.layout(), PayloadId{payload});
  };
  std::size_t ended = 0;
  std::size_t to_come = count * ranks;
  rank.on_ended = [&](PayloadId payload) {
    if (sent.erase(payload.value) != 0) return true;
    const auto found = received.find(payload.value);
    if (found == received.end()) return false;
    if (const auto at = found->second->wrong(); at >= 0) {
      rank.fail(fmt::format("payload {}: byte {} is wrong", payload.value, at));
    }
    received.erase(found);
    ++ended;
    return true;
  };
  rank.barrier();
  for (std::uint64_t number = 0; number < count; ++number) {
    for (std::uint32_t from = 0; from < ranks; ++from) {
      const std::uint64_t seed = seed_of(from, here, number);
      const std::uint64_t payload = next++;
      Block& block =
          *(received[payload] = std::make_unique<Block>(layout_of(seed, true, most), seed));
      const Channel channel = channel_of(number);
      transport.post_receive(RankId{from}, channel, block.data(), block.layout(),
                             PayloadId{payload});
      rank.post(RankId{from}, {.kind = Kind::ready, .channel = channel.value, .number = number},
                sizeof(Header));
    }
  }
  rank.wait([&] { return ended == to_come; });
  rank.barrier();
  rank.wait([&] { return sent.empty(); });
  rank.barrier();
}

std::uint64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  for (std::string unit; file >> name >> kib; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kib << 10;
  }
  return 0;
}

int large(Transport& transport, Rank& rank) {
  constexpr std::uint64_t kBytes = (std::uint64_t{1} << 31) + 8;
  constexpr std::uint64_t kStep = 4099;  // bytes that are looked at; no multiple of a page
  const bool skip = free_memory() < std::uint64_t{6} << 30;
  // Both must do the same: rank 0 says what.
  bool skipped = skip;
  bool told = transport.rank().value == 0;
  rank.on_ready = [&](RankId, const Header& header) {
    skipped = header.number != 0;
    told = true;
  };
  if (transport.rank().value == 0) {
    rank.post(RankId{1}, {.kind = Kind::ready, .number = skip ? 1U : 0U}, sizeof(Header));
  }
  rank.wait([&] { return told; });
  if (skipped) return 77;
  const std::unique_ptr<std::byte[]> bytes(new std::byte[kBytes + 8]);
  for (const bool columns : {false, true}) {
    // Two columns of more than 2^30 bytes: pieces begin within them.
    const Layout layout =
        columns ? Layout{kBytes / 2, 2, kBytes / 2 + 8} : Layout{kBytes, 1, kBytes};
    const auto address = [&](std::uint64_t at) {
      return at / layout.column_bytes * layout.stride_bytes + at % layout.column_bytes;
    };
    bool ended = false;
    rank.on_ended = [&](PayloadId payload) { return payload.value == 1 && (ended = true); };
    const std::uint64_t seed = columns ? 2 : 1;
    if (transport.rank().value == 0) {
      for (std::uint64_t at = 0; at < kBytes; at += kStep) bytes[address(at)] = content(seed, at);
      bytes[address(kBytes - 1)] = content(seed, kBytes - 1);
      rank.barrier();
      transport.post_send(RankId{1}, Channel{5}, bytes.get(), layout, PayloadId{1});
    } else {
      transport.post_receive(RankId{0}, Channel{5}, bytes.get(), layout, PayloadId{1});
      rank.barrier();
    }
    rank.wait([&] { return ended; });
    for (std::uint64_t at = 0; at < kBytes; at += kStep) {
      if (bytes[address(at)] != content(seed, at)) rank.fail(fmt::format("byte {} differs", at));
    }
    if (bytes[address(kBytes - 1)] != content(seed, kBytes - 1)) rank.fail("the last byte differs");
    rank.barrier();
  }
  return 0;
}

void cancel(Transport& transport, Rank& rank) {
  const std::uint32_t ranks = transport.ranks();
  std::vector<std::byte> never(1 << 20);
  std::vector<std::byte> unasked(1 << 20);
  std::vector<std::vector<std::byte>> late(ranks, never);
  rank.on_ended = [](PayloadId payload) { return payload.value != 1; };
  const Layout layout{never.size(), 1, never.size()};
  rank.barrier();
  for (std::uint32_t other = 0; other < ranks; ++other) {
    if (other == transport.rank().value) continue;
    transport.post_receive(RankId{other}, Channel{1}, never.data(), layout, PayloadId{1});
    transport.post_receive(RankId{other}, Channel{2}, late[other].data(), layout, PayloadId{2});
  }
  rank.barrier();
  // Some have given up what others send to them only then.
  if (transport.rank().value % 2 == 0) transport.cancel();
  for (std::uint32_t other = 0; other < ranks; ++other) {
    if (other == transport.rank().value) continue;
    transport.post_send(RankId{other}, Channel{2}, unasked.data(), layout, PayloadId{3});
  }
  for (int i = 0; i < 100; ++i) transport.poll(rank);
  transport.cancel();
  // Messages still go.
  rank.barrier();
}

// The last rank stops while it sends to rank 0: the others do not wait for it, and rank 0 kills it.
[[noreturn]] void silent(std::unique_ptr<Transport> transport, Rank& rank) {
  const std::uint32_t here = transport->rank().value;
  std::vector<std::byte> bytes(64 << 20);
  const Layout layout{bytes.size(), 1, bytes.size()};
  ::pid_t stopped = 0;
  rank.on_ready = [&](RankId, const Header& header) {
    stopped = static_cast<::pid_t>(header.number);
  };
  rank.on_ended = [](PayloadId) { return true; };
  if (here + 1 == transport->ranks()) {
    rank.post(RankId{0}, {.kind = Kind::ready, .number = static_cast<std::uint64_t>(::getpid())},
              sizeof(Header));
    rank.barrier();
    transport->post_send(RankId{0}, Channel{0}, bytes.data(), layout, PayloadId{0});
    for (int i = 0; i < 10; ++i) transport->poll(rank);
    static_cast<void>(std::raise(SIGSTOP));
    std::abort();
  }
  if (here == 0) {
    transport->post_receive(RankId{here + transport->ranks() - 1}, Channel{0}, bytes.data(), layout,
                            PayloadId{0});
  }
  rank.barrier();
  for (int i = 0; i < 100; ++i) {
    transport->poll(rank);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (here == 0) transport->cancel();
  transport.reset();
  if (here != 0) {  // until the launcher ends it with the others
    std::this_thread::sleep_for(std::chrono::seconds(20));
    ::_exit(1);
  }
  std::puts("ended without the silent rank");
  std::fflush(stdout);
  ::kill(stopped, SIGKILL);
  ::_exit(0);
}

void expect_refusal(const vicinal::comm::Launch& launch, const std::string& part) {
  try {
    make_transport(launch);
  } catch (const std::exception& error) {
    if (std::string(error.what()).find(part) != std::string::npos) return;
    throw;
  }
  throw std::runtime_error("a second transport was made");
}

int run(const std::string& mode, std::uint64_t piece) {
  vicinal::comm::MpiSettings settings;
  if (piece != 0) settings.piece_bytes = piece;
  if (mode == "silent") settings.ending_seconds = 0.5;
  const auto launch = vicinal::comm::find_launch(vicinal::Options::from_environment().mpi);
  if (launch.mpi == vicinal::comm::Mpi::none) {
    std::puts("no launcher has started this");
    return 1;
  }
  auto transport = make_transport(launch, settings);
  if (launch.ranks != 0 &&
      (launch.ranks != transport->ranks() || launch.rank != transport->rank().value)) {
    std::puts("MPI knows another rank than the launcher");
    return 1;
  }
  Rank rank(*transport);
  int status = 0;
  if (mode == "order") order(*transport, rank);
  if (mode == "payloads") payloads(*transport, rank, 24, 200'000);
  if (mode == "pieces") payloads(*transport, rank, 24, 5'000);
  if (mode == "thousands") payloads(*transport, rank, 6000 / transport->ranks(), 2000);
  if (mode == "large") status = large(*transport, rank);
  if (mode == "cancel") cancel(*transport, rank);
  if (mode == "silent") silent(std::move(transport), rank);
  const std::uint32_t number = transport->rank().value;
  if (mode == "twice") {
    expect_refusal(launch, "already");
    transport.reset();
    expect_refusal(launch, "has ended");
  }
  transport.reset();
  if (number == 0) std::printf("%s: %s\n", mode.c_str(), status == 77 ? "skipped" : "right");
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "order", argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);
  } catch (const std::exception& error) {
    std::printf("error: %s\n", error.what());
    return 3;
  }
}
