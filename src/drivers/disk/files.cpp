#include "drivers/disk/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <new>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file_size_signal.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

namespace {

constexpr const char* kFolderRemedy =
    "set the option disk to a folder on a local disk in which this process may create files";

int open_again(const char* path, int flags, mode_t mode = 0) {
  int descriptor = -1;
  do {
    descriptor = open(path, flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

std::string own_path(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

void check_folder(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) {
    throw UsageError(
        fmt::format("disk folder '{}': {}; {}", folder, strerror(errno), kFolderRemedy));
  }
  if (!S_ISDIR(status.st_mode)) {
    throw UsageError(fmt::format("disk folder '{}' is not a folder; {}", folder, kFolderRemedy));
  }
}

// A file with a name for a moment, where the file system cannot make one without.
int create_and_unlink(const std::string& folder) {
  std::string path = folder + "/vicinal-scratch-XXXXXX";
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor >= 0) unlink(path.c_str());
  return descriptor;
}

std::string remedy_for(int error, bool writable) {
  switch (error) {
    case ENOENT:
      return writable ? "create the folder that shall hold it" : "check the path";
    case EACCES:
    case EPERM:
    case EROFS:
      return writable ? "register it with writable = false, or give this process write permission"
                      : "give this process read permission";
    case EMFILE:
      return "each open file takes two descriptors: raise the limit (ulimit -n), unregister "
             "handles "
             "that are not needed, or put several into one file";
    default:
      return "register a region of a regular file";
  }
}

[[noreturn]] void cannot_open(const std::string& path, bool writable, int error) {
  throw UsageError(fmt::format("file '{}' cannot be opened for {}: {}; {}", path,
                               writable ? "reading and writing" : "reading", strerror(error),
                               remedy_for(error, writable)));
}

struct OpenedFile {
  int descriptor;
  std::pair<dev_t, ino_t> identity;
};

enum class IfMissing : bool { leave, create };

// None: it is to be written, and does not exist.
std::optional<OpenedFile> open_regular(const std::string& path, bool writable,
                                       IfMissing if_missing) {
  // NONBLOCK: a FIFO must be refused, not waited for. It does nothing to a regular file.
  const int create = if_missing == IfMissing::create ? O_CREAT : 0;
  const int flags = (writable ? O_RDWR | create : O_RDONLY) | O_NONBLOCK | O_NOCTTY;
  const int descriptor = open_again(path.c_str(), flags, 0666);
  if (descriptor < 0) {
    if (errno == ENOENT && writable && create == 0) return std::nullopt;
    cannot_open(path, writable, errno);
  }
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    throw UsageError(fmt::format("'{}' is not a regular file; register a region of one", path));
  }
  return OpenedFile{descriptor, {status.st_dev, status.st_ino}};
}

// Of one that does not exist: the folder does, and takes new files as far as can be known.
std::string future_path(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path wanted(path);
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(wanted, error))) {
    throw UsageError(fmt::format(
        "'{}' is a symbolic link to '{}', which does not exist; correct the link, or register "
        "what it shall lead to",
        path, fs::read_symlink(wanted, error).string()));
  }
  if (wanted.filename().empty()) cannot_open(path, true, EISDIR);
  const fs::path folder =
      fs::canonical(wanted.has_parent_path() ? wanted.parent_path() : fs::path("."), error);
  if (error) cannot_open(path, true, error.value());
  if (access(folder.c_str(), W_OK | X_OK) != 0) cannot_open(path, true, errno);
  return (folder / wanted.filename()).string();
}

// On the thread of whoever registers the file. 0, or the error number.
int extend_to(int descriptor, Bytes size) {
  const base::NoFileSizeSignal no_signal;
  int result = 0;
  do {
    result = ftruncate(descriptor, static_cast<off_t>(size.value));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

Bytes size_of(const DiskFile& file) {
  struct stat status {};
  if (fstat(file.buffered(), &status) != 0) {
    throw DeviceError(
        fmt::format("the size of file '{}' is not known: {}", file.path(), strerror(errno)));
  }
  return {static_cast<std::uint64_t>(status.st_size)};
}

}  // namespace

DiskFile::DiskFile(std::string path, int buffered, bool writable, bool direct_io)
    : path_(std::move(path)), buffered_(buffered), writable_(writable) {
  if (direct_io) open_direct();
}

void DiskFile::note_size(Bytes size) {
  std::uint64_t longest = longest_.load(std::memory_order_relaxed);
  while (longest < size.value &&
         !longest_.compare_exchange_weak(longest, size.value, std::memory_order_relaxed)) {
  }
}

void DiskFile::require_not_cut() const {
  const Bytes present = size_of(*this);
  const std::uint64_t longest = longest_.load(std::memory_order_relaxed);
  if (present.value >= longest) return;
  throw DeviceError(fmt::format(
      "file '{}' was truncated during the run, by another program: it has {} bytes, and had {}; "
      "leave it alone while regions of it are registered",
      path_, present.value, longest));
}

DiskFile::~DiskFile() {
  if (direct_ >= 0) close(direct_);
  close(buffered_);
}

void DiskFile::open_direct() {
  // Through the first descriptor: the scratch file has no name, and the user's may have been moved.
  const int flags = (writable_ ? O_RDWR : O_RDONLY) | O_DIRECT;
  direct_ = open_again(own_path(buffered_).c_str(), flags);
  if (direct_ < 0) {
    const int error = errno;
    if (error == EMFILE || error == ENFILE) {
      close(buffered_);
      cannot_open(path_, writable_, error);
    }
    refuse_direct();
    return;
  }
  // The page cache holds only what is not aligned, page by page: pages read ahead would be those
  // that O_DIRECT writes.
  posix_fadvise(buffered_, 0, 0, POSIX_FADV_RANDOM);
}

void DiskFile::refuse_direct() {
  refused_.store(true, std::memory_order_relaxed);
  base::process_log().announce_once(
      "O_DIRECT", fmt::format("the file system of '{}' refuses O_DIRECT: its data pass through the "
                              "page cache, which may hold them beside the memory limit",
                              path_));
}

void DiskFile::make_writable(int buffered) {
  dup3(buffered, buffered_, O_CLOEXEC);
  close(buffered);
  writable_ = true;
  if (direct_ < 0) return;
  posix_fadvise(buffered_, 0, 0, POSIX_FADV_RANDOM);
  const int direct = open_again(own_path(buffered_).c_str(), O_RDWR | O_DIRECT);
  if (direct < 0) {
    refuse_direct();
    return;
  }
  dup3(direct, direct_, O_CLOEXEC);
  close(direct);
}

namespace {
std::unique_ptr<DiskFile> make_file(const std::string& path, int descriptor, bool writable,
                                    bool direct_io) {
  try {
    return std::make_unique<DiskFile>(path, descriptor, writable, direct_io);
  } catch (const std::bad_alloc&) {  // then nobody has it
    close(descriptor);
    throw;
  }
}
}  // namespace

std::unique_ptr<DiskFile> create_scratch(const std::string& folder, bool direct_io) {
  check_folder(folder);
  int descriptor = open_again(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL, 0600);
  if (descriptor < 0) descriptor = create_and_unlink(folder);
  if (descriptor < 0) {
    throw UsageError(fmt::format("disk folder '{}': no file can be created in it: {}; {}", folder,
                                 strerror(errno), kFolderRemedy));
  }
  return make_file(folder, descriptor, true, direct_io);
}

Bytes free_space(const std::string& folder) {
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) != 0) {
    throw UsageError(fmt::format("disk folder '{}': its free space is not known: {}; {}", folder,
                                 strerror(errno), kFolderRemedy));
  }
  std::uint64_t free = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  // Beyond this limit a write fails (EFBIG).
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    free = std::min<std::uint64_t>(free, limit.rlim_cur);
  }
  return {free};
}

int FileTable::open(const std::string& path, bool writable, bool create) {
  const std::lock_guard lock(mutex_);
  const auto opened = open_regular(path, writable, create ? IfMissing::create : IfMissing::leave);
  if (!opened) return expect(path);
  std::optional<int> number;
  try {
    number = find(path, opened->identity);
  } catch (...) {
    ::close(opened->descriptor);
    throw;
  }
  if (!number) return add(path, opened->descriptor, opened->identity, writable);
  Entry& known = entries_[static_cast<std::size_t>(*number)];
  if (writable && !known.file->writable()) {
    known.file->make_writable(opened->descriptor);
  } else {
    ::close(opened->descriptor);
  }
  ++known.users;
  return *number;
}

// It may have come to exist since it was expected, whoever has made it.
std::optional<int> FileTable::find(const std::string& path, const Identity& identity) {
  const auto found = by_identity_.find(identity);
  if (found != by_identity_.end()) return found->second;
  if (by_future_.empty()) return std::nullopt;
  std::error_code error;
  const auto expected = by_future_.find(std::filesystem::canonical(path, error).string());
  if (expected == by_future_.end()) return std::nullopt;
  const int number = expected->second;
  make(number);
  return number;
}

int FileTable::free_number() {
  const auto place =
      std::ranges::find_if(entries_, [](const Entry& entry) { return entry.users == 0; });
  const auto number = static_cast<int>(place - entries_.begin());
  if (place == entries_.end()) entries_.emplace_back();
  return number;
}

// The descriptor is the file's from now on, or closed.
int FileTable::add(const std::string& path, int descriptor, const Identity& identity,
                   bool writable) {
  auto file = make_file(path, descriptor, writable, direct_io_);
  file->note_size(size_of(*file));
  const int number = free_number();
  by_identity_[identity] = number;  // the last that may find no memory
  entries_[static_cast<std::size_t>(number)] = {std::move(file), identity, {}, {}, 1};
  return number;
}

int FileTable::expect(const std::string& path) {
  Entry entry{nullptr, {}, path, future_path(path), 1};
  if (const auto known = by_future_.find(entry.future); known != by_future_.end()) {
    ++entries_[static_cast<std::size_t>(known->second)].users;
    return known->second;
  }
  const int number = free_number();
  by_future_[entry.future] = number;  // the last that may find no memory
  entries_[static_cast<std::size_t>(number)] = std::move(entry);
  return number;
}

void FileTable::make(int number) {
  Entry& entry = entries_[static_cast<std::size_t>(number)];
  const OpenedFile opened = *open_regular(entry.future, true, IfMissing::create);
  auto file = make_file(entry.path, opened.descriptor, true, direct_io_);
  file->note_size(size_of(*file));
  by_identity_.try_emplace(opened.identity, number);  // the last that may find no memory
  by_future_.erase(entry.future);
  entry.file = std::move(file);
  entry.identity = opened.identity;
  entry.future.clear();
}

const FileTable::Entry& FileTable::entry(int number) const {
  const auto index = static_cast<std::size_t>(number);
  if (number < 0 || index >= entries_.size() || entries_[index].users == 0) {
    throw std::logic_error(
        fmt::format("file number {} of {} is not open", number, entries_.size()));
  }
  return entries_[index];
}

void FileTable::close(int number) {
  const std::lock_guard lock(mutex_);
  entry(number);
  Entry& closed = entries_[static_cast<std::size_t>(number)];
  if (--closed.users > 0) return;
  if (closed.file == nullptr) {
    by_future_.erase(closed.future);
  } else {
    const auto found = by_identity_.find(closed.identity);
    if (found != by_identity_.end() && found->second == number) by_identity_.erase(found);
  }
  closed.file.reset();
}

bool FileTable::exists(int number) const {
  const std::lock_guard lock(mutex_);
  return entry(number).file != nullptr;
}

Bytes FileTable::size(int number) const {
  const std::lock_guard lock(mutex_);
  const DiskFile* const file = entry(number).file.get();
  return file != nullptr ? size_of(*file) : Bytes{0};
}

void FileTable::extend(int number, Bytes size) {
  const std::lock_guard lock(mutex_);
  DiskFile& extended = *entry(number).file;
  extended.require_not_cut();
  const Bytes present = size_of(extended);
  if (present >= size) return;
  if (!extended.writable()) {
    throw UsageError(
        fmt::format("file '{}' has {} bytes, {} are needed, and it is not writable; register a "
                    "region inside it, "
                    "or with writable = true to extend it",
                    extended.path(), present.value, size.value));
  }
  if (const int error = extend_to(extended.buffered(), size)) {
    throw UsageError(fmt::format(
        "file '{}' cannot be extended from {} to {} bytes: {}; register a smaller region, or {}",
        extended.path(), present.value, size.value, strerror(error),
        error == EFBIG ? base::kFileSizeRemedy : "make room for it"));
  }
  extended.note_size(size);
}

DiskFile& FileTable::file(int number) const {
  const std::lock_guard lock(mutex_);
  DiskFile* const file = entry(number).file.get();
  if (file == nullptr) throw std::logic_error(entry(number).path + " is read, and not there");
  return *file;
}

DiskFile& FileTable::file_to_write(int number) {
  const std::lock_guard lock(mutex_);
  if (entry(number).file == nullptr) make(number);
  return *entry(number).file;
}

}  // namespace vicinal::drivers
