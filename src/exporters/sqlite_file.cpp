#if VICINAL_HAVE_SQLITE

#include "exporters/sqlite_file.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::exporters {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

std::string folder_for_temporary_files() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

std::string_view type_of(Column::Type type) {
  constexpr std::string_view names[] = {"INTEGER", "REAL", "TEXT"};
  return names[static_cast<std::size_t>(type)];
}

// Of a column by which rows are looked for.
bool is_key(std::string_view name) {
  for (const std::string_view key : {"task", "worker", "datum", "handle", "node", "copy",
                                     "decision", "time_ns", "from_ns", "started_ns", "after"}) {
    if (name == key) return true;
  }
  return false;
}

}  // namespace

class SqliteTable final : public Table {
 public:
  SqliteTable(SqliteFile& file, std::string name, const std::vector<Column>& columns)
      : file_(file), name_(std::move(name)) {
    std::string list;
    std::string places;
    for (const Column& column : columns) {
      list +=
          fmt::format("{}\"{}\" {}", list.empty() ? "" : ", ", column.name, type_of(column.type));
      places += places.empty() ? "?" : ", ?";
      if (is_key(column.name)) keys_.emplace_back(column.name);
    }
    file_.execute(fmt::format("CREATE TABLE \"{}\" ({})", name_, list));
    const std::string insert = fmt::format("INSERT INTO \"{}\" VALUES ({})", name_, places);
    sqlite3_stmt* statement = nullptr;
    file_.check(sqlite3_prepare_v2(file_.base_.get(), insert.c_str(), -1, &statement, nullptr));
    insert_.reset(statement);
  }

  void end_row() override {
    if (sqlite3_step(insert_.get()) != SQLITE_DONE) {
      file_.refuse(sqlite3_errmsg(file_.base_.get()));
    }
    file_.check(sqlite3_reset(insert_.get()));
    file_.check(sqlite3_clear_bindings(insert_.get()));
    place_ = 0;
  }
  // Rows come faster without an index.
  void close() override {
    insert_.reset();
    for (const std::string& key : keys_) {
      file_.execute(fmt::format("CREATE INDEX \"{0}_by_{1}\" ON \"{0}\" (\"{1}\")", name_, key));
    }
  }

 private:
  void put_text(std::string_view text) override {
    const std::string clean = base::legible(text);
    file_.check(sqlite3_bind_text64(insert_.get(), ++place_, clean.data(), clean.size(),
                                    SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  void put_integer(std::int64_t value) override {
    file_.check(sqlite3_bind_int64(insert_.get(), ++place_, value));
  }
  void put_unsigned(std::uint64_t value) override { put_integer(static_cast<std::int64_t>(value)); }
  void put_real(double value) override {
    file_.check(sqlite3_bind_double(insert_.get(), ++place_, value));
  }
  void put_nothing() override { ++place_; }  // NULL

  SqliteFile& file_;
  std::string name_;
  std::vector<std::string> keys_;
  std::unique_ptr<sqlite3_stmt, SqliteFile::Closer> insert_;
  int place_ = 0;
};

SqliteFile::SqliteFile() : path_(folder_for_temporary_files() + "/vicinal-sqlite-XXXXXX") {
  file_ = ::mkostemp(path_.data(), O_CLOEXEC);
  if (file_ < 0) refuse(std::strerror(errno));
  sqlite3* base = nullptr;
  const int opened = sqlite3_open_v2(path_.c_str(), &base, SQLITE_OPEN_READWRITE, nullptr);
  base_.reset(base);
  // Nobody else reads it, and what is not finished is thrown away.
  if (opened == SQLITE_OK) {
    sqlite3_exec(base,
                 "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                 "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; "
                 "PRAGMA application_id = 0x56494354",
                 nullptr, nullptr, nullptr);
  }
  const int unlinked = ::unlink(path_.c_str());
  if (opened != SQLITE_OK || unlinked != 0) {
    const std::string why = base_ ? sqlite3_errmsg(base_.get()) : "there is no memory";
    ::close(file_);
    refuse(why);
  }
  execute("BEGIN");
}

SqliteFile::~SqliteFile() {
  ::close(file_);
}

void SqliteFile::refuse(std::string_view why) const {
  throw DeviceError(fmt::format(
      "cannot write the database in {}: {}; make room there, or name another folder in TMPDIR",
      base::legible_name(folder_for_temporary_files()), why));
}

void SqliteFile::check(int code) const {
  if (code != SQLITE_OK) refuse(sqlite3_errmsg(base_.get()));
}

void SqliteFile::execute(const std::string& statements) {
  check(sqlite3_exec(base_.get(), statements.c_str(), nullptr, nullptr, nullptr));
}

std::unique_ptr<Table> SqliteFile::add(Kind kind, std::string_view name,
                                       const std::vector<Column>& columns) {
  return std::make_unique<SqliteTable>(
      *this, fmt::format("{}{}", kind == Kind::events ? "event_" : "", name), columns);
}

void SqliteFile::write_to(Sink sink) {
  execute("COMMIT");
  if (sqlite3_close(base_.get()) != SQLITE_OK) refuse(sqlite3_errmsg(base_.get()));
  static_cast<void>(base_.release());
  std::vector<char> piece(kPiece);
  if (::lseek(file_, 0, SEEK_SET) != 0) refuse(std::strerror(errno));
  for (;;) {
    const ssize_t read = ::read(file_, piece.data(), piece.size());
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) refuse(std::strerror(errno));
    if (read == 0) return;
    sink({piece.data(), static_cast<std::size_t>(read)});
  }
}

}  // namespace vicinal::exporters

#endif
