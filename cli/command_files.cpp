#include "command_files.hpp"

#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "output_file.hpp"
#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

namespace fs = std::filesystem;

// Of a file that is not there yet, or a link to one: the path without links at which it will be.
fs::path future_path(fs::path path) {
  constexpr int kMostLinks = 40;  // as the system follows
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, error); ++links) {
    const fs::path target = fs::read_symlink(path, error);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path real = fs::weakly_canonical(folder, error);
  return (error ? fs::absolute(folder, error) : real) / path.filename();
}

// Of a device many may read and write.
bool is_device(const struct stat& status) {
  return S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
}

bool is_there(const std::string& path, struct stat& status) {
  return path == "-" ? ::fstat(STDOUT_FILENO, &status) == 0 : ::stat(path.c_str(), &status) == 0;
}

bool is_same(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  const bool has_first = is_there(a, first);
  const bool has_second = is_there(b, second);
  if (has_first != has_second) return false;
  if (!has_first) return future_path(a) == future_path(b);
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino && !is_device(first);
}

std::string shown(const std::string& path) {
  return path == "-" ? "the standard output" : reports::legible_name(path);
}

}  // namespace

void CommandFiles::reads(std::string option, std::string path) {
  if (!path.empty()) inputs_.push_back({std::move(option), std::move(path)});
}

void CommandFiles::writes(std::string option, std::string path) {
  if (!path.empty()) outputs_.push_back({std::move(option), std::move(path)});
}

void CommandFiles::records(std::string option, std::string path) {
  if (!path.empty()) outputs_.push_back({std::move(option), std::move(path), true});
}

void CommandFiles::require() const {
  for (auto output = outputs_.begin(); output != outputs_.end(); ++output) {
    for (const File& input : inputs_) {
      if (!is_same(output->path, input.path)) continue;
      throw UsageError(
          fmt::format("{}: {} would overwrite {}, which the command reads; name another file",
                      output->option, shown(output->path), input.option + " " + shown(input.path)));
    }
    for (auto other = outputs_.begin(); other != output; ++other) {
      if (!is_same(output->path, other->path)) continue;
      throw UsageError(other->option == output->option
                           ? fmt::format("{}: {} would be written twice; give each policy once",
                                         output->option, shown(output->path))
                           : fmt::format("{}: {} would overwrite what {} writes; name another file",
                                         output->option, shown(output->path), other->option));
    }
  }
  for (const File& output : outputs_) {
    if (output.is_recording) {
      reports::require_recordable(output.option, output.path);
    } else if (reports::is_recording(output.path)) {
      throw UsageError(
          fmt::format("{}: {} is a recording, which would be lost; name another file, or remove it "
                      "first",
                      output.option, shown(output.path)));
    } else {
      require_writable(output.option, output.path);
    }
  }
}

}  // namespace vicinal::cli
