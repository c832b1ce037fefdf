#include "trace/head_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trace/file_error.hpp"
#include "trace/head.hpp"
#include "trace/reader.hpp"

namespace vicinal::trace {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kGiveOurs = "give a file that --trace has written";
constexpr std::size_t kMostEvents = 0x10000;  // the number of an event has 16 bits
constexpr int kDeepest = 64;                  // objects in objects

template <typename T>
T load(std::span<const std::byte> file, std::size_t at) {
  T value{};
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

// --- what stands before the JSON

std::string_view text_of_head(std::span<const std::byte> file, const std::string& name) {
  const std::size_t shown = std::min(file.size(), kMagic.size());
  if (file.empty()) refuse_file(name, 0, "the file is empty", kGiveOurs);
  if (std::memcmp(file.data(), kMagic.data(), shown) != 0) {
    refuse_file(name, 0, "the file is no recording: it does not begin with \"VICTRACE\"",
                kGiveOurs);
  }
  if (file.size() < kFrontBytes) {
    refuse_damaged(name, file.size(), "the file ends before its head");
  }
  const auto order = load<std::uint32_t>(file, 12);
  if (order == __builtin_bswap32(kByteOrder)) {
    refuse_file(name, 12, "the file was made by a processor with the other order of bytes",
                "read it on a machine of that kind");
  }
  if (order != kByteOrder) refuse_damaged(name, 12, "the mark of the order of bytes is wrong");
  const auto version = load<std::uint32_t>(file, 8);
  if (version > kFormOfRanks) {
    refuse_file(name, 8,
                fmt::format("the file is a recording of form {}, this program reads forms up to {}",
                            version, kFormOfRanks),
                "read the file with the version of Vicinal that made it, or a later version");
  }
  if (version == 0) refuse_damaged(name, 8, "there is no form 0 of recordings");

  const auto bytes = load<std::uint64_t>(file, 16);
  if (bytes % sizeof(std::uint64_t) != 0) {
    refuse_damaged(name, 16, fmt::format("a head of {} bytes is not of whole words", bytes));
  }
  if (bytes > file.size() - kFrontBytes) {
    refuse_damaged(name, 16,
                   fmt::format("the head has {} bytes, of which {} are there", bytes,
                               file.size() - kFrontBytes));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kFrontBytes, bytes);
  if (load<std::uint64_t>(file, 24) != checksum_of_head(text)) {
    refuse_damaged(name, 24, "the checksum of the head does not fit it");
  }
  return text;
}

// --- the JSON

// What is wrong with the head. The checksum fits: whoever wrote it did so on purpose.
struct Malformed {
  std::string what;
};

Json parse(std::string_view text, const std::string& name) {
  const auto not_too_deep = [](int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
    if (depth > kDeepest) throw Malformed{"it has too many objects in objects"};
    return true;
  };
  try {
    return Json::parse(text, not_too_deep);
  } catch (const Json::parse_error& error) {
    refuse_file(name, kFrontBytes + error.byte, "the head is no JSON", kGiveOurs);
  } catch (const Json::exception&) {  // a number that is none of any kind
    refuse_file(name, kFrontBytes, "the head is no JSON that can be read", kGiveOurs);
  }
}

const Json& member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw Malformed{fmt::format("it lacks \"{}\"", name)};
  return *found;
}

const Json& list(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_array()) throw Malformed{fmt::format("\"{}\" is no list", name)};
  return value;
}

const std::string& text(const Json& value, const char* name) {
  if (!value.is_string()) throw Malformed{fmt::format("\"{}\" is no string", name)};
  return value.get_ref<const std::string&>();
}

const std::string& text_member(const Json& object, const char* name) {
  if (!object.is_object())
    throw Malformed{fmt::format("what should have \"{}\" is no object", name)};
  return text(member(object, name), name);
}

std::int64_t integer(const Json& object, const char* name) {
  const Json& value = member(object, name);
  // Half the range: differences are in range as well.
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMost)
                        : value.is_number_integer() && value.get<std::int64_t>() >= -kMost;
  if (!fits) throw Malformed{fmt::format("\"{}\" is no integer within 2^62", name)};
  return value.get<std::int64_t>();
}

void read_clock(const Json& json, FileHead& head) {
  const std::string& kind = text_member(json, "kind");
  constexpr ClockKind kinds[] = {ClockKind::counter, ClockKind::monotonic_raw,
                                 ClockKind::simulated};
  const auto* const found =
      std::ranges::find_if(kinds, [&](ClockKind each) { return kind == to_string(each); });
  if (found == std::end(kinds)) throw Malformed{"this version does not know its kind of clock"};
  head.clock = *found;
  head.origin = {integer(json, "origin_ticks"), integer(json, "origin_ns")};
  const Json& pace = member(json, "ns_per_tick");
  if (!pace.is_number()) throw Malformed{"\"ns_per_tick\" is no number"};
  head.ns_per_tick = pace.get<double>();
  if (!is_pace(head.ns_per_tick)) throw Malformed{"\"ns_per_tick\" is no pace of a clock"};
}

void read_recorded(const Json& names, FileHead& head) {
  for (const Json& each : names) {
    const std::string& name = text(each, "recorded");
    for (const CategoryEntry& known : categories()) {
      if (name == known.name) head.recorded |= bit(known.category);
    }
  }
}

// A choice more at the end is what a later version may know.
bool fits(const Json& json, const Field& field, std::size_t place, FileEvent& event) {
  if (text_member(json, "name") != field.name) return false;
  if (text_member(json, "type") != to_string(field.type)) return false;
  if (field.type != FieldType::choice) return true;
  const auto count = [](std::string_view choices) {
    return static_cast<std::uint64_t>(std::ranges::count(choices, '|')) + 1;
  };
  const auto found = json.find("choices");
  const std::string_view ours = field.choices;
  const std::string_view theirs =
      found == json.end() ? ours : std::string_view(text(*found, "choices"));
  const std::size_t common = std::min(ours.size(), theirs.size());
  const auto ends_there = [&](std::string_view all) {
    return all.size() == common || all[common] == '|';
  };
  if (ours.substr(0, common) != theirs.substr(0, common)) return false;
  if (!ends_there(ours) || !ends_there(theirs)) return false;
  event.choices.push_back({place, count(theirs), std::min(count(ours), count(theirs))});
  return true;
}

std::optional<Tail> tail_named(std::string_view name) {
  for (const Tail tail : {Tail::none, Tail::text, Tail::accesses, Tail::scores}) {
    if (name == to_string(tail)) return tail;
  }
  return std::nullopt;
}

FileEvent read_event(const Json& json) {
  FileEvent event;
  event.in_table = true;
  const std::string& name = text_member(json, "name");
  const Json& fields = list(json, "fields");
  event.fields = fields.size();
  if (fields.empty()) throw Malformed{fmt::format("its event \"{}\" has no fields", name)};
  event.tail = tail_named(text_member(json, "tail"));
  const auto known = events();
  const auto ours = std::ranges::find(known, name, &EventEntry::name);
  if (ours == known.end() || event.tail != ours->tail) return event;
  const std::size_t count = ours->field_count();
  if (event.fields < count) return event;
  for (std::size_t i = 0; i < count; ++i) {
    if (!fits(fields[i], ours->fields[i], i, event)) {
      event.choices.clear();
      return event;
    }
  }
  event.event = ours->event;
  return event;
}

void read_events(const Json& table, FileHead& head) {
  std::vector<bool> taken(events().size());
  for (const Json& each : table) {
    FileEvent event = read_event(each);
    const Json& number = member(each, "number");
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= kMostEvents) {
      throw Malformed{"the number of an event is none within 16 bits"};
    }
    const auto at = number.get<std::size_t>();
    if (at >= head.events.size()) head.events.resize(at + 1);
    if (head.events[at].in_table) throw Malformed{fmt::format("it has two events {}", at)};
    if (event.event) {
      const auto ours = static_cast<std::size_t>(*event.event);
      if (taken[ours]) throw Malformed{"it has an event twice"};
      taken[ours] = true;
    }
    head.events[at] = std::move(event);
  }
}

template <typename Key, typename Entries>
std::vector<std::optional<Key>> read_names(const Json& names, const char* what,
                                           const Entries& entries) {
  std::vector<std::optional<Key>> keys;
  for (const Json& each : names) {
    const std::string& name = text(each, what);
    std::optional<Key> key;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (name == entries[i].name) key = static_cast<Key>(i);
    }
    keys.push_back(key);
  }
  return keys;
}

void read_object(const Json& json, FileHead& head) {
  if (!json.is_object()) throw Malformed{"it is no object"};
  if (text_member(json, "format") != "vicinal recording") {
    throw Malformed{"its \"format\" is not \"vicinal recording\""};
  }
  read_clock(member(json, "clock"), head);
  read_recorded(list(json, "recorded"), head);
  read_events(list(json, "events"), head);
  head.rules = read_names<Reason>(list(json, "rules"), "rules", reasons());
  head.measures = read_names<Measure>(list(json, "measures"), "measures", measures());
  for (std::size_t i = 0; i < head.measures.size(); ++i) {
    if (head.measures[i] != static_cast<Measure>(i)) head.same_measures = false;
  }
  const Json& run = member(json, "run");
  if (!run.is_object()) throw Malformed{"its \"run\" is no object"};
  head.run = run.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

FileHead read_head(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text = text_of_head(file, name);
  FileHead head;
  head.end = kFrontBytes + text.size();
  try {
    read_object(parse(text, name), head);
  } catch (const Malformed& malformed) {
    refuse_file(name, kFrontBytes, "the head is not that of a recording: " + malformed.what,
                kGiveOurs);
  }
  return head;
}

}  // namespace vicinal::trace
