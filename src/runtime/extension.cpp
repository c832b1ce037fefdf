// Shared objects that bring policies and kinds of devices.
#include "vicinal/extension.hpp"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/regular_file.hpp"
#include "drivers/device_kinds.hpp"
#include "sched/policy.hpp"
#include "vicinal/error.hpp"
#include "vicinal/version.hpp"

namespace vicinal {

namespace {

constexpr std::string_view kVersionPrefix = "vicinal_extension_";
constexpr const char* kVersionSymbol = "vicinal_extension_0_2";
constexpr const char* kEntry = "vicinal_register";

[[noreturn]] void refuse(const std::string& file, std::string_view why) {
  throw UsageError(fmt::format("{}: {}", base::legible_name(file), why));
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? std::string(name.get()) : symbol;
}

// Why the loader of the system has not opened it, in our words.
std::string why_not_opened(const std::string& path, std::string text) {
  if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
  constexpr std::string_view kUndefined = "undefined symbol: ";
  if (text.starts_with(kUndefined)) {
    std::string symbol = text.substr(kUndefined.size());
    symbol.resize(std::min(symbol.find_first_of(" ,\t"), symbol.size()));
    if (symbol == kVersionSymbol) {
      return "this program does not export its library; link it with a shared one, or with "
             "-rdynamic";
    }
    if (symbol.starts_with(kVersionPrefix)) {
      std::string made_for = symbol.substr(kVersionPrefix.size());
      std::replace(made_for.begin(), made_for.end(), '_', '.');
      return fmt::format(
          "compiled for version {} of the library, and this is {}; compile it again with the "
          "headers of this one",
          made_for, version());
    }
    return fmt::format(
        "it needs {}, which neither the file nor the library has; compile the missing part in, or "
        "link "
        "the file with its library",
        demangled(symbol));
  }
  return fmt::format("cannot be opened as a shared object: {}; compile it with -fPIC -shared",
                     text);
}

std::size_t all_registered() {
  return sched::registered_policies().size() + drivers::device_kinds().size();
}

}  // namespace

void load_extension(const std::string& file) {
  try {
    static_cast<void>(base::RegularFile(file));
  } catch (const base::RegularFile::Refused& refused) {
    refuse(file, fmt::format(
                     "{}; {}", refused.why,
                     refused.remedy.empty() ? "give the path of a shared object" : refused.remedy));
  }
  const std::size_t before = all_registered();
  // With a slash in it: else it would be looked for where the system has its libraries.
  const std::string path = std::filesystem::absolute(file).string();
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    const char* const text = ::dlerror();
    refuse(file, why_not_opened(path, text == nullptr ? "no reason is given" : text));
  }
  // It stays open: what it has registered is there.
  const void* const library = ::dlsym(object, kVersionSymbol);
  if (library != nullptr && library != &vicinal_extension_0_2) {
    refuse(file, "it has a library of its own inside; link it without libvicinal (headers alone)");
  }
  void* const entry = ::dlsym(object, kEntry);
  if (entry != nullptr) {
    try {
      reinterpret_cast<void (*)()>(entry)();
    } catch (const std::exception& error) {
      refuse(file, fmt::format("vicinal_register() failed: {}", error.what()));
    } catch (...) {
      refuse(file, "vicinal_register() failed: it threw what is no std::exception");
    }
  }
  if (all_registered() > before) return;
  refuse(file, entry == nullptr
                   ? "it registers nothing; define extern \"C\" void vicinal_register(), and "
                     "register policies or devices there"
                   : "vicinal_register() registers nothing; call register_policy or "
                     "register_device_kind there");
}

}  // namespace vicinal
