#include "reports/draw_picture.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "reports/page/assets.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reports {

namespace {

constexpr int kNoMatplotlib = 3;  // exit status of the script

// A file in memory, which leaves nothing behind. Programs that are started have it, too.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : file_(::memfd_create("picture", 0)) {
    while (file_ >= 0 && !text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) break;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (file_ < 0 || !text.empty()) {
      const int cause = errno;
      if (file_ >= 0) ::close(file_);
      throw DeviceError(fmt::format("no picture is drawn: no memory for what it shows: {}",
                                    std::strerror(cause)));
    }
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return fmt::format("/dev/fd/{}", file_); }

 private:
  int file_;
};

std::string_view script() {
  const auto assets = page_assets();
  const auto found = std::ranges::find(assets, "draw_figure.py", &PageAsset::name);
  return found == assets.end() ? std::string_view() : found->text;
}

// Its exit status; -1 if it cannot be started.
int run_script(const std::string& python, std::string file, std::string json, std::string target) {
  std::string name = python;
  char* const arguments[] = {name.data(), file.data(), json.data(), target.data(), nullptr};
  // The signals that this process has blocked end the script as usual.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t process = 0;
  const int refused =
      posix_spawnp(&process, python.c_str(), nullptr, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  if (refused != 0) return -1;
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::string draw_picture(const std::string& json, const std::string& target) {
  if (script().empty()) {
    return "no picture is drawn: share/draw_figure.py was not there when the library was built; "
           "build it again";
  }
  const MemoryFile file(script());
  // That of the system is where the system's packages are.
  for (const char* const python : {"python3", "/usr/bin/python3"}) {
    const int status = run_script(python, file.path(), json, target);
    if (status == 0) return {};
    if (status > 0 && status != kNoMatplotlib) {
      return fmt::format("no picture is drawn: {} ended with status {} when it drew {}", python,
                         status, target);
    }
  }
  return "no picture is drawn: no Python here has matplotlib; install it (Debian and Ubuntu: "
         "python3-matplotlib), then run the command again";
}

void draw_picture_of(const std::string& text, const std::string& target) {
  const std::string missing = draw_picture(MemoryFile(text).path(), target);
  if (!missing.empty()) throw DeviceError(missing);
}

void draw_report(const Report& report, const std::string& target) {
  if (!target.ends_with(".svg")) {
    throw UsageError(fmt::format("{} is no name of an SVG; write FILE.svg", target));
  }
  const auto ended_well = [](const RunRecord& run) { return run.error.empty(); };
  if (std::ranges::none_of(report.runs, ended_well)) {
    throw UsageError(fmt::format("{}: there is nothing to draw: no run has ended well", target));
  }
  draw_picture_of(report_json(report), target);
}

}  // namespace vicinal::reports
