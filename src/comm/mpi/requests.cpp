#include "comm/mpi/requests.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace vicinal::comm {

void Requests::add(MPI_Request request, std::uint32_t owner) {
  owners_.push_back(owner);
  requests_.push_back(request);
}

std::span<const Requests::Ended> Requests::ended() {
  if (requests_.empty()) return {};
  if (next_ >= requests_.size()) next_ = 0;
  const std::size_t first = next_;
  const std::size_t count = std::min(kAtOnce, requests_.size() - first);
  int found = 0;
  const int code = MPI_Testsome(static_cast<int>(count), requests_.data() + first, &found,
                                places_.data(), statuses_.data());
  const bool each = code == MPI_ERR_IN_STATUS;
  if (code != MPI_SUCCESS && !each) {  // no word of which: none of them can be looked at again
    found = static_cast<int>(count);
    std::iota(places_.begin(), places_.begin() + found, 0);
  }
  if (found <= 0) {
    next_ = first + count;
    return {};
  }
  const auto ended = static_cast<std::size_t>(found);
  for (std::size_t i = 0; i < ended; ++i) {
    ended_[i] = {.owner = owners_[first + static_cast<std::size_t>(places_[i])],
                 .error = each ? statuses_[i].MPI_ERROR : code,
                 .status = statuses_[i]};
  }
  // The last ones take the places of those that have ended, from behind, so that no place moves before its turn.
  std::sort(places_.begin(), places_.begin() + found, std::greater<>());
  for (std::size_t i = 0; i < ended; ++i) {
    const std::size_t place = first + static_cast<std::size_t>(places_[i]);
    requests_[place] = requests_.back();
    owners_[place] = owners_.back();
    requests_.pop_back();
    owners_.pop_back();
  }
  next_ = first + count - ended;
  return {ended_.data(), ended};
}

void Requests::forget() {
  requests_.clear();
  owners_.clear();
}

}  // namespace vicinal::comm
