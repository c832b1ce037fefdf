// The sources of the page, share/report/, and the script of pictures, which the build puts into the library.
#pragma once

#include <span>
#include <string_view>

namespace vicinal::reports {

struct PageAsset {
  std::string_view name;  // "gantt.js"
  std::string_view text;
};
// Defined in a file that cmake/VicinalPage.cmake writes. Empty where the sources were not there to build with.
std::span<const PageAsset> page_assets();

}  // namespace vicinal::reports
