// The files of machines/, which the build puts into the library: an installed program finds them
// wherever it lies.
#pragma once

#include <span>
#include <string_view>

namespace vicinal::machine {

struct ShippedText {
  std::string_view name;  // stem of the file
  std::string_view text;
};
// In the order of their names. Defined in a file that cmake/VicinalMachines.cmake writes.
std::span<const ShippedText> shipped_texts();
// Of machines/*.csv, likewise: surfaces of the memory.
std::span<const ShippedText> shipped_surfaces();

}  // namespace vicinal::machine
