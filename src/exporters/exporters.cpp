#include "exporters/exporters.hpp"

#include <utility>

#include "trace/open_runs.hpp"

namespace vicinal::exporters {

namespace {

#if VICINAL_HAVE_OTF2
constexpr auto kWriteOtf2 = write_otf2;
constexpr std::string_view kOtf2Needs = {};
#else
constexpr void (*kWriteOtf2)(const Recording&, const std::string&) = nullptr;
constexpr std::string_view kOtf2Needs = "OTF2 (Debian: libopen-trace-format2-dev)";
#endif

#if VICINAL_HAVE_SQLITE
constexpr auto kWriteSqlite = write_sqlite;
constexpr std::string_view kSqliteNeeds = {};
#else
constexpr void (*kWriteSqlite)(const Recording&, Sink) = nullptr;
constexpr std::string_view kSqliteNeeds = "SQLite (Debian: libsqlite3-dev)";
#endif

constexpr Format kFormats[] = {
    {.name = "perfetto",
     .sentence = "a file for the page ui.perfetto.dev and Perfetto's trace processor",
     .write_file = write_perfetto},
    {.name = "otf2",
     .sentence = "a folder for Vampir, Score-P's tools and otf2-print",
     .write_folder = kWriteOtf2,
     .needs = kOtf2Needs},
    {.name = "paje", .sentence = "a file for ViTE, PajeNG and pj_dump", .write_file = write_paje},
    {.name = "csv",
     .sentence = "a folder of tables for pandas, R and spreadsheets, with every event",
     .write_folder = write_csv},
    {.name = "sqlite",
     .sentence = "a file for sqlite3, pandas and all that speaks SQL: the tables of csv, and views",
     .write_file = kWriteSqlite,
     .needs = kSqliteNeeds},
    {.name = "dot",
     .sentence = "a file for graphviz: the graph of tasks, coloured by worker",
     .write_file = write_dot},
    {.name = "graph",
     .sentence = "a file for vicinal simulate --graph and other readers of docs/graph-file.md",
     .write_file = write_graph},
    {.name = "plan",
     .sentence = "a file for --plan: a run of the same application that does the same",
     .write_file = write_plan},
};

}  // namespace

RecordedFile::RecordedFile(const std::string& path) : RecordedFile(std::span(&path, 1)) {}

RecordedFile::RecordedFile(std::span<const std::string> files)
    : source_(std::move(trace::open_runs(files, 1).at(0))),
      run_(std::make_unique<analysis::RecordedRun>(*source_, false)) {}

RecordedFile::~RecordedFile() = default;

Recording RecordedFile::recording() const {
  return {.run = *run_, .file = source_.get()};
}

std::span<const Format> formats() {
  return kFormats;
}

const Format* find_format(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace vicinal::exporters
