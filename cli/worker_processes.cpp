#include "worker_processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

constexpr std::size_t kLongestAnswer = 16384;

EndedJob done_here(std::size_t job, const std::function<std::string(std::size_t)>& work) {
  EndedJob ended{.job = job, .text = {}, .error = {}};
  try {
    ended.text = work(job);
  } catch (const std::exception& error) {
    ended.error = error.what();
    if (ended.error.empty()) ended.error = "an exception that says nothing";
  }
  return ended;
}

// --- In the new process --------------------------------------------------------------------------

// Ctrl-C goes to all processes of a terminal: the first one ends, and this one with it.
void be_a_child(::pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it has ended before that
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// A message is a job; the answer is one letter and a text.
[[noreturn]] void answer_jobs(int socket, const std::function<std::string(std::size_t)>& work) {
  for (;;) {
    std::size_t job = 0;
    const ssize_t got = ::recv(socket, &job, sizeof(job), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(job)) ::_exit(0);
    const EndedJob ended = done_here(job, work);
    std::string answer = ended.error.empty() ? "+" + ended.text : "-" + ended.error;
    answer.resize(std::min(answer.size(), kLongestAnswer));
    if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) ::_exit(1);
  }
}

// --- In this one -----------------------------------------------------------------------------------

struct Child {
  ::pid_t process = -1;
  int socket = -1;
  std::vector<std::size_t> left = {};  // of its block, the next one last
  std::optional<std::size_t> job = {};
};

std::string how_it_died(::pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("its process died of signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("its process ended with status {}", WEXITSTATUS(status));
}

class Processes {
 public:
  Processes(const Blocks& blocks, const std::function<std::string(std::size_t)>& work,
            const std::function<void(const EndedJob&)>& ended)
      : blocks_(blocks), work_(work), ended_(ended) {}
  ~Processes() {
    for (const Child& child : children_) {
      if (child.process <= 0) continue;
      ::close(child.socket);
      ::kill(child.process, SIGKILL);
      ::waitpid(child.process, nullptr, 0);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void run(std::size_t processes) {
    for (std::size_t i = 0; i < processes && next_ < blocks_.size(); ++i) {
      children_.push_back(started());
      give(children_.back());
    }
    while (std::ranges::any_of(children_, [](const Child& child) { return child.job.has_value(); }))
      listen();
  }

 private:
  Child started() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) refuse();
    std::fflush(stdout);
    std::fflush(stderr);
    const ::pid_t parent = ::getpid();
    const ::pid_t process = ::fork();
    if (process == 0) {
      be_a_child(parent);
      for (const Child& other : children_) ::close(other.socket);
      ::close(ends[0]);
      answer_jobs(ends[1], work_);
    }
    ::close(ends[1]);
    if (process > 0) return {.process = process, .socket = ends[0]};
    ::close(ends[0]);
    refuse();
  }

  [[noreturn]] static void refuse() {
    throw DeviceError(fmt::format(
        "--processes: no process can be started: {}; give a smaller number", std::strerror(errno)));
  }

  // Its next job, if there is one.
  void give(Child& child) {
    child.job.reset();
    if (child.left.empty() && next_ < blocks_.size()) {
      child.left = blocks_[next_++];
      std::ranges::reverse(child.left);
    }
    if (child.left.empty()) return;
    child.job = child.left.back();
    child.left.pop_back();
    // One that has died meanwhile is found out when its answer is waited for.
    const std::size_t job = *child.job;
    static_cast<void>(::send(child.socket, &job, sizeof(job), MSG_NOSIGNAL));
  }

  void listen() {
    std::vector<pollfd> sockets;
    for (const Child& child : children_) sockets.push_back({child.socket, POLLIN, 0});
    if (::poll(sockets.data(), sockets.size(), -1) < 0) return;  // interrupted
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents == 0) continue;
      if (children_[i].job) {
        hear(children_[i]);
      } else {
        bury(children_[i]);  // it died with nothing to do
      }
    }
  }

  void hear(Child& child) {
    std::string answer(kLongestAnswer, '\0');
    const ssize_t got = ::recv(child.socket, answer.data(), answer.size(), 0);
    if (got < 0 && errno == EINTR) return;
    EndedJob ended{.job = *child.job, .text = {}, .error = {}};
    if (got > 0) {
      answer.resize(static_cast<std::size_t>(got));
      (answer.front() == '+' ? ended.text : ended.error) = answer.substr(1);
      give(child);
    } else {
      const std::vector<std::size_t> left = std::move(child.left);
      ended.error = bury(child);
      // Another one goes on with what was left to it.
      if (!left.empty() || next_ < blocks_.size()) {
        child = started();
        child.left = left;
        give(child);
      }
    }
    ended_(ended);
  }

  static std::string bury(Child& child) {
    ::close(child.socket);
    std::string how = how_it_died(child.process);
    child = {};
    return how;
  }

  const Blocks& blocks_;
  const std::function<std::string(std::size_t)>& work_;
  const std::function<void(const EndedJob&)>& ended_;
  std::size_t next_ = 0;
  std::vector<Child> children_;
};

}  // namespace

void in_processes(std::size_t processes, const Blocks& blocks,
                  const std::function<std::string(std::size_t)>& work,
                  const std::function<void(const EndedJob&)>& ended) {
  if (processes > 1) return Processes(blocks, work, ended).run(processes);
  for (const std::vector<std::size_t>& block : blocks) {
    for (const std::size_t job : block) ended(done_here(job, work));
  }
}

}  // namespace vicinal::cli
