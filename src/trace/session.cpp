#include "trace/session.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <span>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file_size_signal.hpp"
#include "base/start_thread.hpp"
#include "trace/head.hpp"
#include "trace/kind_of_file.hpp"
#include "trace/packed_events.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

// How long an event may lie in memory before it is in the file: what a run that is killed loses.
constexpr std::chrono::milliseconds kPeriod{20};

// Of the memory in which events are packed.
constexpr std::size_t kPackedWords = 2 * Chunk::kWords + 2 * kMostWords;

// Over so much time the pace of the counter is measured at the start, for a file that gets no second pair of readings.
constexpr std::int64_t kFirstMeasureNs = 500'000;

double first_pace(const ClockPair& first, ClockKind clock) {
  if (clock != ClockKind::counter) return 1;
  ClockPair second = first;
  while (second.ns - first.ns < kFirstMeasureNs) second = read_both(clock);
  return ClockScale(first, second).ns_per_tick();
}

}  // namespace

Recorder::Session::Session(const RecordingOptions& options, ClockKind clock)
    : categories(options.categories),
      path(options.file),
      clock_(clock),
      simulated_(clock == ClockKind::simulated),
      most_chunks_(std::max<std::uint64_t>(options.memory.value / sizeof(Chunk), 2)),
      packed_(std::make_unique_for_overwrite<std::uint64_t[]>(kPackedWords)) {
  open_file();
  const ClockPair origin = simulated_ ? ClockPair{} : read_both(clock);
  const std::uint32_t form = options.shared != nullptr ? kFormOfRanks : kForm;
  const std::string front = make_front(
      make_head(clock, origin, first_pace(origin, clock), options.categories, options.run, form),
      form);
  write_all(front.data(), front.size());
}

// The lock is the file's until it is closed: two runtimes that record into one file would leave neither's recording.
void Recorder::Session::open_file() {
  const auto fails = [&](std::string_view why) {
    if (file_ >= 0) close(file_);
    throw UsageError(fmt::format("trace: \"{}\" cannot be written: {}", path, why));
  };
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    fails(fmt::format("{}; name a file in a folder that exists and may be written to",
                      std::strerror(errno)));
  }
  if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fails("another runtime records into it; name another file");
  }
  struct stat status {};
  const bool is_file = fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (is_file && kind_of_file(path) == KindOfFile::other) {
    fails(
        "it is a file of another kind, which would be lost; name another file, or remove it first");
  }
  if (is_file && ftruncate(file_, 0) != 0) fails(std::strerror(errno));
}

Recorder::Session::~Session() {
  for (const auto& lane : lanes_) {
    for (Chunk* chunk : {lane->current, lane->spare.load()}) {
      if (chunk != nullptr) munmap(chunk, sizeof(Chunk));
    }
  }
}

// --- memory

// Touched here, so that no worker has to wait for the system's pages.
Chunk* Recorder::Session::make_chunk() {
  if (chunks_.fetch_add(1, std::memory_order_relaxed) >= most_chunks_) {
    chunks_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  void* const memory = mmap(nullptr, sizeof(Chunk), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    chunks_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  return static_cast<Chunk*>(memory);  // zeros are what a new chunk has
}

Chunk* Recorder::Session::take_chunk() {
  if (free_ == nullptr) return make_chunk();
  Chunk* const chunk = free_;
  free_ = chunk->next;
  chunk->next = nullptr;
  chunk->used = 0;
  chunk->written = 0;
  return chunk;
}

void Recorder::Session::give_back(Chunk* chunk) {
  chunk->next = free_;
  free_ = chunk;
}

Recorder::Session::FoundLane Recorder::Session::lane_of(std::uint64_t thread) {
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) {
    if (lane->thread == thread) return {*lane};
  }
  lanes_.push_back(std::make_unique<Lane>());
  Lane& lane = *lanes_.back();
  lane.session = this;
  lane.number = static_cast<std::uint32_t>(lanes_.size() - 1);
  lane.thread = thread;
  if (!simulated_) lane.spare.store(make_chunk(), std::memory_order_relaxed);
  return {lane, true};
}

bool Recorder::Session::next_chunk(Lane& lane) {
  if (Chunk* const chunk = lane.current; chunk != nullptr) {
    chunk->used = static_cast<std::size_t>(lane.at.load(std::memory_order_relaxed) - chunk->words);
    lane.current = nullptr;
    lane.end = nullptr;
    lane.published.store(nullptr, std::memory_order_relaxed);
    lane.at.store(nullptr, std::memory_order_release);
    if (simulated_) {
      write_chunk(lane, *chunk, chunk->used);
      give_back(chunk);
    } else {
      chunk->next = lane.full.load(std::memory_order_relaxed);
      // Release pairs with the writer's exchange, which may take the list meanwhile.
      while (!lane.full.compare_exchange_weak(chunk->next, chunk, std::memory_order_release,
                                              std::memory_order_relaxed)) {
      }
      // The writer gives back what is still in the processor's caches, rather than more memory being touched.
      any_full_.store(true, std::memory_order_release);
      wakes_.notify_one();
    }
  }
  Chunk* next = simulated_ ? take_chunk() : lane.spare.exchange(nullptr, std::memory_order_acquire);
  if (next == nullptr && !simulated_) next = make_chunk();  // the writer is late
  if (next == nullptr) return false;
  next->number = lane.chunks++;
  lane.current = next;
  lane.end = next->words + Chunk::kWords;
  lane.published.store(next, std::memory_order_relaxed);
  lane.at.store(next->words, std::memory_order_release);  // the writer sees both, or neither
  return true;
}

// --- the file

void Recorder::Session::write_all(const void* data, std::size_t bytes) {
  const base::NoFileSizeSignal no_signal;  // the thread may be the application's
  const char* at = static_cast<const char*>(data);
  while (bytes > 0 && error_.empty()) {
    const ssize_t written = write(file_, at, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      error_ = std::strerror(errno);
      return;
    }
    at += written;
    bytes -= static_cast<std::size_t>(written);
    bytes_ += static_cast<std::uint64_t>(written);
  }
}

void Recorder::Session::write_segment(SegmentHead head, const void* data) {
  head.checksum = checksum(head, {static_cast<const std::uint64_t*>(data), head.bytes / 8});
  write_all(&head, sizeof head);
  write_all(data, head.bytes);
}

void Recorder::Session::write_chunk(const Lane& lane, Chunk& chunk, std::size_t until) {
  if (until <= chunk.written) return;
  const std::span words(chunk.words + chunk.written, until - chunk.written);
  const std::size_t packed = pack_events(words, {packed_.get(), kPackedWords});
  write_segment({.kind = packed > 0 ? SegmentHead::kPacked : SegmentHead::kData,
                 .lane = lane.number,
                 .number = chunk.number,
                 .offset = chunk.written * 8,
                 .bytes = (packed > 0 ? packed : words.size()) * 8},
                packed > 0 ? packed_.get() : words.data());
  chunk.written = until;
}

void Recorder::Session::write_clock() {
  if (simulated_) return;
  const ClockPair pair = read_both(clock_);
  static_assert(sizeof pair == 16);
  write_segment({.kind = SegmentHead::kClock, .bytes = sizeof pair}, &pair);
}

// The full chunks, the oldest first, then what the present one has so far. A chunk that is filled in between is found the
// next time.
void Recorder::Session::write_lane(Lane& lane) {
  Chunk* oldest = nullptr;
  for (Chunk* chunk = lane.full.exchange(nullptr, std::memory_order_acquire); chunk != nullptr;) {
    Chunk* const next = chunk->next;
    chunk->next = oldest;
    oldest = chunk;
    chunk = next;
  }
  while (oldest != nullptr) {
    Chunk* const chunk = oldest;
    oldest = chunk->next;
    write_chunk(lane, *chunk, chunk->used);
    give_back(chunk);
  }
  // Acquire: what lies before `at` is whole. The chunk is nobody's but the thread's until it is in the list above,
  // and only this thread takes it out: it is still there, though it may be full by now.
  const std::uint64_t* const at = lane.at.load(std::memory_order_acquire);
  Chunk* const chunk = lane.published.load(std::memory_order_relaxed);
  if (chunk != nullptr && at >= chunk->words && at <= chunk->words + Chunk::kWords) {
    write_chunk(lane, *chunk, static_cast<std::size_t>(at - chunk->words));
  }
  if (lane.spare.load(std::memory_order_relaxed) == nullptr) {
    lane.spare.store(take_chunk(), std::memory_order_release);
  }
}

void Recorder::Session::write_what_there_is() {
  std::vector<Lane*> lanes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& lane : lanes_) lanes.push_back(lane.get());
  }
  const std::uint64_t before = bytes_;
  for (Lane* const lane : lanes) write_lane(*lane);
  if (bytes_ != before) write_clock();
}

void Recorder::Session::run_writer() {
  pthread_setname_np(pthread_self(), "trace");
  std::unique_lock lock(mutex_);
  const auto wanted = [this] {
    return stopping_ || any_full_.exchange(false, std::memory_order_acquire);
  };
  while (wakes_.wait_for(lock, kPeriod, wanted), !stopping_) {
    lock.unlock();
    try {
      write_what_there_is();
    } catch (const std::bad_alloc&) {  // the next time
    }
    lock.lock();
  }
}

void Recorder::Session::begin_writer() {
  if (simulated_) return;
  const base::NoSignals none;
  try {
    writer_ = std::thread([this] { run_writer(); });
  } catch (const std::system_error& error) {
    throw CapacityError(fmt::format(
        "trace: the thread that writes the recording cannot be started: {}; raise what the system "
        "allows (ulimit -u), or leave the option trace out",
        error.code().message()));
  }
}

RecordingSummary Recorder::Session::end() {
  if (writer_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wakes_.notify_all();
    writer_.join();
  }
  RecordingSummary summary;
  if (simulated_) {
    for (const auto& lane : lanes_) {
      if (lane->current == nullptr) continue;
      const auto used = lane->at.load(std::memory_order_relaxed) - lane->current->words;
      write_chunk(*lane, *lane->current, static_cast<std::size_t>(used));
    }
  } else {
    write_what_there_is();
    write_clock();
  }
  for (const auto& lane : lanes_) {
    summary.events_lost += lane->lost_in_all.load(std::memory_order_relaxed);
  }
  const EndOfFile last{summary.events_lost};
  write_segment({.kind = SegmentHead::kEnd, .bytes = sizeof last}, &last);
  if (close(file_) != 0 && error_.empty()) error_ = std::strerror(errno);
  file_ = -1;
  while (free_ != nullptr) {
    Chunk* const chunk = free_;
    free_ = chunk->next;
    munmap(chunk, sizeof(Chunk));
  }
  summary.file = path;
  summary.bytes = bytes_;
  if (!error_.empty()) {
    summary.error = fmt::format(
        "the recording in \"{}\" is not whole: {}; make room there, or name a file elsewhere "
        "(option trace)",
        path, error_);
  }
  return summary;
}

}  // namespace vicinal::trace
