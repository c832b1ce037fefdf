// What is said behind a policy's name.
#include "sched/settings.hpp"

#include <string>

#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sched {
namespace {

constexpr Setting kKnown[] = {
    {"flip", "yes", "yes|no", "packages are reversed"},
    {"victims", "belady", "belady|lru", "who goes"},
    {"skew", "20", "number", "how much"},
};

Settings said(std::string_view text) {
  return {"pack", text, kKnown};
}

std::string refusal(std::string_view text) {
  try {
    said(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "taken";
}

TEST(PolicySettings, AreAsUsualWhereNothingIsSaid) {
  const Settings settings = said("");
  EXPECT_TRUE(settings.yes("flip"));
  EXPECT_EQ(settings.text("victims"), "belady");
  EXPECT_EQ(settings.number("skew"), 20);
}

TEST(PolicySettings, AreWhatIsSaidTheLastOneCounts) {
  const Settings settings = said("skew=0.5:flip=no:victims=lru:flip=yes");
  EXPECT_TRUE(settings.yes("flip"));
  EXPECT_EQ(settings.text("victims"), "lru");
  EXPECT_EQ(settings.number("skew"), 0.5);
}

TEST(PolicySettings, AreRefusedWithWhatMayBeSaid) {
  EXPECT_EQ(refusal("flap=no"), "policy pack has no setting \"flap\"; it has flip, victims, skew");
  EXPECT_EQ(refusal("flip"), "policy pack: flip=\"\" is not understood; give yes|no");
  EXPECT_EQ(refusal("flip=yes|no"), "policy pack: flip=\"yes|no\" is not understood; give yes|no");
  EXPECT_EQ(refusal("skew=-1"),
            "policy pack: skew=\"-1\" is not understood; give a number, at least 0");
  EXPECT_EQ(refusal("skew=nan"),
            "policy pack: skew=\"nan\" is not understood; give a number, at least 0");
}

TEST(PolicySettings, AreNotForAPolicyThatHasNone) {
  try {
    make_policy("eager:flip=no");
    FAIL() << "no exception";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "policy eager has no settings: leave \":flip=no\" out");
  }
  EXPECT_EQ(make_policy("eager:")->name(), "eager");
}

TEST(PolicySettings, ThatAPolicyDoesNotListAreItsOwnError) {
  EXPECT_THROW(static_cast<void>(said("").text("flap")), std::logic_error);
}

}  // namespace
}  // namespace vicinal::sched
