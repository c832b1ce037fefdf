#include "trace/own_file.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

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

}  // namespace

std::string next_own_file(const std::string& file) {
  std::error_code error;
  if (fs::exists(file, error) && !fs::is_regular_file(file, error)) return file;
  const fs::path path(file);
  const std::string key = fs::absolute(path, error).lexically_normal().string();
  Taken& all = taken();
  const std::lock_guard lock(all.mutex);
  const std::size_t times = ++all.times[key];
  if (times == 1) return file;
  const std::string name =
      path.stem().string() + "." + std::to_string(times) + path.extension().string();
  return (path.parent_path() / name).string();
}

}  // namespace vicinal::trace
