#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/event.hpp"
#include "trace/head.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(EventTable, IsInTheOrderOfItsEnumerations) {
  for (std::size_t i = 0; i < events().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(events()[i].event), i) << events()[i].name;
  }
  EXPECT_EQ(events().back().event, Event::of_rank);
  for (std::size_t i = 0; i < categories().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(categories()[i].category), i) << categories()[i].name;
  }
  EXPECT_EQ(categories().back().category, Category::application);
  EXPECT_EQ(kAllCategories, (1U << categories().size()) - 1);
}

TEST(EventTable, HasEachNameOnce) {
  std::set<std::string_view> names;
  for (const EventEntry& each : events()) EXPECT_TRUE(names.insert(each.name).second) << each.name;
  std::set<std::string_view> words;
  for (const CategoryEntry& each : categories()) {
    EXPECT_TRUE(words.insert(each.name).second) << each.name;
  }
  for (const EventEntry& each : events()) {
    std::set<std::string_view> fields;
    for (std::size_t i = 0; i < each.field_count(); ++i) {
      EXPECT_TRUE(fields.insert(each.fields[i].name).second) << each.name;
    }
  }
}

TEST(EventTable, SaysWhatEverythingIs) {
  for (const EventEntry& each : events()) {
    EXPECT_GE(each.field_count(), 1U) << each.name;
    EXPECT_FALSE(each.sentence.empty()) << each.name;
    for (std::size_t i = 0; i < each.field_count(); ++i) {
      const Field& field = each.fields[i];
      EXPECT_FALSE(field.sentence.empty()) << each.name << ", " << field.name;
      EXPECT_EQ(field.type == FieldType::choice, !field.choices.empty())
          << each.name << ", " << field.name;
    }
  }
}

TEST(EventTable, HasNamesForAllTypesAndTails) {
  EXPECT_EQ(to_string(FieldType::number), "number");
  EXPECT_EQ(to_string(FieldType::choice), "choice");
  EXPECT_EQ(to_string(Tail::none), "none");
  EXPECT_EQ(to_string(Tail::scores), "scores");
}

TEST(ParseCategories, TakesAllOrAListAndAlwaysWhatNothingCanBeReadWithout) {
  EXPECT_EQ(parse_categories("all"), kAllCategories);
  EXPECT_EQ(parse_categories("tasks"), bit(Category::always) | bit(Category::tasks));
  EXPECT_EQ(parse_categories(" memory , decisions "),
            bit(Category::always) | bit(Category::memory) | bit(Category::decisions));
  EXPECT_EQ(parse_categories("tasks,all"), kAllCategories);
}

TEST(ParseCategories, OffersTheNearestWordForOneThatItDoesNotKnow) {
  const auto refusal = [](std::string_view text) -> std::string {
    try {
      parse_categories(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("tasks,transfer"),
              AllOf(HasSubstr("\"transfer\""), HasSubstr("did you mean \"transfers\"?")));
  EXPECT_THAT(refusal("xyzzy"), HasSubstr("all, tasks, transfers, memory, scheduler, submission, "
                                          "decisions, application"));
  EXPECT_THAT(refusal(""), HasSubstr("the categories are"));
  EXPECT_THAT(refusal("tasks,"), HasSubstr("the categories are"));
}

}  // namespace
}  // namespace vicinal::trace
