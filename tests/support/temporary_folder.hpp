// A folder of a test's own, beside the test's executable so that it lies on a real disk, removed at
// the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace vicinal::testing {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& prefix = "test") {
    std::string name = (std::filesystem::current_path() / (prefix + ".XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace vicinal::testing
