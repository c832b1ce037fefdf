#include "comm/mpi/payloads.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <thread>

#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/pieces.hpp"

namespace vicinal::comm {

namespace {

// Of sends that nobody receives. The end of MPICH waits for them, at times for ever; a receive of nothing lets them end.
// Open MPI forgets them at its end, while a receive of nothing may crash it.
#ifdef OPEN_MPI
constexpr bool kForgetsSends = true;
#else
constexpr bool kForgetsSends = false;
#endif

}  // namespace

template <typename Start>
void Payloads::post(const Posted& posted, const Layout& layout, const char* call,
                    const Start& start) {
  if (cancelled_ || losses_.lost(posted.peer)) return;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(posted_.size()));
    posted_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  posted_[place] = posted;
  posted_[place].bytes = layout.bytes().value;
  const std::uint64_t pieces = count_pieces(layout, piece_bytes_);
  std::string why;
  for (std::uint64_t number = 0; number < pieces && why.empty(); ++number) {
    try {
      const Piece piece(layout, piece_bytes_, number);
      MPI_Request request = MPI_REQUEST_NULL;
      check_mpi(call, start(piece, &request));
      requests_.add(request, place);
      ++posted_[place].pieces;
    } catch (const std::exception& error) {
      why = error.what();
    }
  }
  if (why.empty()) return;
  posted_[place].failed = true;
  losses_.add(posted.peer, why);
  if (posted_[place].pieces == 0) free_.push_back(place);
}

void Payloads::send(RankId to, Channel channel, const std::byte* from, const Layout& layout,
                    PayloadId payload) {
  post({.payload = payload, .peer = to, .channel = channel}, layout, "MPI_Isend",
       [&](const Piece& piece, MPI_Request* request) {
         return MPI_Isend(from + piece.offset(), piece.count(), piece.type(),
                          static_cast<int>(to.value), channel.value, communicator_, request);
       });
}

void Payloads::receive(RankId from, Channel channel, std::byte* to, const Layout& layout,
                       PayloadId payload) {
  post({.payload = payload, .peer = from, .channel = channel, .received = true}, layout,
       "MPI_Irecv", [&](const Piece& piece, MPI_Request* request) {
         return MPI_Irecv(to + piece.offset(), piece.count(), piece.type(),
                          static_cast<int>(from.value), channel.value, communicator_, request);
       });
}

void Payloads::piece_ended(const Requests::Ended& ended) {
  Posted& posted = posted_[ended.owner];
  if (ended.error != MPI_SUCCESS) {
    posted.failed = true;
    losses_.add(posted.peer,
                describe_mpi(posted.received ? "MPI_Irecv" : "MPI_Isend", ended.error));
  } else if (posted.received) {
    MPI_Count bytes = 0;
    MPI_Get_elements_x(&ended.status, MPI_BYTE, &bytes);
    posted.bytes_ended += static_cast<std::uint64_t>(bytes);
  }
  if (--posted.pieces != 0) return;
  free_.push_back(ended.owner);
  if (posted.failed) return;
  if (posted.received && posted.bytes_ended != posted.bytes) {
    losses_.add(posted.peer, "it has sent " + std::to_string(posted.bytes_ended) +
                                 " bytes of a payload of " + std::to_string(posted.bytes));
    return;
  }
  told_next_.push_back(posted.payload);
}

bool Payloads::poll(TransportEvents& events) {
  const auto ended = requests_.ended();
  if (ended.empty()) return false;
  for (const Requests::Ended& piece : ended) piece_ended(piece);
  // An event may post, and may cancel.
  for (std::size_t next = 0; next < told_next_.size(); ++next) {
    events.payload_ended(told_next_[next]);
  }
  told_next_.clear();
  return true;
}

void Payloads::cancel(double seconds) {
  cancelled_ = true;
  told_next_.clear();
  // A send that the other end has begun to receive must go on, and MPI cannot tell.
  const auto pending = requests_.pending();
  for (std::size_t place = 0; place < pending.size(); ++place) {
    if (posted_[requests_.owner(place)].received) MPI_Cancel(&pending[place]);
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  std::size_t idle = 0;
  while (!requests_.empty()) {
    const auto ended = requests_.ended();
    for (const Requests::Ended& piece : ended) receive_nothing(piece);
    idle = ended.empty() ? idle + 1 : 0;
    if (idle * 64 < requests_.pending().size() + 64) continue;  // some were not looked at
    if (Clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  all_ended_ = requests_.empty();
  // Not freed: MPI would go on with them all the same, and their end is never waited for.
  requests_.forget();
  posted_.clear();
  free_.clear();
}

void Payloads::receive_nothing(const Requests::Ended& ended) {
  const Posted& posted = posted_[ended.owner];
  int cancelled = 0;
  if (kForgetsSends || !posted.received || ended.error != MPI_SUCCESS) return;
  MPI_Test_cancelled(&ended.status, &cancelled);
  if (cancelled == 0) return;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Irecv(nullptr, 0, MPI_BYTE, static_cast<int>(posted.peer.value), posted.channel.value,
                communicator_, &request) == MPI_SUCCESS) {
    instead_.push_back(request);
  }
}

bool Payloads::close() {
  for (MPI_Request& request : instead_) {
    int ended = 0;
    // One that has ended says that there was more than nothing.
    if (MPI_Test(&request, &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS || ended != 0) continue;
    MPI_Cancel(&request);
    MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
  }
  return all_ended_ || kForgetsSends;
}

}  // namespace vicinal::comm
