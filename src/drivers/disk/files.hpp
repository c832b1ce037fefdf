// The files of the disk driver: its scratch file and the user's.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "vicinal/units.hpp"

namespace vicinal::drivers {

// One file, opened twice: with O_DIRECT, and through the page cache for what is not aligned.
class DiskFile {
 public:
  // Takes over the descriptor. `direct_io`: opens the file a second time, and says once on stderr if
  // O_DIRECT is refused.
  DiskFile(std::string path, int buffered, bool writable, bool direct_io);
  ~DiskFile();
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;

  const std::string& path() const { return path_; }
  int buffered() const { return buffered_; }
  // -1 if O_DIRECT is not wanted or refused. Relaxed: descriptors do not change, and one more refused
  // request does no harm.
  int direct() const { return refused_.load(std::memory_order_relaxed) ? -1 : direct_; }
  bool writable() const { return writable_; }
  // O_DIRECT was refused when it was used: some file systems do so only then.
  void refuse_direct();
  // Opened anew for writing: the descriptors keep their numbers, so that copies in flight go on.
  void make_writable(int buffered);
  // It has been at least so long. Any thread.
  void note_size(Bytes size);
  // Throws DeviceError if it is shorter than it has been: what is written behind its end would make zeros of what
  // was lost.
  void require_not_cut() const;

 private:
  void open_direct();

  const std::string path_;
  const int buffered_;
  int direct_ = -1;
  bool writable_;
  std::atomic<bool> refused_{false};
  std::atomic<std::uint64_t> longest_{0};  // relaxed: copies in flight have no order
};

// A file without a name in the folder: it vanishes with its last descriptor, also after a crash. Throws
// UsageError, which names the folder and the remedy, if the folder is missing, no folder or read-only.
std::unique_ptr<DiskFile> create_scratch(const std::string& folder, bool direct_io);

// Free for this process in the folder's file system, and below its own limit on the size of a file.
Bytes free_space(const std::string& folder);

// The user's files, by number. Any thread. All throw UsageError, naming the file and the remedy.
class FileTable {
 public:
  explicit FileTable(bool direct_io) : direct_io_(direct_io) {}

  // The same file twice, by any path, has one number and must be closed twice. A writable file that does not exist
  // is made if `create` says so; otherwise its folder is looked at, and file_to_write makes it.
  int open(const std::string& path, bool writable, bool create);
  // With the last close its descriptors go. No copy of it may be in flight.
  void close(int number);
  bool exists(int number) const;
  Bytes size(int number) const;  // 0 if it does not exist
  // Makes it at least so long, if it is writable; the new bytes are zero.
  void extend(int number, Bytes size);
  // Stays until close. It exists.
  DiskFile& file(int number) const;
  DiskFile& file_to_write(int number);

 private:
  using Identity = std::pair<dev_t, ino_t>;
  struct Entry {
    std::unique_ptr<DiskFile> file;  // null: it does not exist yet, or nobody uses the entry
    Identity identity;
    std::string path;    // of a file that does not exist, as it was given
    std::string future;  // the same without links and from the root
    std::uint32_t users = 0;
  };
  // Under mutex_, these all.
  const Entry& entry(int number) const;
  int free_number();
  int expect(const std::string& path);
  void make(int number);
  int add(const std::string& path, int descriptor, const Identity& identity, bool writable);
  // None: it is a file that nobody has opened.
  std::optional<int> find(const std::string& path, const Identity& identity);

  const bool direct_io_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;            // under mutex_; without users: free
  std::map<Identity, int> by_identity_;   // under mutex_
  std::map<std::string, int> by_future_;  // under mutex_; those that do not exist yet
};

}  // namespace vicinal::drivers
