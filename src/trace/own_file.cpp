#include "trace/own_file.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "vicinal/trace.hpp"

namespace vicinal::trace {

namespace {

namespace fs = std::filesystem;

// Of the process, as the option is: how often each file was asked for.
struct Taken {
  std::mutex mutex;
  std::map<std::string, std::size_t> times;
};

Taken& taken() {
  static auto* const all = new Taken;  // never destroyed: runtimes may be, late
  return *all;
}

// Or a file that is open already: beside its name there is no room for others.
bool is_other_than_file(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  if (folder == "/proc/self/fd" || folder == "/dev/fd") return true;
  std::error_code error;
  return fs::exists(file, error) && !fs::is_regular_file(file, error);
}

// "run.2.vtrace"
std::string with_suffix(const fs::path& path, const std::string& suffix) {
  return (path.parent_path() / (path.stem().string() + "." + suffix + path.extension().string()))
      .string();
}

}  // namespace

std::string next_own_file(const std::string& file) {
  if (is_other_than_file(file)) return file;
  std::error_code error;
  const fs::path path(file);
  const std::string key = fs::absolute(path, error).lexically_normal().string();
  Taken& all = taken();
  const std::lock_guard lock(all.mutex);
  const std::size_t times = ++all.times[key];
  if (times == 1) return file;
  return with_suffix(path, std::to_string(times));
}

}  // namespace vicinal::trace

std::string vicinal::file_of_rank(const std::string& file, RankId rank) {
  if (file.empty() || trace::is_other_than_file(file)) return file;
  return trace::with_suffix(file, "rank" + std::to_string(rank.value));
}
