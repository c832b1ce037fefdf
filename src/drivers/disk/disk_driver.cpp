#include "drivers/disk/disk_driver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/sure_memory.hpp"
#include "base/text.hpp"
#include "drivers/disk/transfer.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

DiskDriver::DiskDriver(DiskConfig config)
    : DeviceDriver(fmt::format("the disk, node {},", config.node.value)),
      config_(std::move(config)),
      files_(config_.direct_io) {
  scratch_ = create_scratch(config_.folder, config_.direct_io);
  const Bytes free = free_space(config_.folder);
  if (config_.space && *config_.space > free) {
    throw UsageError(
        fmt::format("option disk_space: {} asked for, but the folder '{}' has {} free; set it to "
                    "that at most, or "
                    "set the option disk to a folder with more room",
                    base::format_bytes(*config_.space), config_.folder, base::format_bytes(free)));
  }
  space_ = config_.space.value_or(free);
}

DiskDriver::~DiskDriver() {
  stop();
}

void DiskDriver::start(engine::Completions& completions) {
  completions_ = &completions;
  if (config_.io_uring) {
    std::string why;
    queue_ = make_uring_queue(*this, why);
    uses_io_uring_ = queue_ != nullptr;
    if (!uses_io_uring_) {
      base::process_log().announce_once(
          "io_uring",
          fmt::format("no io_uring ({}): the disk is read and written by threads", why));
    }
  }
  if (queue_ == nullptr) queue_ = make_thread_queue(*this, std::max(config_.copies, 1U));
}

void DiskDriver::stop() {
  if (queue_ == nullptr) return;
  queue_->stop();
  queue_.reset();
}

void DiskDriver::start_copy(const memory::Copy& copy) {
  const bool writing = copy.to.node == config_.node;
  if (writing == (copy.from.node == config_.node) || queue_ == nullptr) {
    refuse(copy, queue_ == nullptr ? " while stopped" : "");
  }
  if (copy.bytes().value == 0) {
    completions_->copy_done(copy.id, nullptr);
    return;
  }
  const bool scratch = (writing ? copy.to.file : copy.from.file) < 0;
  auto transfer = std::make_unique<Transfer>(
      copy, scratch ? *scratch_ : users_file(copy, writing),
      scratch ? Transfer::FileKind::scratch : Transfer::FileKind::users, writing);
  transfer->prepare();
  submit(*transfer.release());
}

DiskFile& DiskDriver::users_file(const memory::Copy& copy, bool writing) {
  if (!writing) return files_.file(copy.from.file);
  try {
    DiskFile& file = files_.file_to_write(copy.to.file);
    file.require_not_cut();
    return file;
  } catch (const Error& error) {
    std::throw_with_nested(DeviceError(
        fmt::format("writing {} to its file failed: {}", name_of(copy.handle), error.what())));
  }
}

// The transfer belongs to the queue until io_done.
void DiskDriver::submit(Transfer& transfer) {
  if (config_.faults != nullptr) inject_faults(transfer);
  queue_->submit(transfer);
}

void DiskDriver::inject_faults(Transfer& transfer) const {
  if (transfer.kind != IoKind::read && transfer.kind != IoKind::write) return;
  const auto effect = config_.faults->before(transfer.kind, transfer.bytes);
  transfer.injected_error = effect.error;
  if (effect.at_most >= transfer.bytes) return;
  // What O_DIRECT moves is a multiple of its blocks, also when it is short.
  const std::uint64_t unit = transfer.through_page_cache() ? 1 : kPageBytes;
  transfer.bytes = static_cast<std::uint32_t>(std::max(round_down(effect.at_most, unit), unit));
}

void DiskDriver::io_done(IoRequest& request) {
  std::unique_ptr<Transfer> transfer(static_cast<Transfer*>(&request));
  std::exception_ptr failure;
  bool goes_on = false;
  try {
    const int error = transfer->take_result();
    if (error != 0) throw DeviceError(transfer->describe_error(error));
    goes_on = transfer->prepare();
    if (!goes_on) transfer->note_end();
  } catch (...) {
    failure = base::say_out_of_memory(std::current_exception(), "copied data to or from the disk");
  }
  if (goes_on) {
    submit(*transfer.release());
    return;
  }
  const memory::CopyId id = transfer->copy().id;
  transfer.reset();
  completions_->copy_done(id, std::move(failure));
}

}  // namespace vicinal::drivers
