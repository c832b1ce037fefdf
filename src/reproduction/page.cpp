// docs/reproduction.md: an introduction, and a section per figure between two marks.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "reproduction/figures.hpp"
#include "reproduction/text.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kIntroduction = R"(# Figures of the papers, simulated

What Vicinal gives in simulation for the experiments of the papers whose methods it implements, and which of the papers'
statements hold here. `vicinal reproduce FIGURE --document docs/reproduction.md` writes a figure's section anew;
`vicinal reproduce` lists the figures, and [the user's guide](user-guide.md#figures-of-the-papers) says more.

The papers measured on machines, with the runtimes of their authors. Here the runtime is Vicinal, with its own rules for
look-ahead, memory and write-backs, and the machines are [described](machine-file.md): bandwidths and the speed of gemm
are the papers', other figures are assumptions that stand in `machines/`. Nothing was adjusted so that a statement would
hold. A statement that does not hold may speak of the other runtime, of the machine or of the policy; numbers say by how
much.

Two results that differ by no more than 2 % count as equal, as the measurements of paper 000 vary by less than that
(its section 6.1).
)";

std::string opening(std::string_view name) {
  return fmt::format("<!-- figure {} -->\n", name);
}
std::string closing(std::string_view name) {
  return fmt::format("<!-- end of {} -->\n", name);
}

// Before the first section of a figure that comes later in the table; else at the end.
std::size_t place_of(std::string_view page, std::string_view name) {
  bool later = false;
  for (const Figure& figure : figures()) {
    if (later) {
      const std::size_t at = page.find(opening(figure.name));
      if (at != std::string_view::npos) return at;
    }
    later = later || figure.name == name;
  }
  return page.size();
}

}  // namespace

std::string with_section(std::string_view page, const Section& section) {
  std::string text(page.empty() ? kIntroduction : page);
  const std::string first = opening(section.figure.name);
  const std::string last = closing(section.figure.name);
  const std::string whole = fmt::format("{}\n{}\n{}", first, section_text(section), last);
  const std::size_t begin = text.find(first);
  const std::size_t end = text.find(last);
  if (begin != std::string::npos && end != std::string::npos && begin < end) {
    return text.replace(begin, end + last.size() - begin, whole);
  }
  const std::size_t place = place_of(text, section.figure.name);
  if (place == text.size()) return text + "\n" + whole;
  return text.insert(place, whole + "\n");
}

}  // namespace vicinal::reproduction
