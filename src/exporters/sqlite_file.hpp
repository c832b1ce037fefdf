// A database of SQLite that is being written. It grows in a file without a name in the folder for temporary files
// (TMPDIR), and is handed on when it is whole.
#pragma once

#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/exporters.hpp"
#include "exporters/table.hpp"

namespace vicinal::exporters {

// Throws DeviceError.
class SqliteFile final : public Tables {
 public:
  SqliteFile();
  ~SqliteFile() override;
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // Those of events are called event_...
  std::unique_ptr<Table> add(Kind kind, std::string_view name,
                             const std::vector<Column>& columns) override;
  // Statements of ours alone: what a recording says is only ever bound to them.
  void execute(const std::string& statements);
  void write_to(Sink sink);  // nothing follows

 private:
  friend class SqliteTable;
  struct Closer {
    void operator()(sqlite3* base) const { sqlite3_close(base); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  [[noreturn]] void refuse(std::string_view why) const;
  void check(int code) const;

  std::string path_;
  int file_ = -1;
  std::unique_ptr<sqlite3, Closer> base_;
};

}  // namespace vicinal::exporters
