#include "load_option.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <unistd.h>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"
#include "vicinal/extension.hpp"

namespace vicinal::cli {

namespace {

std::string opening;  // for the handler below

// The loader of the system lets no exception through.
[[noreturn]] void tell_of_initialiser() {
  std::string why = "what is no std::exception";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    why = "nothing: it called std::terminate";
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
  }
  fmt::print(stderr, "vicinal: --load: {}: an initialiser throws: {}\n",
             reports::legible_name(opening), reports::legible_name(why));
  std::fflush(stderr);
  ::_exit(kUsage);
}

void load(const std::string& file) {
  opening = file;
  const std::terminate_handler usual = std::set_terminate(tell_of_initialiser);
  try {
    load_extension(file);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--load: {}", error.what()));
  }
  std::set_terminate(usual);
}

}  // namespace

LoadOption::LoadOption(CLI::App& command) {
  command
      .add_option_function<std::vector<std::string>>(
          "--load",
          [this](const std::vector<std::string>& files) {
            files_ = files;
            for (const std::string& file : files) load(file);
          },
          "Shared object with policies or devices of your own, docs/write-a-policy.md; may be "
          "repeated.")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->take_all();
}

void LoadOption::add_to(CommandFiles& files) const {
  for (const std::string& file : files_) files.reads("--load", file);
}

}  // namespace vicinal::cli
