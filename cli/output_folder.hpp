// A folder of files that a command makes: it is there with all of them, or not at all.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::cli {

// Found out before a long run: throws UsageError that begins with the option's name if something lies at the path that
// is not an empty folder, or if no folder can be made there. Leaves nothing where there was nothing.
void require_free(std::string_view option, const std::string& path);

class OutputFolder {
 public:
  // Throws DeviceError.
  explicit OutputFolder(const std::string& path);
  ~OutputFolder();  // what is not finished is thrown away
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::string& path() const { return beside_; }  // where the files are to be written
  void finish();                                       // Throws DeviceError.

 private:
  std::string target_;
  std::string beside_;
};

}  // namespace vicinal::cli
