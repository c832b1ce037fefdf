// A CSV file to which a row is appended whenever what it tells of has ended, so that a command that was stopped goes on
// where it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal::reports {

class RowFile {
 public:
  struct Format {
    std::string head;  // whole lines that the file begins with, the names of the columns last
    // The first columns of each row that there may be, in the order of the file, without the comma behind. The same number
    // of columns in all of them.
    std::vector<std::string> keys;
    std::function<bool(std::string_view)> is_whole;  // of what follows the key: nothing was cut off
  };
  enum class Found : std::uint8_t { nothing, rows, other };

  // Reads what is there, and writes nothing yet. No path: rows are kept in memory alone. Throws UsageError: it is no file, or
  // too large.
  RowFile(std::string path, Format format);
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  // `other`: the file begins with something else; `difference` tells what.
  Found found() const { return found_; }
  const std::string& difference() const { return difference_; }
  // The first row, and its number, whose key is none of the format's; whole lines only.
  struct Stranger {
    std::size_t number = 0;  // from 1
    std::string line;
  };
  const std::optional<Stranger>& stranger() const { return stranger_; }

  // The file holds the known rows alone from then on, in the order of the keys. Again: it is put in that order. Throws
  // DeviceError if it cannot be written, as `append` does.
  void write();
  // By any thread, after write().
  bool has(const std::string& key) const;
  void append(const std::string& key, std::string rest);
  std::optional<std::string> rest(const std::string& key) const;

 private:
  void read();
  void read_row(std::string_view line, std::size_t number);
  [[noreturn]] void refuse(const std::string& path) const;

  std::string path_;
  Format format_;
  Found found_ = Found::nothing;
  std::string difference_;
  std::optional<Stranger> stranger_;
  mutable std::mutex mutex_;
  std::map<std::string, std::optional<std::string>, std::less<>>
      rests_;  // by key and comma, under mutex_
  int file_ = -1;
};

}  // namespace vicinal::reports
