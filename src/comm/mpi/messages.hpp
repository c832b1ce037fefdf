// Small messages: sent from memory of their own, received into memory that is always ready for them.
//
// MPI may tell of two messages of one rank in any order, and a large one may stay under way where its sender has been
// stopped; so each has a number in front, and those that are early wait in memory, not in the way of other ranks'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <mpi.h>

#include "comm/mpi/losses.hpp"
#include "comm/mpi/requests.hpp"
#include "comm/transport.hpp"

namespace vicinal::comm {

class Messages {
 public:
  // Throws std::runtime_error.
  Messages(MPI_Comm communicator, std::uint32_t ranks, Losses& losses);
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void post(RankId to, std::span<const std::byte> bytes);
  // Whether anything has come.
  bool poll_receives(TransportEvents& events);
  // Whether any send has ended.
  bool poll_sends();
  // Whether MPI has taken all that was posted, save to ranks that are lost.
  bool all_sent() const { return unsent_ == 0; }
  // No message is received any more. False: MPI may still write to memory of this object.
  bool close();

 private:
  static constexpr std::size_t kRing = 16;    // receives that are posted
  static constexpr std::uint32_t kMost = 32;  // sends under way to a rank: what its MPI has to keep
  struct Numbered {
    std::uint64_t number = 0;  // of the messages from one rank to another
    std::array<std::byte, kMostMessage> bytes{};
  };
  struct Outgoing {
    RankId to;
    std::size_t size = 0;
    Numbered content;
  };
  struct Line {  // between this rank and another
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint32_t under_way = 0;
    std::deque<std::uint32_t> waiting;                      // places in outgoing_
    std::map<std::uint64_t, std::vector<std::byte>> early;  // by number
  };

  bool poll_others(TransportEvents& events);
  void received(TransportEvents& events, std::size_t place, const MPI_Status& status, int error);
  void take(TransportEvents& events, RankId from, const Numbered& message, std::size_t size);
  void send(std::uint32_t place);
  void sent(std::uint32_t place);
  void lose(RankId rank, const std::string& why);
  bool receive(std::size_t place);

  MPI_Comm communicator_;
  Losses& losses_;
  std::vector<Line> lines_;                          // by rank
  std::vector<std::unique_ptr<Outgoing>> outgoing_;  // as many as were ever there at once
  std::vector<std::uint32_t> free_;                  // places in outgoing_
  std::size_t unsent_ = 0;
  Requests sends_;
  // MPI gives a message to the receive that was posted first, so that this is nearly always the next to end: the others
  // are looked at now and then.
  std::size_t oldest_ = 0;
  std::size_t polls_ = 0;
  std::array<MPI_Request, kRing> receives_{};
  std::array<Numbered, kRing> arrived_{};
};

}  // namespace vicinal::comm
