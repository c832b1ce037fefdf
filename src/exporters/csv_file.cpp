#include "exporters/csv_file.hpp"

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <system_error>

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
                 std::initializer_list<std::string_view> columns)
    : path_(fmt::format("{}/{}.csv", folder, name)), file_(std::fopen(path_.c_str(), "we")) {
  if (!file_) refuse();
  for (const std::string_view column : columns) cell(column);
  if (columns.size() != 0) end_row();
}

void CsvFile::refuse() const {
  throw DeviceError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void CsvFile::plain(std::string_view text) {
  if (in_row_) buffer_ += ',';
  in_row_ = true;
  buffer_ += text;
}

void CsvFile::text(std::string_view text) {
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

}  // namespace vicinal::exporters
