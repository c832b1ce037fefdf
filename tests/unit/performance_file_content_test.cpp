// The file of measured run times: the times that return, the refused contents, and the file's place.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "machine/performance_model.hpp"
#include "support/learned_runs.hpp"
#include "support/random_runs.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::machine {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::HasSubstr;
using Reading = PerformanceModel::Reading;

std::string file_in(const TemporaryFolder& folder) {
  return *performance_model_file(folder.path());
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(PerformanceFile, BringsBackWhatWasLearnedAndAddsToIt) {
  const TemporaryFolder folder("models");
  const std::string path = file_in(folder);
  std::string why;
  {
    PerformanceModel model;
    EXPECT_EQ(model.read(path, why), Reading::absent);
    EXPECT_TRUE(model.write(path, why));  // nothing was learned
    EXPECT_FALSE(std::filesystem::exists(path));
    add(model, 1000, 500, 20);
    add(model, 2000, 900);
    EXPECT_TRUE(model.write(path, why)) << why;
  }
  PerformanceModel model;
  ASSERT_EQ(model.read(path, why), Reading::read) << why;
  EXPECT_EQ(model.predict("f", kCpu, footprint(1000)), Time{500});
  EXPECT_EQ(model.predict("f", kCpu, footprint(2000)), Time{900});
  EXPECT_EQ(model.runs("f", kCpu, footprint(1000)), 20U);
  add(model, 1000, 500);
  PerformanceModel other;  // another process, which learned meanwhile
  ASSERT_EQ(other.read(path, why), Reading::read);
  add(other, 3000, 1300);
  ASSERT_TRUE(other.write(path, why));
  ASSERT_TRUE(model.write(path, why));
  PerformanceModel both;
  ASSERT_EQ(both.read(path, why), Reading::read);
  EXPECT_EQ(both.runs("f", kCpu, footprint(1000)), 21U);
  EXPECT_EQ(both.runs("f", kCpu, footprint(2000)), 1U);
  EXPECT_EQ(both.runs("f", kCpu, footprint(3000)), 1U);
  // Replaced as a whole: nothing else is left in the folder.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

std::string well_formed() {
  const TemporaryFolder folder("models");
  PerformanceModel model;
  add(model, 1000, 500, 3);
  std::string why;
  EXPECT_TRUE(model.write(file_in(folder), why));
  return content(file_in(folder));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  return text.replace(at, from.size(), to);
}

Reading read_text(const std::string& text, std::string& why) {
  const TemporaryFolder folder("models");
  std::ofstream(file_in(folder)) << text;
  PerformanceModel model;
  const Reading reading = model.read(file_in(folder), why);
  if (reading == Reading::refused) {
    EXPECT_FALSE(why.empty());
    EXPECT_EQ(model.runs("f", kCpu, footprint(1000)), 0U);  // nothing of it is taken over
    add(model, 1000, 500);
    EXPECT_FALSE(model.write(file_in(folder), why)) << "what is not ours is not replaced";
    EXPECT_EQ(content(file_in(folder)), text);
  }
  return reading;
}

TEST(PerformanceFile, WhatIsNotAsItIsWrittenIsRefusedAndLeftAsItIs) {
  const std::string good = well_formed();
  std::string why;
  EXPECT_EQ(read_text(good, why), Reading::read);
  const std::vector<std::string> bad = {
      "",
      "{}",
      "[1]",
      "null",
      std::string(100'000, '['),
      std::string("\0\1\2", 3),
      good.substr(0, good.size() / 2),
      replaced(good, "vicinal performance model", "another"),
      replaced(good, "\"count\":3", "\"count\":2"),
      replaced(good, "\"count\":3", "\"count\":-3"),
      replaced(good, "\"count\":3", "\"count\":1e9"),
      replaced(good, "\"kind\":\"cpu\"", "\"kind\":\"tpu\""),
      replaced(good, "[500,500,500]", "[]"),
      replaced(good, "[500,500,500]", "[500,0,500]"),
      replaced(good, "[500,500,500]", "[500,9223372036854775807,500]"),
      replaced(good, "[500,500,500]", "[500,\"500\",500]"),
      replaced(good, "\"bytes\":1000", "\"bytes\":null"),
      replaced(good, "\"footprint\":\"", "\"footprint\":\"x"),
  };
  for (const std::string& text : bad) {
    EXPECT_EQ(read_text(text, why), Reading::refused) << text.substr(0, 300);
  }
  EXPECT_EQ(read_text(replaced(good, "\"version\":1", "\"version\":2"), why), Reading::refused);
  EXPECT_THAT(why, HasSubstr("version"));
  EXPECT_EQ(read_text(replaced(good, "\"host\":\"", "\"host\":\"not-"), why), Reading::refused);
  EXPECT_THAT(why, HasSubstr("host not-"));
}

TEST(PerformanceFile, WhatCannotBeReadOrWrittenIsNoCrash) {
  const TemporaryFolder folder("models");
  std::string why;
  PerformanceModel model;
  add(model, 8, 8);
  EXPECT_EQ(model.read(folder.path(), why), Reading::refused);  // a folder
  EXPECT_FALSE(model.write("/proc/vicinal/models.json", why));
  EXPECT_FALSE(why.empty());
}

// Any change of a byte or two, or a part that is cut out or doubled: read or refused, never worse. What
// is read predicts something.
class FuzzedPerformanceFile : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FuzzedPerformanceFile, IsReadOrRefused) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  base::Random random(GetParam());
  static const std::string good = well_formed();
  for (int round = 0; round < 100; ++round) {
    std::string text = good;
    for (std::uint64_t change = 0; change <= random.below(3); ++change) {
      const std::size_t at = random.below(text.size());
      const std::size_t length = random.below(std::min<std::size_t>(text.size() - at, 40)) + 1;
      const std::uint64_t kind = random.below(4);
      if (kind == 0) text[at] = static_cast<char>(random.below(256));
      if (kind == 1) text.erase(at, std::min(length, text.size() - 1));
      if (kind == 2) text.insert(at, text.substr(at, length));
      if (kind == 3) text[at] = "0123456789-.eE\"{}[],:"[random.below(21)];
      if (text.empty()) text = "x";
    }
    std::string why;
    read_text(text, why);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FuzzedPerformanceFile,
                         ::testing::ValuesIn(vicinal::testing::seeds(5)));

// A variable of the environment, until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(PerformanceFile, LiesInTheUsersCacheUnlessAFolderIsNamed) {
  const Variable home("HOME", "/home/somebody");
  {
    const Variable cache("XDG_CACHE_HOME", "/cache");
    EXPECT_THAT(*performance_model_file(""), ::testing::StartsWith("/cache/vicinal/models/"));
    EXPECT_THAT(*performance_model_file(""), ::testing::EndsWith(".json"));
    EXPECT_THAT(*performance_model_file("/models"), ::testing::StartsWith("/models/"));
  }
  const Variable cache("XDG_CACHE_HOME", nullptr);
  EXPECT_THAT(*performance_model_file(""),
              ::testing::StartsWith("/home/somebody/.cache/vicinal/models/"));
  const Variable no_home("HOME", nullptr);
  EXPECT_FALSE(performance_model_file("").has_value());
}

}  // namespace
}  // namespace vicinal::machine
