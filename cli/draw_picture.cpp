#include "draw_picture.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

constexpr int kNoMatplotlib = 3;  // exit status of the script

// Beside the executable in a build, in ../share of an installation.
std::string script() {
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", failed);
  for (const char* const folder : {"share/vicinal", "../share/vicinal"}) {
    const std::filesystem::path file = here.parent_path() / folder / "draw_figure.py";
    if (std::filesystem::exists(file, failed)) return file.lexically_normal().string();
  }
  return {};
}

// Its exit status; -1 if it cannot be started.
int run(const std::string& python, std::string file, std::string json, std::string target) {
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
  const std::string file = script();
  if (file.empty()) {
    return "no picture is drawn: share/vicinal/draw_figure.py is not where this program is "
           "installed; install it again";
  }
  // That of the system is where the system's packages are.
  for (const char* const python : {"python3", "/usr/bin/python3"}) {
    const int status = run(python, file, json, target);
    if (status == 0) return {};
    if (status > 0 && status != kNoMatplotlib) {
      return fmt::format("no picture is drawn: {} {} {} {} ended with status {}", python, file,
                         json, target, status);
    }
  }
  return "no picture is drawn: no Python here has matplotlib; install it (Debian and Ubuntu: "
         "python3-matplotlib), then run the command again";
}

void draw_picture_of(const std::string& text, const std::string& target) {
  // In memory: the script reads it as a file, and nothing is left behind.
  const int file = ::memfd_create("report", 0);
  if (file < 0)
    throw DeviceError(fmt::format("--plot: no memory for the report: {}", std::strerror(errno)));
  const std::string path = fmt::format("/dev/fd/{}", file);
  std::string missing;
  try {
    std::ofstream content(path);
    content << text << std::flush;
    if (!content)
      throw DeviceError(fmt::format("--plot: no room for the report: {}", std::strerror(errno)));
    missing = draw_picture(path, target);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
  if (!missing.empty()) throw DeviceError("--plot: " + missing);
}

}  // namespace vicinal::cli
