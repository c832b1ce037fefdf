// One copy between RAM and a file, as a sequence of requests: which bytes next, by which way.
//
// A file region is cut at 4 KiB blocks of the file:
//
//     offset            4096 k                        4096 l      offset + length
//       |---- head -------|============ bulk =============|---- tail ---|
//
// The bulk goes through O_DIRECT. Head and tail share their block with whatever the file holds beside
// the region, perhaps the data of another copy in flight: they go through the page cache, which
// changes single bytes, are flushed before the copy ends (an error of the device must not come to light
// later) and leave the cache. No page is written both ways at once: the bulk's are the region's alone.
// In the scratch file, the region owns its last block, and the bulk goes to the end of it.
//
// O_DIRECT needs memory aligned to 4 KiB: other memory, and strided layouts, pass through a buffer of
// 1 MiB. A state machine without threads: the disk driver submits the requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "drivers/disk/files.hpp"
#include "drivers/disk/io_queue.hpp"
#include "drivers/mapped_memory.hpp"
#include "memory/copy.hpp"

namespace vicinal::drivers {

// Of the datum that is copied, for messages.
std::string name_of(const graph::Handle* handle);

class Transfer : public IoRequest {
 public:
  enum class FileKind : std::uint8_t { scratch, users };

  // `writing`: from RAM to the file. `disk_file` outlives the transfer.
  Transfer(const memory::Copy& copy, DiskFile& disk_file, FileKind file_kind, bool writing);

  // Fills in the next request. False: all is done.
  bool prepare();
  // The request has ended. Returns its error number, 0 if it goes on, kEndOfFile if the file is
  // shorter than the data.
  int take_result();
  static constexpr int kEndOfFile = -1;
  // All is done: the file is as long as what was written.
  void note_end() const;

  // What the DeviceError says: data, file, offset, bytes, cause and remedy.
  std::string describe_error(int error) const;

  const memory::Copy& copy() const { return copy_; }
  bool writing() const { return writing_; }
  bool through_page_cache() const { return !direct_; }  // the present request

  int injected_error = 0;  // takes the place of the present request's result

 private:
  enum class Phase : std::uint8_t { moving, flushing, dropping };

  void prepare_move();
  void prepare_settling(IoKind settling);
  int take_moved();
  void use_bounce(std::uint64_t remaining);

  const memory::Copy copy_;
  DiskFile& disk_file_;
  std::byte* const memory_;
  const Layout layout_;        // of memory_
  const std::uint64_t start_;  // in the file
  const std::uint64_t length_;
  const FileKind file_kind_;
  const bool writing_;
  const bool owns_last_block_;  // of the file, behind the region's end
  const bool padded_memory_;    // 4 KiB behind memory_'s last page may be read and written
  Phase phase_ = Phase::moving;
  bool direct_ = false;              // the present request
  bool bounced_ = false;             // the present request
  bool cached_ = false;              // something went through the page cache
  std::uint64_t position_ = 0;       // bytes moved; when settling, bytes settled
  std::uint32_t interruptions_ = 0;  // without a byte moved between them
  MappedMemory bounce_;
};

}  // namespace vicinal::drivers
