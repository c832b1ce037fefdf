#include "matrix_options.hpp"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// See linalg::TileGrid::is_sound.
constexpr std::uint64_t kLargestSize = 1ULL << 25;
constexpr std::uint64_t kLargestTile = 1ULL << 20;

// What the runtime notes of a datum: its handle and its replicas.
constexpr std::uint64_t kNotesOfATile = 512;

linalg::Precision parse_precision(const std::string& text) {
  if (text == "double") return linalg::Precision::f64;
  if (text == "float") return linalg::Precision::f32;
  throw UsageError(fmt::format("--precision: \"{}\" is neither double nor float", text));
}

// Found out before a computer without memory for them ends the run.
void require_notes(const linalg::TileGrid& grid) {
  const Bytes memory = installed_memory();
  if (grid.is_sound() && grid.lower_tiles() <= memory.value / kNotesOfATile) return;
  throw UsageError(
      fmt::format("--tile: {} elements in tiles of {} are {} x {} tiles, too many to keep account "
                  "of in the {} of this computer: make it larger, or --size smaller",
                  grid.size, grid.tile, grid.tiles(), grid.tiles(), reports::format_bytes(memory)));
}

void require_same(std::string_view option, const std::string& given, const std::string& in_file) {
  if (given == in_file) return;
  throw UsageError(fmt::format("{}: {} was given, but the file holds {}; leave the option away",
                               option, given, in_file));
}

}  // namespace

Bytes installed_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return kLargestData;  // not known
  return {static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)};
}

MatrixOptions::MatrixOptions(CLI::App& command, std::vector<std::string> applications)
    : command_(command.get_name()), applications_(std::move(applications)) {
  command
      .add_option("application", application_, fmt::format("{}", fmt::join(applications_, ", ")))
      ->type_name("APPLICATION");
  size_option_ = command.add_option("--size", size_, "Order of the matrix, in elements.")
                     ->type_name("INTEGER [8192]");
  tile_option_ = command.add_option("--tile", tile_, "Order of a tile, in elements.")
                     ->type_name("INTEGER [512]");
  precision_option_ =
      command.add_option("--precision", precision_, "double or float.")->type_name("TEXT [double]");
}

const std::string& MatrixOptions::application() const {
  const auto known = [&] { return fmt::format("{}", fmt::join(applications_, ", ")); };
  if (application_.empty()) {
    throw UsageError(fmt::format("say which application: vicinal {} {}; there are {}", command_,
                                 applications_.front(), known()));
  }
  if (std::find(applications_.begin(), applications_.end(), application_) != applications_.end()) {
    return application_;
  }
  const std::string near = reports::suggestion(application_, applications_);
  throw UsageError(fmt::format("there is no application {}{}", application_,
                               near.empty() ? "; there are " + known() : near));
}

void MatrixOptions::refuse(std::string_view why) const {
  for (const CLI::Option* const option : {size_option_, tile_option_, precision_option_}) {
    if (option->count() == 0) continue;
    throw UsageError(fmt::format("{}: {}; leave the option away", option->get_name(), why));
  }
}

linalg::TileGrid MatrixOptions::parse(const std::optional<linalg::TileGrid>& file) const {
  application();
  linalg::TileGrid grid{.size = reports::parse_count("--size", size_, 1, kLargestSize),
                        .tile = reports::parse_count("--tile", tile_, 1, kLargestTile),
                        .precision = parse_precision(precision_)};
  if (file) {
    if (size_option_->count() > 0) require_same("--size", size_, fmt::to_string(file->size));
    if (tile_option_->count() > 0) require_same("--tile", tile_, fmt::to_string(file->tile));
    if (precision_option_->count() > 0) {
      require_same("--precision", precision_, std::string(to_string(file->precision)));
    }
    return *file;
  }
  if (grid.tile > grid.size && tile_option_->count() > 0) {
    throw UsageError(
        fmt::format("--tile: {0} is larger than the matrix (--size {1}): make it at "
                    "most {1}",
                    grid.tile, grid.size));
  }
  grid.tile = std::min(grid.tile, grid.size);
  require_notes(grid);
  return grid;
}

}  // namespace vicinal::cli
