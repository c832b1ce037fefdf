// The packets of a Perfetto trace. Numbers of fields are those of Perfetto's protos/perfetto/trace/*.proto; the test
// tests/cli/export.py reads what is written with Perfetto's own trace processor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "exporters/exporters.hpp"
#include "exporters/pieces.hpp"
#include "exporters/protobuf.hpp"

namespace vicinal::exporters {

// What an event can say beside its name; in the order of kArgumentNames.
enum class Argument : std::uint8_t {
  task,
  codelet,
  priority,
  kind,
  outcome,
  operands,
  released_by,
  submitted,
  ready,
  scheduled,
  operands_wanted,
  room_granted,
  operands_ready,
  copy,
  datum,
  bytes,
  from,
  to,
  cause,
  urgent,
  failed,
  wanted,
  saved_first,
  message,
  direction,
  expected,
};

enum class EventCategory : std::uint8_t { task = 1, copy, memory, application, message };

// An event on a track. Its arguments are given before it is written.
class TrackEvent {
 public:
  void say(Argument argument, std::uint64_t value);
  void say(Argument argument, std::int64_t value);
  void say(Argument argument, bool value);
  void say(Argument argument, std::string_view value);
  void say(Argument argument, std::span<const std::string> values);
  void say(std::string_view name, std::string_view value);
  // Arrows leave it, or come to it.
  void leaves(std::uint64_t arrow) { message_.fixed64(47, arrow); }
  void comes(std::uint64_t arrow) { message_.fixed64(48, arrow); }
  void name(std::string_view text) { message_.text(23, text); }
  void known_name(std::uint64_t number) { message_.number(10, number); }  // of PacketWriter::know

 private:
  friend class PacketWriter;
  Message message_;
};

// Tracks have numbers; the first is 1.
class PacketWriter {
 public:
  explicit PacketWriter(Sink sink) : pieces_(sink) {}

  // Below another track, in the order of their making; 0: below none.
  std::uint64_t track(std::string_view name, std::uint64_t above);
  // The same below none, as a process of its own.
  std::uint64_t process(std::string_view name, std::int32_t number);
  enum class Unit : std::uint8_t { count = 2, bytes = 3 };
  std::uint64_t counter(std::string_view name, std::uint64_t above, Unit unit,
                        std::string_view sentence);

  // Names of events that are used often. Once, after the tracks and before the events.
  void know(std::span<const std::pair<std::uint64_t, std::string>> names);

  void begin(std::uint64_t track, std::int64_t time, EventCategory category, TrackEvent& event);
  void end(std::uint64_t track, std::int64_t time);
  void instant(std::uint64_t track, std::int64_t time, EventCategory category, TrackEvent& event);
  void level(std::uint64_t track, std::int64_t time, std::int64_t value);
  void finish() { pieces_.finish(); }

 private:
  // What the track is, beside a group or a row of slices.
  struct Nature {
    std::uint32_t field = 0;  // 0: nothing else
    const Message* description = nullptr;
  };
  void describe(std::string_view name, std::uint64_t above, const Nature& nature,
                std::string_view sentence);
  void event(std::int64_t time, const Message& event);
  void packet(const Message& packet);

  Pieces pieces_;
  Message packet_;
  Message trace_;
  Message small_;
  std::uint64_t tracks_ = 0;
};

}  // namespace vicinal::exporters
