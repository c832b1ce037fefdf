// One recording of a Recorder: the memory of its threads, and the file.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "trace/clock.hpp"
#include "trace/reader.hpp"
#include "trace/recorder.hpp"

namespace vicinal::trace {

// A piece of memory for the events of one thread.
struct Chunk {
  static constexpr std::size_t kWords = std::size_t{32} << 10;
  Chunk* next = nullptr;     // in a list
  std::uint64_t number = 0;  // of the thread's chunks
  std::size_t used = 0;      // words, once it is full
  std::size_t written = 0;   // words in the file already: the writer's
  std::uint64_t words[kWords];
};
// The header of an event has room for the number of its words.
inline constexpr std::size_t kMostWords = std::size_t{16} << 10;
static_assert(kMostWords <= 0xffff && kMostWords < Chunk::kWords);

// What one thread records, beside the place of its next event. The thread alone writes `current` and `lost`; the
// writer reads `at` and `published`.
struct alignas(128) Recorder::Lane : WriteCursor {
  Session* session = nullptr;
  Chunk* current = nullptr;
  std::uint64_t lost = 0;                  // since the last event that says so
  std::uint64_t chunks = 0;                // so many so far
  std::atomic<Chunk*> published{nullptr};  // `current`, for the writer
  std::atomic<Chunk*> spare{nullptr};      // left by the writer
  std::atomic<Chunk*> full{nullptr};       // a list, the newest first
  std::atomic<std::uint64_t> lost_in_all{0};
  std::uint32_t number = 0;
  std::uint64_t thread = 0;
};

struct Recorder::Session {
  Session(const RecordingOptions& options, ClockKind clock);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Nothing has been recorded in a lane that is new. Throws std::bad_alloc.
  struct FoundLane {
    Lane& lane;
    bool is_new = false;
  };
  FoundLane lane_of(std::uint64_t thread);
  // A chunk for the thread, or none: then the memory is used up.
  bool next_chunk(Lane& lane);
  void begin_writer();
  RecordingSummary end();

  const Categories categories;
  const std::string path;
  std::atomic<std::uint32_t> next_name{0};

 private:
  void open_file();
  Chunk* take_chunk();
  Chunk* make_chunk();
  void give_back(Chunk* chunk);
  void write_lane(Lane& lane);
  void write_chunk(const Lane& lane, Chunk& chunk, std::size_t until);
  void write_clock();
  void write_segment(SegmentHead head, const void* data);
  void write_all(const void* data, std::size_t bytes);
  void run_writer();
  void write_what_there_is();

  const ClockKind clock_;
  const bool simulated_;
  const std::uint64_t most_chunks_;
  const std::unique_ptr<std::uint64_t[]> packed_;  // what is written next
  int file_ = -1;
  std::uint64_t bytes_ = 0;
  std::string error_;  // of the file: nothing is written any more
  std::atomic<std::uint64_t> chunks_{0};
  Chunk* free_ = nullptr;  // the writer's
  std::mutex mutex_;       // of the lanes' list, and for the writer's sleep
  std::vector<std::unique_ptr<Lane>> lanes_;
  // Who fills a chunk notifies without the lock; a wake-up that comes in between is made up for by the next, or the period.
  std::condition_variable wakes_;
  std::atomic<bool> any_full_{false};
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace vicinal::trace
