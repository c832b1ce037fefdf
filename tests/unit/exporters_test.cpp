// A run made by hand in every format. tests/cli/export.py reads the formats with other people's programs.
#include "exporters/exporters.hpp"

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporters/csv_file.hpp"
#include "exporters/timeline.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::exporters {
namespace {

using analysis::RecordedRun;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Quotes, a backslash, a line feed, HTML, a comma, and a byte that is no UTF-8.
const std::string kNasty = "a\"b\\c\n<i>&,\xff";
const std::string kLegibleNasty = "a\"b\\c\n<i>&,\xEF\xBF\xBD";

// Times in ns. Core 0 runs task 0 [100,300] and task 2 [900,900], gpu0 task 1 [500,900]; A comes to gpu0 in [300,450].
RecordedRun small_run() {
  RecordedRun run;
  run.facts.command = "vicinal simulate small";
  run.facts.machine.nodes = {{{0}, "ram", NodeKind::ram, std::nullopt},
                             {{1}, "gpu0", NodeKind::device, 1000_KiB}};
  run.facts.machine.links = {{.from = {0}, .to = {1}, .bandwidth = {1e9}, .latency = {10}},
                             {.from = {1}, .to = {0}, .bandwidth = {}, .latency = {}}};
  run.facts.machine.workers = {{.id = {0}, .kind = ProcessorKind::cpu, .node = {0}},
                               {.id = {1}, .kind = ProcessorKind::gpu, .node = {1}}};
  run.names = {"fill", kNasty, "last"};
  run.data = {{.id = 7, .name = "A", .bytes = 400, .home = 0},
              {.id = 8, .name = kNasty, .bytes = 600}};
  run.accesses = {{0, AccessMode::W}, {0, AccessMode::R}, {1, AccessMode::W}, {0, AccessMode::R}};
  run.tasks = {{.id = 40,
                .name = 0,
                .worker = 0,
                .submitted = 0,
                .ready = 10,
                .started = 100,
                .ended = 300,
                .first_access = 0,
                .access_count = 1},
               {.id = 41,
                .name = 1,
                .priority = -2,
                .worker = 1,
                .releasing = 0,
                .submitted = 5,
                .ready = 300,
                .started = 500,
                .ended = 900,
                .first_access = 1,
                .access_count = 2},
               {.id = 42,
                .name = 0,
                .own_name = 2,
                .worker = 0,
                .submitted = 6,
                .ready = 900,
                .started = 900,
                .ended = 900,
                .first_access = 3,
                .access_count = 1}};
  run.dependencies = {{.before = 1, .task = 2}};
  run.copies = {{.datum = 0,
                 .from = 0,
                 .to = 1,
                 .bytes = 400,
                 .urgent = true,
                 .wanted = 300,
                 .started = 300,
                 .ended = 450}};
  using Kind = analysis::RoomChange::Kind;
  run.room = {{.time = 300, .node = 1, .datum = 0, .used = 400, .kind = Kind::taken},
              {.time = 310, .node = 1, .datum = 1, .used = 1000, .kind = Kind::taken},
              {.time = 950, .node = 1, .datum = 0, .kind = Kind::evicted},
              {.time = 960, .node = 1, .datum = 0, .used = 600, .kind = Kind::freed}};
  run.marks = {{.text = kNasty, .lane = 2, .from = 500},
               {.text = "outer", .lane = 2, .from = 50, .to = 970, .is_region = true},
               {.text = "inner", .lane = 2, .from = 60, .is_region = true}};
  run.sleeps = {{.worker = 0, .from = 300, .to = 890}};
  run.end = 1000;
  return run;
}

std::string written(std::string_view format, const RecordedRun& run) {
  std::string text;
  find_format(format)->write_file({run}, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Timeline, SlicesThatOverlapLieOnSeveralRows) {
  RecordedRun run = small_run();
  // gpu0 is given task 2 at 600, while it runs task 1.
  run.tasks[2].worker = 1;
  run.tasks[2].started = 600;
  const Timeline timeline(run);
  ASSERT_EQ(timeline.tasks.size(), 3U);  // core 0, gpu0, gpu0 once more
  EXPECT_EQ(timeline.tasks[1].slices.size(), 1U);
  EXPECT_EQ(timeline.tasks[2].owner, 1U);
  EXPECT_EQ(timeline.tasks[2].place, 1U);
  EXPECT_EQ(timeline.tasks[2].slices[0].what, 2U);
  EXPECT_EQ(timeline.copies.size(), 2U);              // both links, of which one is unused
  EXPECT_EQ(timeline.regions.size(), 2U);             // the inner one lies within the outer one
  EXPECT_EQ(timeline.regions[1].slices[0].to, 1000);  // it has no end
}

TEST(Timeline, CountsReadyTasksThatHaveNotStarted) {
  const Timeline timeline(small_run());
  std::vector<std::pair<std::int64_t, std::int64_t>> levels;
  for (const Level& level : timeline.ready) levels.emplace_back(level.time, level.value);
  // Task 2 is ready and starts at 900.
  EXPECT_THAT(levels, ElementsAre(std::pair(10, 1), std::pair(100, 0), std::pair(300, 1),
                                  std::pair(500, 0), std::pair(900, 0)));
}

TEST(Timeline, ArrowsLeadFromACopyToTheFirstTaskThatReadsIt) {
  RecordedRun run = small_run();
  EXPECT_EQ(dependency_arrows(run).size(), 3U);  // A: 0 before 1 and 2; and 1 before 2
  ASSERT_EQ(copy_arrows(run).size(), 1U);
  EXPECT_EQ(copy_arrows(run)[0].to, 1U);
  run.copies[0].ended = 501;  // it came for somebody else
  EXPECT_TRUE(copy_arrows(run).empty());
}

// Reads a message of protocol buffers: pairs of field and, if it has a length, content.
struct FieldOfMessage {
  std::uint64_t field = 0;
  std::uint64_t number = 0;
  std::string_view content = {};
};
std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(0));
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
}
std::vector<FieldOfMessage> fields(std::string_view bytes) {
  std::vector<FieldOfMessage> found;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    FieldOfMessage field{key >> 3};
    if ((key & 7U) == 0) {
      field.number = take_varint(bytes);
    } else {
      const std::uint64_t length = (key & 7U) == 1 ? 8 : take_varint(bytes);
      field.content = bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
    found.push_back(field);
  }
  return found;
}

TEST(PerfettoExport, HasASliceForEachTaskCopyAndRegion) {
  const RecordedRun run = small_run();
  const std::string trace = written("perfetto", run);
  std::uint64_t tracks = 0;
  std::vector<std::uint64_t> events(5);  // by type
  for (const FieldOfMessage& packet : fields(trace)) {
    EXPECT_EQ(packet.field, 1U);
    for (const FieldOfMessage& field : fields(packet.content)) {
      if (field.field == 60) ++tracks;
      if (field.field != 11) continue;
      for (const FieldOfMessage& part : fields(field.content)) {
        if (part.field == 9) ++events.at(part.number);
      }
    }
  }
  // The run, ready tasks, 2 workers, memory of 2 nodes; links and 2; evictions and 2; application, marks and 2 rows of
  // regions.
  EXPECT_EQ(tracks, 6U + 3 + 3 + 4);
  EXPECT_EQ(events[1], 3U + 1 + 2);
  EXPECT_EQ(events[2], events[1]);
  EXPECT_EQ(events[3], 3U);      // what ran, the eviction, the mark
  EXPECT_EQ(events[4], 3U + 5);  // levels of gpu0, of ready tasks
  EXPECT_THAT(trace, HasSubstr(kLegibleNasty));
  EXPECT_THAT(trace, Not(HasSubstr(kNasty)));
}

TEST(PajeExport, WritesStatesAndLinksInTheOrderOfTime) {
  const std::string trace = written("paje", small_run());
  // No quotes within quotes and no line feeds: the format has no escapes.
  EXPECT_THAT(trace, HasSubstr("\n5 k1 ST \"a'b\\c <i>&,\xEF\xBF\xBD\" "));
  EXPECT_THAT(trace, HasSubstr("\n9 0.000000100 ST w0 k0 0 \"fill\"\n"));
  EXPECT_THAT(trace, HasSubstr("\n8 0.000000300 ST w0 idle\n"));
  EXPECT_THAT(trace, HasSubstr("\n10 0.000000300 SC l0 c0 0 \"A\" 400\n"));
  EXPECT_THAT(trace, HasSubstr("\n11 0.000000310 VU n1 1000\n"));
  EXPECT_THAT(trace, HasSubstr("\n12 0.000000300 LD run w0 after d0\n"));
  EXPECT_THAT(trace, HasSubstr("\n13 0.000000500 LD run w1 after d0\n"));
  EXPECT_THAT(trace, HasSubstr("\n12 0.000000450 LO run l0 reads o0\n"));
  EXPECT_THAT(trace, EndsWith("\n7 0.000001000 CR run\n"));
}

TEST(DotExport, EscapesLabels) {
  EXPECT_EQ(
      written("dot", small_run()),
      "digraph tasks {\n"
      "  label=\"vicinal simulate small\";\n"
      "  node [shape=box, style=filled, fillcolor=white];\n"
      "  t0 [task=0, label=\"fill #0\\ncore 0\\n100 ns + 200 ns\", tooltip=\"fill\\nW A\","
      " worker=0, fillcolor=\"#8dd3c7\", started_ns=100, ended_ns=300];\n"
      "  t1 [task=1, label=\"a\\\"b\\\\c\\n<i>&amp;,\xEF\xBF\xBD #1\\ngpu0\\n500 ns + 400 ns\","
      " tooltip=\"a\\\"b\\\\c\\n<i>&amp;,\xEF\xBF\xBD\\nR A\\nW "
      "a\\\"b\\\\c\\n<i>&amp;,\xEF\xBF\xBD\","
      " worker=1, fillcolor=\"#ffffb3\", started_ns=500, ended_ns=900];\n"
      "  t2 [task=2, label=\"last #2\\ncore 0\\n900 ns + 0 ns\", tooltip=\"fill\\nR A\","
      " worker=0, fillcolor=\"#8dd3c7\", started_ns=900, ended_ns=900];\n"
      "  t0 -> t1;\n"
      "  t0 -> t2;\n"
      "  t1 -> t2;\n"
      "}\n");
}

TEST(CsvExport, QuotesNamesAndLeavesCellsEmptyWhereNothingIsKnown) {
  const testing::TemporaryFolder folder("csv");
  const RecordedRun run = small_run();
  write_csv({run}, folder.path());
  EXPECT_EQ(content(folder.file("data.csv")),
            "datum,id,name,bytes,home,home_name,part_of\n"
            "0,7,A,400,0,ram,\n"
            "1,8,\"a\"\"b\\c\n<i>&,\xEF\xBF\xBD\",600,,,\n");
  EXPECT_THAT(content(folder.file("tasks.csv")),
              EndsWith("\n2,42,fill,last,0,compute,done,0,core 0,,6,900,,,,,900,900,0\n"));
  EXPECT_EQ(content(folder.file("dependencies.csv")), "task,after\n1,0\n2,0\n2,1\n");
  EXPECT_EQ(content(folder.file("copies.csv")),
            "copy,datum,datum_name,from,from_name,to,to_name,bytes,cause,urgent,failed,wanted_ns,"
            "started_ns,ended_ns\n0,0,A,0,ram,1,gpu0,400,task,1,0,300,300,450\n");
  EXPECT_THAT(content(folder.file("memory.csv")),
              EndsWith("\n950,1,gpu0,0,A,evicted,,0\n960,1,gpu0,0,A,freed,600,\n"));
  EXPECT_THAT(content(folder.file("links.csv")),
              EndsWith("\n0,ram,1,gpu0,1000000000,10\n1,gpu0,0,ram,,0\n"));
}

// A spreadsheet would compute them; numbers and what only looks like it stay.
TEST(CsvExport, NamesAreNoFormulas) {
  const testing::TemporaryFolder folder("csv");
  {
    CsvFile file(folder.path(), "names", {});
    for (const char* const name : {"=HYPERLINK(\"x\")", "+1+1", "-2+cmd|' /C calc'!A0", "@sum(a)",
                                   "\t=1", "-5", "-0.5e3", "a=b", "'=1", ""}) {
      file.row(name);
    }
    file.row(-3, 2.5);
    file.close();
  }
  EXPECT_EQ(content(folder.file("names.csv")),
            "\"'=HYPERLINK(\"\"x\"\")\"\n'+1+1\n'-2+cmd|' /C calc'!A0\n'@sum(a)\n'\t=1\n"
            "-5\n-0.5e3\na=b\n'=1\n\n-3,2.5\n");
}

TEST(CsvExport, SaysWhichFileCannotBeWritten) {
  const RecordedRun run = small_run();
  try {
    write_csv({run}, "/absent");
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/absent/run.csv: No such file"));
  }
}

TEST(Otf2Export, MakesAnArchiveOrNamesThePackage) {
  const Format& format = *find_format("otf2");
  if (format.write_folder == nullptr) {
    EXPECT_THAT(std::string(format.needs), HasSubstr("libopen-trace-format2-dev"));
    return;
  }
  const testing::TemporaryFolder folder("otf2");
  const RecordedRun run = small_run();
  format.write_folder({run}, folder.path());
  EXPECT_THAT(content(folder.file("traces.def")), HasSubstr("a\"b\\c <i>&,\xEF\xBF\xBD"));
  EXPECT_FALSE(content(folder.file("traces.otf2")).empty());
  EXPECT_FALSE(content(folder.file("traces/0.evt")).empty());  // the first worker
  EXPECT_THROW(format.write_folder({run}, folder.file("traces.otf2/below")), DeviceError);
}

TEST(Exports, OfARunInWhichNothingHappenedAreEmptyButWhole) {
  const RecordedRun run;
  EXPECT_THAT(written("paje", run), EndsWith("\n7 0.000000000 CR run\n"));
  EXPECT_THAT(written("dot", run), StartsWith("digraph tasks {\n  label=\"a run\";\n"));
  EXPECT_FALSE(written("perfetto", run).empty());
  const testing::TemporaryFolder folder("empty");
  write_csv({run}, folder.path());
  EXPECT_EQ(content(folder.file("sleeps.csv")), "worker,worker_name,from_ns,to_ns\n");
  EXPECT_EQ(find_format("chrome"), nullptr);
}

}  // namespace
}  // namespace vicinal::exporters
