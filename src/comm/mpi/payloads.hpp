// Large content, from and to memory of the caller, in as many pieces as MPI needs.
#pragma once

#include <cstdint>
#include <vector>

#include <mpi.h>

#include "comm/mpi/losses.hpp"
#include "comm/mpi/requests.hpp"
#include "comm/transport.hpp"

namespace vicinal::comm {

class Payloads {
 public:
  Payloads(MPI_Comm communicator, std::uint64_t piece_bytes, Losses& losses)
      : communicator_(communicator), piece_bytes_(piece_bytes), losses_(losses) {}
  Payloads(const Payloads&) = delete;
  Payloads& operator=(const Payloads&) = delete;

  void send(RankId to, Channel channel, const std::byte* from, const Layout& layout,
            PayloadId payload);
  void receive(RankId from, Channel channel, std::byte* to, const Layout& layout,
               PayloadId payload);
  // Whether any piece has ended.
  bool poll(TransportEvents& events);
  // No event comes any more. Waits so long, at most, for transfers that are under way. One that is under way then has
  // another end that is dead, or that has given it up, too.
  void cancel(double seconds);
  // What `cancel` has left with MPI, before MPI ends. False: MPI would wait for it.
  bool close();

 private:
  struct Posted {
    PayloadId payload;
    RankId peer;
    Channel channel;
    bool received = false;
    std::uint64_t pieces = 0;       // under way
    std::uint64_t bytes = 0;        // all of them
    std::uint64_t bytes_ended = 0;  // of those that have ended; of a send not counted
    bool failed = false;
  };

  // Shared by both: `start` makes the request of a piece and returns what MPI returns.
  template <typename Start>
  void post(const Posted& posted, const Layout& layout, const char* call, const Start& start);
  void piece_ended(const Requests::Ended& ended);
  void receive_nothing(const Requests::Ended& ended);

  MPI_Comm communicator_;
  std::uint64_t piece_bytes_;
  Losses& losses_;
  std::vector<Posted> posted_;
  std::vector<std::uint32_t> free_;   // places in posted_
  std::vector<PayloadId> told_next_;  // have ended, to be told
  Requests requests_;
  // Receives of nothing in place of those that were cancelled: the send for which each was posted may still come, and
  // ends then.
  std::vector<MPI_Request> instead_;
  bool all_ended_ = true;  // of what was cancelled
  bool cancelled_ = false;
};

}  // namespace vicinal::comm
