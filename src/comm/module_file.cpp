#include "comm/module_file.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vicinal/error.hpp"

namespace vicinal::comm {

namespace {

// Of the shared library, or of the program that has the static one inside.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_in_module), &info) == 0) return {};
  std::error_code error;
  const auto file = std::filesystem::canonical(info.dli_fname, error);
  if (!error) return file.parent_path();
  return std::filesystem::canonical("/proc/self/exe", error).parent_path();
}

std::vector<std::string> places_of(std::string_view file) {
  std::vector<std::string> places;
  if (const auto folder = own_folder(); !folder.empty()) {
    places.push_back((folder / file).string());
    if (folder.filename() == "bin") {
      places.push_back((folder.parent_path() / VICINAL_LIBRARY_FOLDER / file).string());
    }
  }
  places.emplace_back(file);  // the search of the system: RUNPATH, LD_LIBRARY_PATH, its own folders
  places.push_back((std::filesystem::path(VICINAL_INSTALLED_LIBRARIES) / file).string());
  return places;
}

}  // namespace

void* find_in_module(std::string_view file, const char* function, std::string_view brought) {
  const auto places = places_of(file);
  for (const std::string& place : places) {
    const bool searched = place == file;
    std::error_code error;
    if (!searched && !std::filesystem::exists(place, error)) continue;
    void* const module = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      const char* const text = ::dlerror();
      const std::string why = text == nullptr ? "no reason is given" : text;
      // Else it is there, and something that it needs is not.
      if (searched && why.starts_with(file)) continue;
      throw UsageError(
          fmt::format("{}: cannot be loaded: {}; install {}'s library, or set VICINAL_MPI=none to "
                      "let each process run alone",
                      place, why, brought));
    }
    if (void* const found = ::dlsym(module, function); found != nullptr) return found;
    throw UsageError(fmt::format(
        "{}: of another version than the library, for it has no {}; install both from one build",
        place, function));
  }
  throw UsageError(
      fmt::format("{} is not there, tried {}: it connects the processes over {}; build the library "
                  "where {} is installed, name the module's folder by LD_LIBRARY_PATH, or set "
                  "VICINAL_MPI=none to let each process run alone",
                  file, fmt::join(places, ", "), brought, brought));
}

}  // namespace vicinal::comm
