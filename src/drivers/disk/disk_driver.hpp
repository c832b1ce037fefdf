// The disk as a memory node: replicas that do not fit in RAM, in a scratch file of the driver, and
// regions of the user's files.
//
// Copies go through O_DIRECT and io_uring where the system has them, else through the page cache and
// threads; a refusal is said once on stderr. See transfer.hpp for the way of one copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "drivers/device_driver.hpp"
#include "drivers/disk/fault_injection.hpp"
#include "drivers/disk/files.hpp"
#include "drivers/disk/io_queue.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

class Transfer;

struct DiskConfig {
  std::string folder;               // of the scratch file
  std::optional<Bytes> space = {};  // of the scratch file, at most; none: what is free
  bool direct_io = true;
  bool io_uring = true;
  std::uint32_t copies = 4;  // in flight per direction, at which the engine keeps them
  NodeId node = {};
  FaultInjection* faults = nullptr;  // in tests
};

class DiskDriver final : public DeviceDriver, private IoListener {
 public:
  // Throws UsageError, which names the folder and the remedy: the folder is missing, is none, is
  // read-only, or has less free space than config.space.
  explicit DiskDriver(DiskConfig config);
  ~DiskDriver() override;

  // For the scratch file.
  Bytes space() const { return space_; }
  bool uses_io_uring() const { return uses_io_uring_; }  // from start on
  // For the scratch file, or for the user's file of that number.
  bool uses_direct_io(int file = -1) const {
    return (file < 0 ? *scratch_ : files_.file(file)).direct() >= 0;
  }

  // The user's files. What open_file returns is Place::file; see FileTable.
  int open_file(const std::string& path, bool writable, bool create = false) {
    return files_.open(path, writable, create);
  }
  bool file_exists(int file) const { return files_.exists(file); }
  Bytes file_size(int file) const { return files_.size(file); }
  void extend_file(int file, Bytes size) { files_.extend(file, size); }
  void close_file(int file) { files_.close(file); }

  void start(engine::Completions& completions) override;
  // Between RAM and a file. Zero bytes end at once, on the calling thread.
  void start_copy(const memory::Copy& copy) override;
  void stop() override;

 private:
  // Throws DeviceError: it cannot be made, or is not what it was.
  DiskFile& users_file(const memory::Copy& copy, bool writing);
  void io_done(IoRequest& request) override;
  void submit(Transfer& transfer);
  void inject_faults(Transfer& transfer) const;

  const DiskConfig config_;
  Bytes space_;
  std::unique_ptr<DiskFile> scratch_;
  FileTable files_;
  engine::Completions* completions_ = nullptr;
  bool uses_io_uring_ = false;
  std::unique_ptr<IoQueue> queue_;  // from start to stop
};

}  // namespace vicinal::drivers
