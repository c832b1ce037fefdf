// Reads the file of a recording: its head, then its events in the order of their times.
//
//   const trace::Reader reader("run.vtrace");
//   reader.each([&](const trace::RecordedEvent& event) {
//     if (event.event == Event::task_started) ... event.field(1) ...
//   });
//
// The file begins with
//
//   bytes 0..7    "VICTRACE"
//   bytes 8..11   the form; form 1 has no packed segments, form 3 has the events of all ranks of a run (see ranks_of_file.hpp)
//   bytes 12..15  0x01020304, in the order of the writer's processor
//   bytes 16..23  how many bytes the head has
//   bytes 24..31  the checksum of the head
//   then the head, a JSON object, with spaces behind it up to a whole word (see head.hpp)
//
// and goes on with segments: what a thread has recorded, in its order, most of them packed (see packed_events.hpp). A run that was killed leaves a file without the
// last segment, `end`, or with a piece of a segment, which is left out (Reader::is_complete, Reader::cut_bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "trace/event.hpp"
#include "trace/event_source.hpp"

namespace vicinal::trace {

inline constexpr std::string_view kMagic = "VICTRACE";
inline constexpr std::uint32_t kByteOrder = 0x01020304;

// Before each piece of the file behind its head; all are whole words.
struct SegmentHead {
  static constexpr std::uint32_t kData = 0x474d4753;    // "SGMG": events
  static constexpr std::uint32_t kPacked = 0x444b4350;  // "PCKD": packed events
  static constexpr std::uint32_t kClock = 0x4b434c43;   // "CLCK": a ClockPair
  static constexpr std::uint32_t kEnd = 0x21444e45;     // "END!": an EndOfFile
  std::uint32_t kind = kData;
  std::uint32_t lane = 0;      // the thread
  std::uint64_t number = 0;    // of the thread's chunks of memory
  std::uint64_t offset = 0;    // in bytes, of the segment in the chunk, where nothing is packed
  std::uint64_t bytes = 0;     // that follow
  std::uint64_t checksum = 0;  // of all this and these, see `checksum`
};
static_assert(sizeof(SegmentHead) == 40);

struct EndOfFile {
  std::uint64_t events_lost = 0;
};

// Of the head, but for its last word, and of what follows it.
std::uint64_t checksum(const SegmentHead& head, std::span<const std::uint64_t> words);

// All that is wrong with a file throws UsageError that names the file, what is wrong and where, and what to do.
class Reader final : public EventSource {
 public:
  explicit Reader(std::string path);
  // Of bytes that stay where they are, whole words from the first on; messages say `name`.
  Reader(std::span<const std::byte> bytes, std::string name);
  ~Reader() override;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const std::string& path() const override;
  std::string_view run() const override;
  Categories recorded() const override;
  bool is_simulated() const override;
  bool is_complete() const override;
  std::uint64_t cut_bytes() const;  // at its end, that are no whole segment
  std::uint64_t events_lost() const override;
  std::uint64_t bytes() const override;
  void each(base::FunctionRef<void(const RecordedEvent&)> visit) const override;

  // When the recording began, in ns of the raw monotonic clock.
  std::int64_t origin_ns() const;

  // The same events as `each` visits, one after another.
  class Walk {
   public:
    explicit Walk(const Reader& reader);
    ~Walk();
    Walk(Walk&&) noexcept;
    Walk& operator=(Walk&&) noexcept;
    // False: there are no more. What the event refers to is valid until the next call.
    bool next(RecordedEvent& event);

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace vicinal::trace
