// Requests of MPI that are under way, thousands of them: a call looks at some, and the next one at others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mpi.h>

namespace vicinal::comm {

class Requests {
 public:
  struct Ended {
    std::uint32_t owner = 0;
    int error = MPI_SUCCESS;
    MPI_Status status = {};
  };

  void add(MPI_Request request, std::uint32_t owner);
  // Requests that have ended, of the window that this call looks at. Valid until the next call.
  std::span<const Ended> ended();
  // Requests that have not ended.
  std::span<MPI_Request> pending() { return requests_; }
  std::uint32_t owner(std::size_t place) const { return owners_[place]; }
  // Lets go of all of them: MPI goes on with them, and nobody asks.
  void forget();
  bool empty() const { return requests_.empty(); }

 private:
  // MPI looks at each request of a call, ended or not.
  static constexpr std::size_t kAtOnce = 64;

  std::vector<MPI_Request> requests_;
  std::vector<std::uint32_t> owners_;  // of requests_
  std::size_t next_ = 0;
  std::array<int, kAtOnce> places_{};
  std::array<MPI_Status, kAtOnce> statuses_{};
  std::array<Ended, kAtOnce> ended_{};
};

}  // namespace vicinal::comm
