// What Vicinal throws. Every message names the thing and the remedy; the class tells a program
// what kind of trouble it is.
#pragma once

#include <stdexcept>
#include <string>

namespace vicinal {

// Base of all errors of the library.
class Error : public std::runtime_error {
 public:
  // The text may go to a terminal as it is: control characters that came in with a name, and what is no UTF-8, become
  // U+FFFD.
  explicit Error(const std::string& text);
};

// The application asked for something that cannot be: a wrong option, an overlapping buffer,
// a task that reads a handle nobody wrote, a wait inside a task.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Something can never fit under a limit: names the thing, its bytes and the limit.
class CapacityError : public Error {
 public:
  using Error::Error;
};

// A kernel threw, or a task was cancelled because of it. Thrown by wait. The kernel's exception is nested:
// std::rethrow_if_nested(error) throws it, with its type and its own nested exceptions.
class TaskError : public Error {
 public:
  using Error::Error;
};

// A disk or a device failed: names data and cause.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// Another rank has failed, was lost, or did not do the same as this one: names the rank and what it was. Or a rank, perhaps
// this one, has called cancel(). The run is over on all ranks.
class RankError : public Error {
 public:
  using Error::Error;
};

// The handle's last writer failed or was cancelled, so its content is not what was asked for. The error nests the
// exception of the kernel that failed first, as TaskError does.
class PoisonedError : public Error {
 public:
  using Error::Error;
};

// Thrown by a kernel that was cancelled while it ran, see StopToken: its task counts as cancelled, not as failed. A
// kernel that throws this without a cancellation has failed.
class Cancelled : public Error {
 public:
  // With a text of its own.
  Cancelled();
};

}  // namespace vicinal
