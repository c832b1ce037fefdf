#include "drivers/cpu/processor_claims.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace vicinal::drivers {

namespace {

constexpr int kTaken = -1;
constexpr int kNoSockets = -2;

// The socket that holds the claim.
int claim(std::uint32_t processor) {
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return kNoSockets;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "vicinal processor " + std::to_string(processor);
  std::ranges::copy(name, address.sun_path + 1);  // behind a zero: in no folder
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0) return socket;
  const int why = errno;
  ::close(socket);
  return why == EADDRINUSE ? kTaken : kNoSockets;
}

}  // namespace

ProcessorClaims::ProcessorClaims(std::span<const std::uint32_t> candidates, std::uint32_t count) {
  for (const std::uint32_t processor : candidates) {
    if (processors_.size() == count) break;
    const int socket = claim(processor);
    if (socket == kTaken) continue;
    processors_.push_back(processor);
    if (socket != kNoSockets) sockets_.push_back(socket);
  }
  if (processors_.size() < count) let_go();
}

ProcessorClaims::ProcessorClaims(ProcessorClaims&& other) noexcept
    : processors_(std::exchange(other.processors_, {})),
      sockets_(std::exchange(other.sockets_, {})) {}

ProcessorClaims& ProcessorClaims::operator=(ProcessorClaims&& other) noexcept {
  if (this == &other) return *this;
  let_go();
  processors_ = std::exchange(other.processors_, {});
  sockets_ = std::exchange(other.sockets_, {});
  return *this;
}

void ProcessorClaims::let_go() {
  for (const int socket : sockets_) ::close(socket);
  sockets_.clear();
  processors_.clear();
}

}  // namespace vicinal::drivers
