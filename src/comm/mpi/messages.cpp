#include "comm/mpi/messages.hpp"

#include <algorithm>
#include <cstring>

#include "comm/mpi/mpi_error.hpp"

namespace vicinal::comm {

namespace {

constexpr int kMessageTag = kChannels;  // payloads have the smaller ones
static_assert(kMessageTag <= 32767, "the standard promises no larger tag");

}  // namespace

Messages::Messages(MPI_Comm communicator, std::uint32_t ranks, Losses& losses)
    : communicator_(communicator), losses_(losses), lines_(ranks) {
  receives_.fill(MPI_REQUEST_NULL);
  for (std::size_t place = 0; place < kRing; ++place) {
    if (!receive(place)) throw std::runtime_error("MPI_Irecv: no receive can be posted");
  }
}

bool Messages::receive(std::size_t place) {
  const int code = MPI_Irecv(&arrived_[place], sizeof(Numbered), MPI_BYTE, MPI_ANY_SOURCE,
                             kMessageTag, communicator_, &receives_[place]);
  if (code == MPI_SUCCESS) return true;
  receives_[place] = MPI_REQUEST_NULL;
  return false;
}

void Messages::post(RankId to, std::span<const std::byte> bytes) {
  if (losses_.lost(to)) return;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(outgoing_.size()));
    outgoing_.push_back(std::make_unique<Outgoing>());
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  Outgoing& message = *outgoing_[place];
  Line& line = lines_[to.value];
  message.to = to;
  message.size = offsetof(Numbered, bytes) + bytes.size();
  message.content.number = line.sent++;
  std::copy(bytes.begin(), bytes.end(), message.content.bytes.begin());
  ++unsent_;
  if (line.under_way < kMost && line.waiting.empty()) {
    send(place);
  } else {
    line.waiting.push_back(place);
  }
}

void Messages::send(std::uint32_t place) {
  const Outgoing& message = *outgoing_[place];
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      MPI_Isend(&message.content, static_cast<int>(message.size), MPI_BYTE,
                static_cast<int>(message.to.value), kMessageTag, communicator_, &request);
  if (code == MPI_SUCCESS) {
    ++lines_[message.to.value].under_way;
    sends_.add(request, place);
  } else {
    const RankId to = message.to;
    sent(place);
    lose(to, describe_mpi("MPI_Isend", code));
  }
}

void Messages::sent(std::uint32_t place) {
  --unsent_;
  free_.push_back(place);
}

void Messages::lose(RankId rank, const std::string& why) {
  losses_.add(rank, why);
  Line& line = lines_[rank.value];
  for (const std::uint32_t place : line.waiting) sent(place);
  line.waiting.clear();
}

bool Messages::poll_sends() {
  const auto ended = sends_.ended();
  for (const Requests::Ended& send_ended : ended) {
    const RankId to = outgoing_[send_ended.owner]->to;
    Line& line = lines_[to.value];
    --line.under_way;
    sent(send_ended.owner);
    if (send_ended.error != MPI_SUCCESS) lose(to, describe_mpi("MPI_Isend", send_ended.error));
    while (line.under_way < kMost && !line.waiting.empty()) {
      const std::uint32_t next = line.waiting.front();
      line.waiting.pop_front();
      send(next);
    }
  }
  return !ended.empty();
}

void Messages::take(TransportEvents& events, RankId from, const Numbered& message,
                    std::size_t size) {
  Line& line = lines_[from.value];
  if (message.number != line.received) {
    line.early.try_emplace(message.number, message.bytes.begin(),
                           message.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    return;
  }
  ++line.received;
  events.message_arrived(from, {message.bytes.data(), size});
  while (!line.early.empty() && line.early.begin()->first == line.received) {
    const auto next = line.early.extract(line.early.begin());
    ++line.received;
    events.message_arrived(from, next.mapped());
  }
}

void Messages::received(TransportEvents& events, std::size_t place, const MPI_Status& status,
                        int error) {
  const bool known =
      status.MPI_SOURCE >= 0 && static_cast<std::size_t>(status.MPI_SOURCE) < lines_.size();
  if (error != MPI_SUCCESS) {
    // Without a sender nobody can be named: heartbeats will. The receive is not posted again, as it would fail again.
    if (known) {
      lose(RankId{static_cast<std::uint32_t>(status.MPI_SOURCE)}, describe_mpi("MPI_Irecv", error));
    }
    return;
  }
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  const auto size = static_cast<std::size_t>(std::max(bytes, 0));
  const RankId from{static_cast<std::uint32_t>(status.MPI_SOURCE)};
  if (size < offsetof(Numbered, bytes)) {
    lose(from, "a message of " + std::to_string(size) + " bytes, which has no number");
  } else {
    take(events, from, arrived_[place], size - offsetof(Numbered, bytes));
  }
  if (!receive(place)) lose(from, "MPI_Irecv: no receive can be posted");
}

bool Messages::poll_receives(TransportEvents& events) {
  ++polls_;
  const std::size_t oldest = oldest_;
  if (receives_[oldest] != MPI_REQUEST_NULL) {
    MPI_Status status{};
    status.MPI_SOURCE = MPI_ANY_SOURCE;
    int ended = 0;
    const int code = MPI_Test(&receives_[oldest], &ended, &status);
    if (ended != 0 || code != MPI_SUCCESS) {
      oldest_ = (oldest + 1) % kRing;
      if (code != MPI_SUCCESS) receives_[oldest] = MPI_REQUEST_NULL;
      received(events, oldest, status, code);
      return true;
    }
  }
  return polls_ % kRing == 0 && poll_others(events);
}

bool Messages::poll_others(TransportEvents& events) {
  int found = 0;
  std::array<int, kRing> places{};
  std::array<MPI_Status, kRing> statuses{};
  const int code = MPI_Testsome(kRing, receives_.data(), &found, places.data(), statuses.data());
  const bool each = code == MPI_ERR_IN_STATUS;
  if (code != MPI_SUCCESS && !each) return false;
  if (found <= 0) return false;  // MPI_UNDEFINED is less: none is posted
  for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    received(events, place, statuses[i], each ? statuses[i].MPI_ERROR : MPI_SUCCESS);
    // Those behind it are older now.
    oldest_ = (place + 1) % kRing;
  }
  return true;
}

bool Messages::close() {
  bool ended = true;
  for (MPI_Request& request : receives_) {
    if (request == MPI_REQUEST_NULL) continue;
    int done = 0;
    if (MPI_Cancel(&request) != MPI_SUCCESS ||
        MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done == 0) {
      ended = false;
    }
  }
  return ended;
}

}  // namespace vicinal::comm
