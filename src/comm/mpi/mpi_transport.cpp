#include "comm/mpi/mpi_transport.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "comm/mpi/mpi_error.hpp"

namespace vicinal::comm {

namespace {

RankId rank_in(MPI_Comm communicator) {
  int rank = 0;
  check_mpi("MPI_Comm_rank", MPI_Comm_rank(communicator, &rank));
  return RankId{static_cast<std::uint32_t>(rank)};
}

std::uint32_t ranks_of(MPI_Comm communicator) {
  int ranks = 0;
  check_mpi("MPI_Comm_size", MPI_Comm_size(communicator, &ranks));
  return static_cast<std::uint32_t>(ranks);
}

MpiSettings checked(MpiSettings settings) {
  if (settings.piece_bytes == 0 || settings.piece_bytes > std::uint64_t{1} << 30) {
    throw std::runtime_error("pieces of " + std::to_string(settings.piece_bytes) +
                             " bytes: MPI counts in int; take 1 to 2^30");
  }
  return settings;
}

// Whoever has come to the end wants no events.
class NoEvents final : public TransportEvents {
 public:
  void message_arrived(RankId, std::span<const std::byte>) override {}
  void payload_ended(PayloadId) override {}
  void rank_lost(RankId, const std::string&) override {}
};

}  // namespace

MpiTransport::MpiTransport(const MpiSettings& settings)
    : settings_(checked(settings)),
      rank_(rank_in(session_.communicator())),
      ranks_(ranks_of(session_.communicator())),
      losses_(ranks_),
      messages_(std::make_unique<Messages>(session_.communicator(), ranks_, losses_)),
      payloads_(session_.communicator(), settings_.piece_bytes, losses_) {}

MpiTransport::~MpiTransport() {
  if (!Session::alive()) return;
  if (!cancelled_) payloads_.cancel(0);  // a caller that is right has none
  const bool together =
      all_end(cancelled_ ? settings_.cancelling_seconds : settings_.ending_seconds);
  if (messages_->close() && together && payloads_.close()) {
    session_.end();
  } else {
    static_cast<void>(
        messages_.release());  // MPI, should the application go on with it, has its memory
  }
}

bool MpiTransport::all_end(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool begun = false;
  NoEvents nobody;
  while (!losses_.any()) {
    // Messages are received until all have come: the last ones of other ranks may wait for that.
    const bool came = messages_->poll_receives(nobody);
    const bool moved = messages_->poll_sends() || came;
    if (!begun && messages_->all_sent()) {
      if (MPI_Ibarrier(session_.communicator(), &barrier) != MPI_SUCCESS) return false;
      begun = true;
    }
    if (begun) {
      int ended = 0;
      if (MPI_Test(&barrier, &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
      if (ended != 0) return true;
    }
    if (moved) continue;
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return false;
}

void MpiTransport::post_message(RankId to, std::span<const std::byte> bytes) {
  messages_->post(to, bytes);
}

void MpiTransport::post_send(RankId to, Channel channel, const std::byte* from,
                             const Layout& layout, PayloadId payload) {
  payloads_.send(to, channel, from, layout, payload);
}

void MpiTransport::post_receive(RankId from, Channel channel, std::byte* to, const Layout& layout,
                                PayloadId payload) {
  payloads_.receive(from, channel, to, layout, payload);
}

bool MpiTransport::poll(TransportEvents& events) {
  const bool came = messages_->poll_receives(events);
  // A message of a burst costs one call of MPI: what else there is waits for some.
  const bool busy = came && ++polls_ % 8 != 0;
  const bool sent = !busy && messages_->poll_sends();
  const bool payloads = !busy && payloads_.poll(events);
  return losses_.tell(events) || came || sent || payloads;
}

void MpiTransport::cancel() {
  if (cancelled_) return;
  cancelled_ = true;
  payloads_.cancel(settings_.cancelling_seconds);
}

}  // namespace vicinal::comm
