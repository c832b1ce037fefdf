// A file that a command will write at its end.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::cli {

// Found out before a long run, not after it: throws UsageError that begins with the option's name if the
// file cannot be written. Leaves no file where there was none. Nothing for an empty path and for "-".
void require_writable(std::string_view option, const std::string& path);

// Output that comes in pieces: to the standard output if the path is "-". A file has either its old content or all of
// the new one, whatever happens meanwhile. Each throws DeviceError.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();  // what is not finished is thrown away
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(std::string_view piece);
  void finish();

 private:
  [[noreturn]] void refuse() const;
  void open();

  std::string path_;
  std::string target_;  // which the file beside it replaces; empty: it is written to itself
  std::string beside_;
  int file_ = -1;  // the standard output has none
};

void write_text(const std::string& path, std::string_view text);

// What has been printed has reached the standard output: else DeviceError.
void require_printed();

}  // namespace vicinal::cli
