#include "reports/aligned.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace vicinal::reports {

std::string aligned(const std::vector<Cells>& rows, std::size_t names) {
  std::vector<std::size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += c == 0 ? "" : "  ";
      line += c < names ? fmt::format("{:<{}}", row[c], widths[c])
                        : fmt::format("{:>{}}", row[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace vicinal::reports
