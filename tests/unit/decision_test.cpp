// Decisions as values, and the tables that name what is in them.
#include "trace/decision.hpp"

#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace vicinal {
namespace {

trace::Decision some_decision() {
  return {trace::Reason::first_pushed, trace::Among::tasks, Time{0}};
}

TEST(Decision, ListsTheFirstCandidatesAndTheWinner) {
  trace::Decision decision = some_decision();
  const std::uint64_t most = trace::Decision::kMostListed;
  for (std::uint64_t id = 0; id < most + 5; ++id) decision.consider({id, {}}, id == most + 3);
  ASSERT_EQ(decision.candidates.size(), most + 1);
  EXPECT_EQ(decision.candidates[most - 1].id, most - 1);
  EXPECT_EQ(decision.candidates[most].id, most + 3);
  EXPECT_EQ(decision.winner, most);
}

TEST(Decision, IsDecidedLaterAmongThoseListed) {
  trace::Decision decision = some_decision();
  decision.consider({7, {}});
  decision.consider({9, {}});
  EXPECT_EQ(decision.winner, std::nullopt);
  decision.choose(9);
  EXPECT_EQ(decision.winner, 1U);
}

TEST(Decision, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const auto& kind : trace::kinds()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
  names.clear();
  for (const auto& reason : trace::reasons()) {
    EXPECT_TRUE(names.insert(reason.name).second) << reason.name;
  }
  names.clear();
  for (const auto& measure : trace::measures()) {
    EXPECT_TRUE(names.insert(measure.name).second) << measure.name;
  }
}

std::string_view unit_name(trace::Unit unit) {
  switch (unit) {
    case trace::Unit::number:
      return "";
    case trace::Unit::nanoseconds:
      return "ns";
    case trace::Unit::bytes:
      return "bytes";
  }
  return {};
}

// Rows of the page that name an entry, as the tables say.
std::string rows() {
  std::string text;
  const auto add = [&](std::initializer_list<std::string_view> cells) {
    std::string row = "|";
    for (const std::string_view cell : cells) row += " " + std::string(cell) + " |";
    text += row + "\n";
  };
  for (const auto& kind : trace::kinds()) {
    add({"`" + std::string(kind.name) + "`", kind.sentence});
  }
  for (const auto& reason : trace::reasons()) {
    add({"`" + std::string(reason.name) + "`", trace::entry(reason.kind).name, reason.sentence});
  }
  for (const auto& measure : trace::measures()) {
    add({"`" + std::string(measure.name) + "`", unit_name(measure.unit), measure.sentence});
  }
  return text;
}

TEST(Decision, ThePageShowsTheTables) {
  std::ifstream page(VICINAL_SOURCE_DIR "/docs/decisions.md");
  std::string shown;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `")) shown += line + "\n";
  }
  EXPECT_EQ(shown, rows());
}

}  // namespace
}  // namespace vicinal
