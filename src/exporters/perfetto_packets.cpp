#include "exporters/perfetto_packets.hpp"

#include <cstddef>
#include <iterator>
#include <utility>

namespace vicinal::exporters {

namespace {

constexpr std::string_view kArgumentNames[] = {
    "task",
    "codelet",
    "priority",
    "kind",
    "outcome",
    "operands",
    "released_by",
    "submitted_ns",
    "ready_ns",
    "scheduled_ns",
    "operands_wanted_ns",
    "room_granted_ns",
    "operands_ready_ns",
    "copy",
    "datum",
    "bytes",
    "from",
    "to",
    "cause",
    "urgent",
    "failed",
    "wanted_ns",
    "saved_first",
    "message",
    "direction",
    "expected_ns",
};
static_assert(std::size(kArgumentNames) == static_cast<std::size_t>(Argument::expected) + 1);

constexpr std::string_view kCategoryNames[] = {"task", "copy", "memory", "application", "message"};

// Numbers of fields.
constexpr std::uint32_t kTracePacket = 1;
constexpr std::uint32_t kPacketTimestamp = 8;
constexpr std::uint32_t kPacketSequence = 10;
constexpr std::uint32_t kPacketTrackEvent = 11;
constexpr std::uint32_t kPacketInternedData = 12;
constexpr std::uint32_t kPacketSequenceFlags = 13;
constexpr std::uint32_t kPacketTrackDescriptor = 60;
constexpr std::uint32_t kPacketFirst = 87;
constexpr std::uint64_t kSequence = 1;
constexpr std::uint64_t kNamesBegin = 1;  // flags of the sequence
constexpr std::uint64_t kNamesNeeded = 2;

constexpr std::uint32_t kEventCategory = 3;
constexpr std::uint32_t kEventArgument = 4;
constexpr std::uint32_t kEventType = 9;
constexpr std::uint32_t kEventTrack = 11;
constexpr std::uint32_t kEventLevel = 30;
constexpr std::uint64_t kTypeBegin = 1;
constexpr std::uint64_t kTypeEnd = 2;
constexpr std::uint64_t kTypeInstant = 3;
constexpr std::uint64_t kTypeLevel = 4;

constexpr std::uint32_t kArgumentNumber = 1;
constexpr std::uint32_t kArgumentBool = 2;
constexpr std::uint32_t kArgumentUnsigned = 3;
constexpr std::uint32_t kArgumentSigned = 4;
constexpr std::uint32_t kArgumentText = 6;
constexpr std::uint32_t kArgumentName = 10;
constexpr std::uint32_t kArgumentArray = 12;

Message about(Argument argument) {
  Message message;
  message.number(kArgumentNumber, static_cast<std::uint64_t>(argument) + 1);
  return message;
}

void add_name(Message& all, std::uint32_t field, std::uint64_t number, std::string_view text) {
  Message name;
  name.number(1, number);
  name.text(2, text);
  all.message(field, name);
}

}  // namespace

void TrackEvent::say(Argument argument, std::uint64_t value) {
  Message message = about(argument);
  message.number(kArgumentUnsigned, value);
  message_.message(kEventArgument, message);
}

void TrackEvent::say(Argument argument, std::int64_t value) {
  Message message = about(argument);
  message.integer(kArgumentSigned, value);
  message_.message(kEventArgument, message);
}

void TrackEvent::say(Argument argument, bool value) {
  Message message = about(argument);
  message.number(kArgumentBool, value ? 1 : 0);
  message_.message(kEventArgument, message);
}

void TrackEvent::say(Argument argument, std::string_view value) {
  Message message = about(argument);
  message.text(kArgumentText, value);
  message_.message(kEventArgument, message);
}

void TrackEvent::say(Argument argument, std::span<const std::string> values) {
  Message message = about(argument);
  for (const std::string& value : values) {
    Message element;
    element.text(kArgumentText, value);
    message.message(kArgumentArray, element);
  }
  message_.message(kEventArgument, message);
}

void TrackEvent::say(std::string_view name, std::string_view value) {
  Message message;
  message.text(kArgumentName, name);
  message.text(kArgumentText, value);
  message_.message(kEventArgument, message);
}

void PacketWriter::packet(const Message& packet) {
  trace_.clear();
  trace_.message(kTracePacket, packet);
  pieces_.add(trace_.bytes());
}

void PacketWriter::describe(std::string_view name, std::uint64_t above, const Nature& nature,
                            std::string_view sentence) {
  Message track;
  track.number(1, ++tracks_);
  track.text(2, name);
  if (above != 0) track.number(5, above);
  if (nature.field != 0) track.message(nature.field, *nature.description);
  track.number(11, 3);        // those below it: in the order of their ranks
  track.number(12, tracks_);  // its own rank
  if (!sentence.empty()) track.text(14, sentence);
  track.number(15, 2);  // not drawn as one with another of its name
  packet_.clear();
  packet_.message(kPacketTrackDescriptor, track);
  packet_.number(kPacketSequence, kSequence);
  packet(packet_);
}

std::uint64_t PacketWriter::track(std::string_view name, std::uint64_t above) {
  describe(name, above, {}, {});
  return tracks_;
}

std::uint64_t PacketWriter::process(std::string_view name, std::int32_t number) {
  Message process;
  process.number(1, static_cast<std::uint64_t>(number));
  process.text(6, name);
  describe(name, 0, {3, &process}, {});
  return tracks_;
}

std::uint64_t PacketWriter::counter(std::string_view name, std::uint64_t above, Unit unit,
                                    std::string_view sentence) {
  Message counter;
  counter.number(3, static_cast<std::uint64_t>(unit));
  describe(name, above, {8, &counter}, sentence);
  return tracks_;
}

void PacketWriter::know(std::span<const std::pair<std::uint64_t, std::string>> names) {
  Message all;
  for (std::size_t i = 0; i < std::size(kCategoryNames); ++i) {
    add_name(all, 1, i + 1, kCategoryNames[i]);
  }
  for (const auto& [number, name] : names) add_name(all, 2, number, name);
  for (std::size_t i = 0; i < std::size(kArgumentNames); ++i) {
    add_name(all, 3, i + 1, kArgumentNames[i]);
  }
  packet_.clear();
  packet_.number(kPacketSequence, kSequence);
  packet_.number(kPacketFirst, 1);
  packet_.number(kPacketSequenceFlags, kNamesBegin);
  packet_.message(kPacketInternedData, all);
  packet(packet_);
}

void PacketWriter::event(std::int64_t time, const Message& event) {
  packet_.clear();
  packet_.integer(kPacketTimestamp, time);
  packet_.number(kPacketSequence, kSequence);
  packet_.number(kPacketSequenceFlags, kNamesNeeded);
  packet_.message(kPacketTrackEvent, event);
  packet(packet_);
}

void PacketWriter::begin(std::uint64_t track, std::int64_t time, EventCategory category,
                         TrackEvent& event) {
  event.message_.number(kEventType, kTypeBegin);
  event.message_.number(kEventTrack, track);
  event.message_.number(kEventCategory, static_cast<std::uint64_t>(category));
  this->event(time, event.message_);
}

void PacketWriter::end(std::uint64_t track, std::int64_t time) {
  small_.clear();
  small_.number(kEventType, kTypeEnd);
  small_.number(kEventTrack, track);
  event(time, small_);
}

void PacketWriter::instant(std::uint64_t track, std::int64_t time, EventCategory category,
                           TrackEvent& event) {
  event.message_.number(kEventType, kTypeInstant);
  event.message_.number(kEventTrack, track);
  event.message_.number(kEventCategory, static_cast<std::uint64_t>(category));
  this->event(time, event.message_);
}

void PacketWriter::level(std::uint64_t track, std::int64_t time, std::int64_t value) {
  small_.clear();
  small_.number(kEventType, kTypeLevel);
  small_.number(kEventTrack, track);
  small_.integer(kEventLevel, value);
  event(time, small_);
}

}  // namespace vicinal::exporters
