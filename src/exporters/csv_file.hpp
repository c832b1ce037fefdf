// A file of comma-separated values as RFC 4180 describes it, with line feeds: a line of names, then rows.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/table.hpp"

namespace vicinal::exporters {

// Text is made legible, and put in quotes where it must be; what a spreadsheet would take for a formula gets a ' in
// front. What is not there is an empty cell.
class CsvFile final : public Table {
 public:
  CsvFile(const std::string& folder, std::string_view name, const std::vector<Column>& columns);

  void end_row() override;
  void close() override;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  void put_text(std::string_view text) override;
  void put_integer(std::int64_t value) override;
  void put_unsigned(std::uint64_t value) override;
  void put_real(double value) override;
  void put_nothing() override { plain({}); }
  void plain(std::string_view text);
  void write();
  [[noreturn]] void refuse() const;

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string buffer_;
  bool in_row_ = false;
};

// Files in the folder, those of events in its folder `events`, which is made.
class CsvFiles final : public Tables {
 public:
  explicit CsvFiles(std::string folder) : folder_(std::move(folder)) {}
  std::unique_ptr<Table> add(Kind kind, std::string_view name,
                             const std::vector<Column>& columns) override;

 private:
  std::string folder_;
  bool has_events_ = false;
};

}  // namespace vicinal::exporters
