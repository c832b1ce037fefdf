#include "drivers/queued/staged_copies.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/start_thread.hpp"
#include "drivers/cpu/binding.hpp"
#include "engine/strided_copy.hpp"

namespace vicinal::drivers {

struct StagedCopies::Piece final : Flight {
  void ended(int with) noexcept override {
    failure = with;
    in_flight.store(false, std::memory_order_release);
    in_flight.notify_one();
  }
  std::byte* memory = nullptr;
  std::uint64_t begin = 0;  // of the content, in packed order
  std::uint64_t bytes = 0;  // 0: holds nothing
  int failure = 0;
  std::atomic<bool> in_flight{false};
};

StagedCopies::StagedCopies(QueuedDevice& device, QueuedDevice::Queue queue, Pin pin)
    : device_(device), queue_(queue), pin_(std::move(pin)) {}

StagedCopies::~StagedCopies() {
  stop();
}

void StagedCopies::start() {
  if (!pieces_) {
    memory_ = MappedMemory(kPiece * kPieces, "what copies to a device are staged in");
    device_.pin(memory_.address(), kPiece * kPieces);
    pieces_ = std::make_unique<std::array<Piece, kPieces>>();
  }
  for (std::size_t i = 0; i < kPieces; ++i) {
    (*pieces_)[i].memory = memory_.address() + i * kPiece.value;
  }
  thread_ = base::start_thread("that stages copies of " + device_.name(), [this] { run(); });
}

void StagedCopies::put(const memory::Copy& copy, StagedFlight& flight) {
  if (!thread_.joinable()) start();
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({copy, &flight});
  }
  changed_.notify_one();
}

void StagedCopies::stop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  if (pieces_) device_.unpin(memory_.address());
  pieces_.reset();
}

void StagedCopies::run() {
  name_this_thread("staging");
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    int failure = 0;
    try {
      if (copy_at_once(next)) continue;
      failure = copy_all(next.copy);
    } catch (...) {
      // Nobody may use either end, nor a piece, while it may still be written or read.
      device_.drain();
      for (Piece& piece : *pieces_) {
        piece.bytes = 0;
        piece.in_flight = false;
      }
      next.flight->error = std::current_exception();
    }
    next.flight->ended(failure);
  }
}

// The device calls flight.ended.
bool StagedCopies::copy_at_once(const Waiting& next) {
  if (!pin_(next.copy)) return false;
  const memory::Endpoint& from = next.copy.from;
  const memory::Endpoint& to = next.copy.to;
  if (queue_ == QueuedDevice::kIn) {
    device_.copy_in(queue_, *next.flight, to.address, from.address, from.layout);
  } else {
    device_.copy_out(queue_, *next.flight, to.address, to.layout, from.address);
  }
  device_.notify(queue_, *next.flight);
  return true;
}

int StagedCopies::copy_all(const memory::Copy& copy) {
  const std::uint64_t bytes = copy.bytes().value;
  int failure = 0;
  std::size_t turn = 0;
  for (std::uint64_t begin = 0; begin < bytes && failure == 0; begin += kPiece.value) {
    Piece& piece = (*pieces_)[turn++ % kPieces];
    failure = settle(piece, copy);
    if (failure != 0) break;
    piece.begin = begin;
    piece.bytes = std::min(kPiece.value, bytes - begin);
    put_piece(piece, copy);
  }
  for (std::size_t i = 0; i < kPieces; ++i) {  // the oldest first
    const int of_piece = settle((*pieces_)[turn++ % kPieces], copy);
    if (failure == 0) failure = of_piece;
  }
  return failure;
}

void StagedCopies::put_piece(Piece& piece, const memory::Copy& copy) {
  const Layout layout{piece.bytes, 1, piece.bytes, 1};
  piece.in_flight.store(true, std::memory_order_relaxed);
  if (queue_ == QueuedDevice::kIn) {
    engine::gather(piece.memory, copy.from.address, copy.from.layout, piece.begin, piece.bytes);
    device_.copy_in(queue_, piece, copy.to.address + piece.begin, piece.memory, layout);
  } else {
    device_.copy_out(queue_, piece, piece.memory, layout, copy.from.address + piece.begin);
  }
  device_.notify(queue_, piece);
}

// Waits for what is under way; content that came from the device goes to its place.
int StagedCopies::settle(Piece& piece, const memory::Copy& copy) {
  piece.in_flight.wait(true, std::memory_order_acquire);
  const std::uint64_t bytes = std::exchange(piece.bytes, 0);
  if (bytes == 0) return 0;
  device_.finish(piece);
  const int failure = std::exchange(piece.failure, 0);
  if (failure == 0 && queue_ == QueuedDevice::kOut) {
    engine::scatter(copy.to.address, copy.to.layout, piece.memory, piece.begin, bytes);
  }
  return failure;
}

}  // namespace vicinal::drivers
