// What is beside a computation. An operation of a transfer takes the seconds that it returns.
#pragma once

#include <functional>
#include <string>

#include "calibration/interference/experiments.hpp"

namespace vicinal::comm {
class Transport;
}

namespace vicinal::interference {

using Transfer = std::function<double()>;

// Bytes from one buffer to another, both on the point's nodes, as a message of another process would be copied.
Transfer copies_in_memory(const Point& point);
// Bytes to a file of that folder and back, past the system's cache where it allows that; seconds of one way. Throws DeviceError.
Transfer copies_to_disk(const Point& point, const std::string& folder);
// A message to rank 1 and back; seconds of one way. Rank 1 is in `answer_messages`. Throws DeviceError if it is lost.
Transfer messages_between_ranks(const Point& point, comm::Transport& transport);

// Of ranks other than 0: answers until rank 0 calls `end_answers`.
void answer_messages(comm::Transport& transport);
void end_answers(comm::Transport& transport);

}  // namespace vicinal::interference
