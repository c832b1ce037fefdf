// The blocks of a dense application as registered data, in memory or in tile files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "linalg/application.hpp"
#include "linalg/tile_file.hpp"
#include "play/tile_advice.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

// Where content comes from and where it is left. Files hold lower tiles: they are Cholesky's alone.
struct DataPlaces {
  std::uint64_t seed = 1;   // of what is generated
  std::string matrix = {};  // file with the content at the start, left as it is; empty: generated
  std::string output = {};  // file in which the data are left; empty: they are forgotten
  TileContent left = TileContent::lower;
  // RAM that holds the data, packed, each from a page on; outlives their registration. Null: the runtime's.
  std::byte* memory = nullptr;
  // Which of several ranks has which data, by the tile of the result at their place; none: Distribution::automatic.
  std::optional<Distribution> distribution = {};
  // Of the accelerators of a rank, for which its data are advised in the same way; none: nothing is advised.
  std::optional<play::DeviceGrid> devices = {};
};

// A part of a generated matrix, from this element on. Trivially copyable: travels in the parameters of a task.
struct GeneratedPart {
  Generator generator;
  std::uint64_t first_row = 0;
  std::uint64_t first_column = 0;
};

// Writes the part that its parameter, GeneratedPart, names to its operand.
const Codelet& generate_codelet(Precision precision);

class ApplicationData {
 public:
  // Registers them without content. The application outlives this object. Throws UsageError for files that do
  // not fit the application.
  ApplicationData(Runtime& runtime, const Application& application, const DataPlaces& places);

  // What DataPlaces::memory takes.
  static Bytes memory_of(const Application& application);

  const Application& application() const { return application_; }
  Precision precision() const { return application_.grid.precision; }
  Handle operator[](std::size_t datum) const { return handles_[datum]; }
  // What the datum holds at the start: a formula, or another datum's content.
  std::variant<GeneratedPart, Handle> content(std::size_t datum) const;
  // Data that have content at the start.
  std::uint64_t fill_tasks() const;
  // Submits one task for each of them. Does not wait.
  void fill(Runtime& runtime) const;
  // Unregisters all, also when one cannot be written back; then throws the first error. Else files are complete.
  void unregister(Runtime& runtime);

 private:
  void open_matrix(Runtime& runtime, const DataPlaces& places, const Distribution& distribution);

  const Application& application_;
  std::uint64_t seed_;
  std::vector<Handle> handles_;  // one per datum of the application
  std::vector<Handle> matrix_;   // the same in the file to read; empty: there is none
  std::optional<TileFile> output_;
};

}  // namespace vicinal::linalg
