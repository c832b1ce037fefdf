// docs/reproduction.md: an introduction, and a section per figure between two marks.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "reproduction/figures.hpp"
#include "reproduction/text.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kCounts = "<!-- counts -->\n";
constexpr std::string_view kEndOfCounts = "<!-- end of counts -->\n";

constexpr std::string_view kIntroduction = R"(# Figures of the papers, simulated

What Vicinal gives in simulation for the experiments of the papers whose methods it implements, and which of the papers'
statements hold here. `vicinal reproduce FIGURE --document docs/reproduction.md` writes a figure's section anew;
`vicinal reproduce` lists the figures, and [the user's guide](user-guide.md#figures-of-the-papers) says more.

The papers measured on machines, with the runtimes of their authors. Here the runtime is Vicinal. Statements are judged
by series that evict by the rules of the runtime that the paper measured ([memory_rules](options.md)): StarPU's for
papers 000 and 001, PaRSEC's for AP, XKaapi's for paper 003. Policies that choose the victims themselves keep their own.
Paper 004 is of ranks on clusters, where no memory is full.
Beside them, marked (ours), stands what Vicinal does by default. The machines are [described](machine-file.md): bandwidths
and the speed of gemm are the papers', other figures are assumptions that stand in `machines/`. Nothing was adjusted so
that a statement would hold.

A verdict is one of three:

- **holds**: what the paper says is so, and its number, if it gives one, is met from both sides: a ratio, a gain or a
  count within 25 % of it (a gain in speed also within 2 % of the speed), a speed within 10 %;
- **holds in sign**: what the paper says is so, but the number is not met;
- **does not hold**: the opposite is so, or nothing. The list below its table says what was tried to find the cause.

Two results that differ by no more than 2 % count as equal, as the measurements of paper 000 vary by less than that
(its section 6.1).

)";

// Verdicts of one paper. Of the page before: all figures under our own rules for a full memory, and a number met by
// whatever lay beyond it.
struct Counted {
  std::string_view paper;
  std::string_view about;
  int held = 0;
  int failed = 0;
};
constexpr std::array kBefore{Counted{"000", "DARTS, in StarPU", 21, 18},
                             Counted{"001", "HFP, in StarPU", 14, 4},
                             Counted{"002", "placement of data, in PaRSEC", 1, 3},
                             Counted{"003", "work stealing, in XKaapi", 10, 1},
                             Counted{"004", "broadcasts along trees, in StarPU"}};

int count(std::string_view text, std::string_view what) {
  int times = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + 1)) {
    ++times;
  }
  return times;
}

std::string opening(std::string_view name) {
  return fmt::format("<!-- figure {} -->\n", name);
}
std::string closing(std::string_view name) {
  return fmt::format("<!-- end of {} -->\n", name);
}

std::string_view section_of(std::string_view page, std::string_view name) {
  const std::size_t begin = page.find(opening(name));
  const std::size_t end = page.find(closing(name));
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return page.substr(begin, end - begin);
}

// How many statements have which verdict, by the sections that there are.
std::string counts_text(std::string_view page) {
  constexpr std::array kKinds{Verdict::Kind::holds, Verdict::Kind::sign, Verdict::Kind::fails};
  std::string text =
      "| paper | before: holds | does not hold | now: holds | holds in sign | does not hold "
      "|\n|---|---:|---:|---:|---:|---:|\n";
  std::array<int, kKinds.size()> all{};
  Counted before{"all", ""};
  for (const Counted& paper : kBefore) {
    std::array<int, kKinds.size()> now{};
    for (const Figure& figure : figures()) {
      if (!figure.name.starts_with(paper.paper)) continue;
      const std::string_view section = section_of(page, figure.name);
      for (std::size_t k = 0; k < kKinds.size(); ++k) {
        now[k] += count(section, fmt::format("| **{}** |\n", to_string(kKinds[k])));
      }
    }
    const bool was_there = paper.held + paper.failed > 0;
    text += fmt::format("| {} ({}) | {} | {} |\n", paper.paper, paper.about,
                        was_there ? fmt::format("{} | {}", paper.held, paper.failed) : "- | -",
                        fmt::join(now, " | "));
    for (std::size_t k = 0; k < kKinds.size(); ++k) all[k] += now[k];
    before.held += paper.held;
    before.failed += paper.failed;
  }
  text += fmt::format("| {} | {} | {} | {} |\n\n", before.paper, before.held, before.failed,
                      fmt::join(all, " | "));
  return text +
         "Before: all series under Vicinal's own rules, a number met by whatever lay beyond it, "
         "and fewer statements.\n";
}

std::string with_counts(std::string text) {
  const std::size_t begin = text.find(kCounts);
  const std::size_t end = text.find(kEndOfCounts);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return text;
  const std::size_t inner = begin + kCounts.size();
  return text.replace(inner, end - inner, "\n" + counts_text(text) + "\n");
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
  std::string text(page);
  if (page.empty()) text = fmt::format("{}{}{}", kIntroduction, kCounts, kEndOfCounts);
  const std::string first = opening(section.figure.name);
  const std::string last = closing(section.figure.name);
  const std::string whole = fmt::format("{}\n{}\n{}", first, section_text(section), last);
  const std::size_t begin = text.find(first);
  const std::size_t end = text.find(last);
  if (begin != std::string::npos && end != std::string::npos && begin < end) {
    return with_counts(text.replace(begin, end + last.size() - begin, whole));
  }
  const std::size_t place = place_of(text, section.figure.name);
  if (place == text.size()) return with_counts(text + "\n" + whole);
  return with_counts(text.insert(place, whole + "\n"));
}

}  // namespace vicinal::reproduction
