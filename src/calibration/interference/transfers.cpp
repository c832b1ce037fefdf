#include "calibration/interference/transfers.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "calibration/interference/kernels.hpp"
#include "comm/poll_pace.hpp"
#include "comm/transport.hpp"
#include "drivers/clock.hpp"
#include "vicinal/error.hpp"

namespace vicinal::interference {

namespace {

constexpr std::uint64_t kBuffers = 32 << 20;  // that copies of any size go through

Layout packed_layout(std::uint64_t bytes) {
  return {.column_bytes = bytes, .stride_bytes = bytes};
}

class File {
 public:
  explicit File(const std::string& folder) : path_(folder + "/vicinal-interference-XXXXXX") {
    descriptor_ = ::mkstemp(path_.data());
    if (descriptor_ < 0) {
      throw DeviceError(fmt::format("cannot write into {}: {}; name another folder", folder,
                                    std::strerror(errno)));
    }
    ::unlink(path_.c_str());
    ::fcntl(descriptor_, F_SETFL,
            O_DIRECT);  // refused by some file systems: their cache is measured
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void copy(std::byte* memory, std::uint64_t bytes) const {
    const auto length = static_cast<ssize_t>(bytes);
    if (::pwrite(descriptor_, memory, bytes, 0) != length ||
        ::pread(descriptor_, memory, bytes, 0) != length) {
      throw DeviceError(fmt::format("{}: {}; give it room", path_, std::strerror(errno)));
    }
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

// --- Between ranks ---------------------------------------------------------------------------------

// `ready`: the receive of a payload is posted.
enum class Order : std::uint8_t { ping, payload, ready, over };
struct Message {
  Order order = Order::ping;
  std::uint64_t bytes = 0;
};
constexpr RankId kFirst{0};
constexpr RankId kOther{1};
constexpr comm::Channel kThere{0};
constexpr comm::Channel kBack{1};
constexpr std::uint64_t kSent = 1;
constexpr std::uint64_t kReceived = 2;

// One side of the messages: what has come is kept until it is asked for.
class Side final : public comm::TransportEvents {
 public:
  Side(comm::Transport& transport, RankId other) : transport_(transport), other_(other) {}

  // A ping is as long as its bytes; anything else is a Message.
  void post(const Message& message) {
    std::byte bytes[kSmallBytes] = {};
    std::memcpy(bytes, &message.order, sizeof message.order);
    std::memcpy(bytes + 1, &message.bytes, sizeof message.bytes);
    const std::uint64_t length =
        message.order == Order::ping ? std::max<std::uint64_t>(message.bytes, 1) : 9;
    transport_.post_message(other_, {bytes, length});
  }
  void send(comm::Channel channel, const std::byte* from, std::uint64_t bytes) {
    transport_.post_send(other_, channel, from, packed_layout(bytes), payload_id(kSent));
  }
  void receive(comm::Channel channel, std::byte* to, std::uint64_t bytes) {
    transport_.post_receive(other_, channel, to, packed_layout(bytes), payload_id(kReceived));
  }
  // `patient`: nobody waits for the answer, and the core is left to others after a while.
  Message next_message(bool patient = false) {
    wait([&] { return has_message_; }, patient);
    has_message_ = false;
    return message_;
  }
  void await_received() {
    wait([&] { return received_; }, false);
    received_ = false;
  }
  void await_sent() {
    wait([&] { return sent_; }, false);
    sent_ = false;
  }

 private:
  static comm::PayloadId payload_id(std::uint64_t value) { return {value}; }

  template <typename Condition>
  void wait(const Condition& is_so, bool patient) {
    constexpr int kSpins = 2000;
    comm::PollPace pace;
    for (int idle = 0; !is_so();) {
      if (transport_.poll(*this)) {
        idle = 0;
        pace.traffic();
      } else if (patient && ++idle > kSpins) {
        std::this_thread::sleep_for(pace.next_sleep());
      } else {
        std::this_thread::yield();
      }
      if (!lost_.empty())
        throw DeviceError(fmt::format("the other rank is lost: {}; start both again", lost_));
    }
  }

  void message_arrived(RankId from, std::span<const std::byte> bytes) override {
    if (from != other_ || bytes.empty()) return;
    std::memcpy(&message_.order, bytes.data(), sizeof message_.order);
    message_.bytes = bytes.size();
    if (message_.order != Order::ping && bytes.size() >= 9) {
      std::memcpy(&message_.bytes, bytes.data() + 1, sizeof message_.bytes);
    }
    has_message_ = true;
  }
  void payload_ended(comm::PayloadId payload) override {
    (payload.value == kSent ? sent_ : received_) = true;
  }
  void rank_lost(RankId rank, const std::string& why) override {
    if (rank == other_) lost_ = why;
  }

  comm::Transport& transport_;
  const RankId other_;
  Message message_;
  bool has_message_ = false;
  bool sent_ = false;
  bool received_ = false;
  std::string lost_;
};

double seconds_since(Time begin) {
  return (drivers::monotonic_now() - begin).seconds();
}

}  // namespace

Transfer copies_in_memory(const Point& point) {
  const std::uint64_t size = std::max(kBuffers, point.bytes);
  const auto from =
      std::make_shared<drivers::MappedMemory>(memory_on(point.transfer_node, Bytes{size}));
  const auto to =
      std::make_shared<drivers::MappedMemory>(memory_on(point.transfer_node, Bytes{size}));
  return [from, to, size, bytes = point.bytes, at = std::uint64_t{0}]() mutable {
    // A page further at least, so that small copies find nothing in the cache either.
    const std::uint64_t step = std::max<std::uint64_t>(bytes, 4096);
    at = at + step + bytes > size ? 0 : at + step;
    const Time begin = drivers::monotonic_now();
    std::memcpy(to->address() + at, from->address() + at, bytes);
    return seconds_since(begin);
  };
}

Transfer copies_to_disk(const Point& point, const std::string& folder) {
  const std::uint64_t bytes = std::max<std::uint64_t>(kSmallBytes, point.bytes);
  const auto file = std::make_shared<File>(folder);
  const auto memory =
      std::make_shared<drivers::MappedMemory>(memory_on(point.transfer_node, Bytes{bytes}));
  return [file, memory, bytes] {
    const Time begin = drivers::monotonic_now();
    file->copy(memory->address(), bytes);
    return seconds_since(begin) / 2;
  };
}

Transfer messages_between_ranks(const Point& point, comm::Transport& transport) {
  const auto side = std::make_shared<Side>(transport, kOther);
  const std::uint64_t bytes = point.bytes;
  if (bytes <= kSmallBytes) {
    return [side, bytes] {
      const Time begin = drivers::monotonic_now();
      side->post({Order::ping, bytes});
      side->next_message();
      return seconds_since(begin) / 2;
    };
  }
  const auto memory =
      std::make_shared<drivers::MappedMemory>(memory_on(point.transfer_node, Bytes{2 * bytes}));
  return [side, memory, bytes] {
    side->post({Order::payload, bytes});
    side->next_message();
    const Time begin = drivers::monotonic_now();
    side->receive(kBack, memory->address() + bytes, bytes);
    side->send(kThere, memory->address(), bytes);
    side->await_received();
    const double seconds = seconds_since(begin) / 2;
    side->await_sent();
    return seconds;
  };
}

void answer_messages(comm::Transport& transport) {
  Side side(transport, kFirst);
  std::vector<std::byte> memory;
  while (true) {
    const Message message = side.next_message(true);
    if (message.order == Order::over) return;
    if (message.order == Order::ping) {
      side.post(message);
      continue;
    }
    memory.resize(std::max<std::uint64_t>(memory.size(), message.bytes));
    side.receive(kThere, memory.data(), message.bytes);
    side.post({Order::ready, message.bytes});
    side.await_received();
    side.send(kBack, memory.data(), message.bytes);
    side.await_sent();
  }
}

void end_answers(comm::Transport& transport) {
  for (std::uint32_t rank = 1; rank < transport.ranks(); ++rank) {
    Side(transport, RankId{rank}).post({Order::over, 0});
  }
}

}  // namespace vicinal::interference
