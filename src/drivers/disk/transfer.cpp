#include "drivers/disk/transfer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/file_size_signal.hpp"
#include "engine/strided_copy.hpp"

namespace vicinal::drivers {

namespace {

constexpr std::uint64_t kBlock = 4096;  // a multiple of what any device in use asks of O_DIRECT
// One request at most: below the 2 GiB of a system call, large enough for the full bandwidth.
constexpr std::uint64_t kRequest = 32 << 20;
constexpr std::uint64_t kBounce = 1 << 20;
constexpr std::uint64_t kSettled = 1 << 30;  // flushed or dropped by one request
constexpr std::uint32_t kPatience = 100;
static_assert(kRequest % kBlock == 0 && kBounce % kBlock == 0);

bool misaligned(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kBlock != 0;
}

// Arenas and allocated replicas begin at a page and own all of their last page; the user's own
// buffer ends where it ends.
bool is_padded(const memory::Copy& copy, const std::byte* memory) {
  if (copy.handle == nullptr || misaligned(memory)) return false;
  const graph::Home& home = copy.handle->home;
  return home.kind != graph::HomeKind::buffer || home.address != memory;
}

}  // namespace

std::string name_of(const graph::Handle* handle) {
  if (handle == nullptr) return "data";
  if (handle->name.empty()) return fmt::format("data number {}", handle->id.value);
  return fmt::format("data '{}'", handle->name);
}

Transfer::Transfer(const memory::Copy& copy, DiskFile& disk_file, FileKind file_kind, bool writing)
    : copy_(copy),
      disk_file_(disk_file),
      memory_(writing ? copy.from.address : copy.to.address),
      layout_(writing ? copy.from.layout : copy.to.layout),
      start_(writing ? copy.to.offset : copy.from.offset),
      length_(copy.bytes().value),
      file_kind_(file_kind),
      writing_(writing),
      owns_last_block_(file_kind == FileKind::scratch && start_ % kBlock == 0),
      padded_memory_(layout_.contiguous() && is_padded(copy, memory_)) {}

bool Transfer::prepare() {
  if (phase_ == Phase::moving) {
    if (position_ < length_) {
      prepare_move();
      return true;
    }
    if (!cached_) return false;
    phase_ = writing_ ? Phase::flushing : Phase::dropping;
    position_ = 0;
  }
  if (phase_ == Phase::flushing) {
    if (position_ < length_) {
      prepare_settling(IoKind::flush);
      return true;
    }
    phase_ = Phase::dropping;
    position_ = 0;
  }
  if (position_ >= length_) return false;
  prepare_settling(IoKind::drop);
  return true;
}

void Transfer::prepare_move() {
  const std::uint64_t at = start_ + position_;
  const std::uint64_t remaining = length_ - position_;
  const std::uint64_t into_block = at % kBlock;
  const bool can_direct = disk_file_.direct() >= 0;
  std::uint64_t moved = remaining;
  direct_ = false;
  bounced_ = !layout_.contiguous();
  if (can_direct && into_block != 0) {
    moved = kBlock - into_block;
  } else if (can_direct && (owns_last_block_ || remaining >= kBlock)) {
    direct_ = true;
    bounced_ = bounced_ || misaligned(memory_ + position_);
    const bool whole_last_block =
        owns_last_block_ && (padded_memory_ || bounced_ || remaining < kBlock);
    moved = whole_last_block ? round_up(remaining, kBlock) : round_down(remaining, kBlock);
    bounced_ = bounced_ || (moved > remaining && !padded_memory_);
  }
  kind = writing_ ? IoKind::write : IoKind::read;
  file = direct_ ? disk_file_.direct() : disk_file_.buffered();
  offset = at;
  if (!direct_) moved = std::min(moved, remaining);
  bytes = static_cast<std::uint32_t>(std::min(moved, bounced_ ? kBounce : kRequest));
  address = memory_ + position_;
  if (bounced_) use_bounce(remaining);
  cached_ = cached_ || !direct_;
}

void Transfer::use_bounce(std::uint64_t remaining) {
  if (bounce_.address() == nullptr) {
    const std::uint64_t most = std::min(kBounce, round_up(length_, kBlock));
    bounce_ = MappedMemory({most}, "a buffer for disk copies that are not aligned");
  }
  address = bounce_.address();
  if (writing_) {
    engine::gather(address, memory_, layout_, position_, std::min<std::uint64_t>(bytes, remaining));
  }
}

void Transfer::prepare_settling(IoKind settling) {
  // Whole pages: parts of a page do not leave the cache.
  const std::uint64_t begin = round_down(start_ + position_, kBlock);
  const std::uint64_t end = round_up(start_ + length_, kBlock);
  kind = settling;
  file = disk_file_.buffered();
  offset = begin;
  bytes = static_cast<std::uint32_t>(std::min(end - begin, kSettled));
}

int Transfer::take_result() {
  if (kind == IoKind::drop) {  // to leave the cache is a courtesy: it may be refused
    position_ = offset + bytes - start_;
    return 0;
  }
  if (injected_error != 0) result = -std::exchange(injected_error, 0);
  if (result == -EINTR || result == -EAGAIN) {
    return ++interruptions_ < kPatience ? 0 : static_cast<int>(-result);
  }
  if (kind == IoKind::read || kind == IoKind::write) return take_moved();
  if (result < 0) return static_cast<int>(-result);  // a flush that fails is a write that failed
  position_ = offset + bytes - start_;
  return 0;
}

int Transfer::take_moved() {
  if (result == -EINVAL && direct_) {
    disk_file_.refuse_direct();
    return 0;
  }
  if (result < 0) return static_cast<int>(-result);
  if (result == 0) return writing_ ? ENOSPC : kEndOfFile;
  const std::uint64_t moved =
      std::min(static_cast<std::uint64_t>(result), length_ - position_);  // without the padding
  if (bounced_ && !writing_) engine::scatter(memory_, layout_, address, position_, moved);
  position_ += moved;
  interruptions_ = 0;
  return 0;
}

void Transfer::note_end() const {
  if (writing_) disk_file_.note_size({start_ + length_});
}

std::string Transfer::describe_error(int error) const {
  const bool scratch = file_kind_ == FileKind::scratch;
  const std::string where = scratch ? fmt::format("the scratch file in '{}'", disk_file_.path())
                                    : fmt::format("file '{}'", disk_file_.path());
  std::string cause = error == kEndOfFile ? "the file ends here" : strerror(error);
  if (error == kEndOfFile && !scratch) cause += "; was it truncated during the run?";
  if (error == ENOSPC || error == EDQUOT) {
    cause =
        fmt::format("disk full ({}); make room there{}", strerror(error),
                    scratch ? ", give the option disk a folder with more room, or set the option "
                              "disk_space to what it can hold. What was written last is in memory: "
                              "release some of it without writing it back to read what lies there"
                            : "");
  }
  if (error == EFBIG) cause += fmt::format("; {}", base::kFileSizeRemedy);
  const std::uint64_t done = phase_ == Phase::moving ? position_ : length_;
  return fmt::format("{} {} {} {} at offset {} failed after {} of {} bytes: {}",
                     writing_ ? "writing" : "reading", name_of(copy_.handle),
                     writing_ ? "to" : "from", where, start_ + done, done, length_, cause);
}

}  // namespace vicinal::drivers
