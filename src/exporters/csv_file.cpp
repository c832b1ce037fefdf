#include "exporters/csv_file.hpp"

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <sys/stat.h>
#include <system_error>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "vicinal/error.hpp"

namespace vicinal::exporters {

namespace {

constexpr std::size_t kEnough = std::size_t{1} << 16;

// To a spreadsheet, which would compute it, or start a program. A number is what it is.
bool is_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\n").find(text.front()) == std::string_view::npos) {
    return false;
  }
  double number = 0;
  const std::from_chars_result read =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec != std::errc{} || read.ptr != text.data() + text.size();
}

}  // namespace

CsvFile::CsvFile(const std::string& folder, std::string_view name,
                 const std::vector<Column>& columns)
    : path_(fmt::format("{}/{}.csv", folder, name)), file_(std::fopen(path_.c_str(), "we")) {
  if (!file_) refuse();
  for (const Column& column : columns) put_text(column.name);
  if (!columns.empty()) end_row();
}

void CsvFile::refuse() const {
  throw DeviceError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void CsvFile::plain(std::string_view text) {
  if (in_row_) buffer_ += ',';
  in_row_ = true;
  buffer_ += text;
}

void CsvFile::put_text(std::string_view text) {
  std::string clean = base::legible(text);
  if (is_formula(clean)) clean.insert(0, "'");
  if (clean.find_first_of(",\"\n") == std::string::npos) {
    plain(clean);
    return;
  }
  plain("\"");
  for (const char byte : clean) {
    if (byte == '"') buffer_ += '"';
    buffer_ += byte;
  }
  buffer_ += '"';
}

void CsvFile::put_integer(std::int64_t value) {
  plain(fmt::format("{}", value));
}
void CsvFile::put_unsigned(std::uint64_t value) {
  plain(fmt::format("{}", value));
}
void CsvFile::put_real(double value) {
  plain(fmt::format("{}", value));
}

void CsvFile::end_row() {
  buffer_ += '\n';
  in_row_ = false;
  if (buffer_.size() >= kEnough) write();
}

void CsvFile::write() {
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size()) refuse();
  buffer_.clear();
}

void CsvFile::close() {
  write();
  if (std::fclose(file_.release()) != 0) refuse();
}

std::unique_ptr<Table> CsvFiles::add(Kind kind, std::string_view name,
                                     const std::vector<Column>& columns) {
  if (kind == Kind::things) return std::make_unique<CsvFile>(folder_, name, columns);
  const std::string events = folder_ + "/events";
  if (!has_events_ && ::mkdir(events.c_str(), 0777) != 0) {
    throw DeviceError(fmt::format("cannot make the folder {}: {}", events, std::strerror(errno)));
  }
  has_events_ = true;
  return std::make_unique<CsvFile>(events, name, columns);
}

}  // namespace vicinal::exporters
