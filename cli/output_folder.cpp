#include "output_folder.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

namespace fs = std::filesystem;

// A folder that is there by its own name, whatever links lead to it.
std::string plain(std::string path) {
  std::error_code error;
  if (const fs::path real = fs::canonical(path, error); !error) return real.string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string beside(const std::string& target) {
  return fmt::format("{}.{}.tmp", target, ::getpid());
}

}  // namespace

void require_free(std::string_view option, const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) {
    if (fs::is_directory(status) && fs::is_empty(path, error) && !error) return;
    throw UsageError(fmt::format(
        "{}: {} is there and is no empty folder; give another, or remove it", option, path));
  }
  const std::string trial = beside(plain(path));
  if (::mkdir(trial.c_str(), 0777) != 0) {
    throw UsageError(
        fmt::format("{}: cannot make the folder {}: {}; give one in a folder that "
                    "exists and is writable",
                    option, path, std::strerror(errno)));
  }
  ::rmdir(trial.c_str());
}

OutputFolder::OutputFolder(const std::string& path)
    : target_(plain(path)), beside_(beside(target_)) {
  if (::mkdir(beside_.c_str(), 0777) == 0) return;
  throw DeviceError(fmt::format("cannot make the folder {}: {}", beside_, std::strerror(errno)));
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!beside_.empty()) fs::remove_all(beside_, ignored);
}

// An empty folder at the path is replaced.
void OutputFolder::finish() {
  if (std::rename(beside_.c_str(), target_.c_str()) != 0) {
    throw DeviceError(fmt::format("cannot make the folder {}: {}", target_, std::strerror(errno)));
  }
  beside_.clear();
}

}  // namespace vicinal::cli
