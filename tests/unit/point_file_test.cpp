// The file of measured points: what is kept, what is measured again.
#include "reproduction/point_file.hpp"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reproduction {
namespace {

using ::testing::HasSubstr;

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

Point point(double x) {
  return {.panel = "p",
          .series = "s",
          .x = x,
          .application = "lu",
          .machine = "v100",
          .policy = "hfp:flip=no"};
}

// Numbers that a decimal fraction does not hold.
Row measured(double x) {
  return {point(x), {.seconds = x / 3, .flops = 1e15 / 7, .from_below = 123456789012345.0}};
}

const std::vector<std::string> kMadeBy{"vicinal 1", "figure x"};
const std::vector<Point> kPoints{point(1), point(2), point(3)};

TEST(PointFile, KeepsRowsToTheLastDigit) {
  const vicinal::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.csv";
  {
    PointFile file(path, kMadeBy, kPoints);
    EXPECT_EQ(file.found(), PointFile::Found::nothing);
    file.append(measured(3));
    file.append(measured(1));
  }
  const PointFile file(path, kMadeBy, kPoints);
  EXPECT_EQ(file.found(), PointFile::Found::rows);
  EXPECT_TRUE(file.has(point(1)));
  EXPECT_FALSE(file.has(point(2)));
  // In the order of the points, whatever that of their ends.
  ASSERT_EQ(file.rows().size(), 2U);
  EXPECT_EQ(csv_line(file.rows()[0]), csv_line(measured(1)));
  EXPECT_EQ(csv_line(file.rows()[1]), csv_line(measured(3)));
  EXPECT_EQ(file.rows()[1].measures.seconds, 1.0);
  EXPECT_EQ(read(path), csv_text(kMadeBy, {measured(1), measured(3)}));
}

TEST(PointFile, ALineThatWasCutOffIsMeasuredAgain) {
  const vicinal::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.csv";
  const std::string whole = csv_text(kMadeBy, {measured(1), measured(2)});
  // Its last line without its end; then without half of its numbers, and another behind it.
  for (const std::string& text :
       {whole.substr(0, whole.size() - 1),
        whole.substr(0, whole.size() - 20) + "\n" + csv_line(measured(3))}) {
    std::ofstream(path) << text;
    const PointFile file(path, kMadeBy, kPoints);
    EXPECT_TRUE(file.has(point(1)));
    EXPECT_FALSE(file.has(point(2)));
    EXPECT_FALSE(file.has(point(3)));
    EXPECT_EQ(read(path), csv_text(kMadeBy, {measured(1)}));
  }
}

TEST(PointFile, AnotherVersionOrOtherColumnsBeginAnewAndSayWhy) {
  const vicinal::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.csv";
  std::ofstream(path) << csv_text({"vicinal 0", "figure x"}, {measured(1)});
  const PointFile other(path, kMadeBy, kPoints);
  EXPECT_EQ(other.found(), PointFile::Found::other);
  EXPECT_THAT(other.difference(), HasSubstr("vicinal 0"));
  EXPECT_TRUE(other.rows().empty());
  std::ofstream(path) << "# vicinal 1\n# figure x\na,b\n1,2\n";
  const PointFile columns(path, kMadeBy, kPoints);
  EXPECT_EQ(columns.found(), PointFile::Found::other);
  EXPECT_THAT(columns.difference(), HasSubstr("columns"));
}

TEST(PointFile, RowsOfOtherPointsGo) {
  const vicinal::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.csv";
  std::ofstream(path) << csv_text(kMadeBy, {measured(1), measured(4)});
  const PointFile file(path, kMadeBy, kPoints);
  EXPECT_EQ(read(path), csv_text(kMadeBy, {measured(1)}));
}

TEST(PointFile, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT([] { PointFile("/nowhere/x.csv", kMadeBy, kPoints); },
              ::testing::ThrowsMessage<DeviceError>(HasSubstr("/nowhere/x.csv")));
}

}  // namespace
}  // namespace vicinal::reproduction
