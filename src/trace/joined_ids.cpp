#include "trace/joined_ids.hpp"

#include <cstring>

#include <fmt/format.h>

#include "trace/decision.hpp"
#include "trace/decision_words.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

constexpr std::uint32_t kNone32 = 0xffffffffU;  // of nodes, workers and first fields
constexpr unsigned kModeBits = 4;               // of an access

FieldType type_of(Among among) {
  constexpr FieldType types[] = {FieldType::task, FieldType::handle, FieldType::node,
                                 FieldType::worker};
  return types[static_cast<std::size_t>(among)];
}

bool is_region(Event event) {
  return event == Event::region_began || event == Event::region_ended;
}

}  // namespace

JoinedIds::JoinedIds(std::span<const RankOfSource> ranks, Names names)
    : ranks_(ranks), names_(names), tables_(ranks.size()) {}

std::uint64_t JoinedIds::number(std::uint32_t rank, Kind kind, std::uint64_t id) {
  const auto place = static_cast<std::size_t>(kind);
  std::uint32_t& number = tables_[rank][place][id];
  if (number != base::IdMap::kNone) return number;
  if (last_[place] == kNone32 - 1) {
    throw UsageError(
        fmt::format("{}: the recordings of the run name more than 4 billion things; "
                    "read the recording of one rank",
                    ranks_[rank].path));
  }
  number = ++last_[place];
  return number;
}

std::uint64_t JoinedIds::shifted(const RankOfSource& rank, std::string_view what,
                                 std::uint64_t value, std::uint32_t by, std::uint32_t count) const {
  if (value == kNone32 || value == kNone) return value;
  if (value < count) return value + by;
  throw UsageError(
      fmt::format("{}: the events of the recording contradict each other: the machine "
                  "has no {} {}; record the run again",
                  rank.path, what, value));
}

std::uint64_t JoinedIds::value(std::uint32_t rank, FieldType type, std::uint64_t value) {
  const RankOfSource& of = ranks_[rank];
  switch (type) {
    case FieldType::task:
      return value == kNone ? value : number(rank, Kind::task, value);
    case FieldType::handle:  // 0: of none
      return value == kNone || value == 0 ? value : number(rank, Kind::handle, value);
    case FieldType::copy:
      return number(rank, Kind::copy, value);
    case FieldType::name:
      return number(names_ == Names::common ? 0 : rank, Kind::name, value);
    case FieldType::node:
      return shifted(of, "memory node", value, of.first_node, of.nodes);
    case FieldType::worker:
      return shifted(of, "worker", value, of.first_worker, of.workers);
    default:
      return value;
  }
}

void JoinedIds::translate_tail(std::uint32_t rank, const RecordedEvent& event,
                               std::span<std::uint64_t> tail) {
  if (entry(event.event).tail == Tail::accesses) {
    for (std::uint64_t& word : tail) {
      const std::uint64_t handle = value(rank, FieldType::handle, word >> kModeBits);
      word = handle << kModeBits | (word & ((1U << kModeBits) - 1));
    }
  }
  if (event.event == Event::decision) {
    const auto among = event.field(1);
    if (among > static_cast<std::uint64_t>(Among::workers)) return;
    const FieldType type = type_of(static_cast<Among>(among));
    visit_candidates(event.tail(),
                     [&](std::size_t place) { tail[place] = value(rank, type, tail[place]); });
  }
}

void JoinedIds::translate(std::uint32_t rank, RecordedEvent& event) {
  const EventEntry& known = entry(event.event);
  event.rank = rank;
  event.lane = static_cast<std::uint32_t>(number(rank, Kind::lane, event.lane) - 1);
  room_.assign(event.rest.begin(), event.rest.end());
  const std::size_t fields = known.field_count();
  for (std::size_t i = 1; i < fields; ++i) {
    room_[i - 1] = value(rank, known.fields[i].type, room_[i - 1]);
  }
  if (is_region(event.event)) room_[0] = number(rank, Kind::region, room_[0]);
  translate_tail(rank, event, std::span(room_).subspan(fields - 1));
  event.first = static_cast<std::uint32_t>(value(rank, known.fields[0].type, event.first));
  event.rest = room_;
}

void JoinedIds::replace_text(std::string_view text, RecordedEvent& event) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  room_.assign((text.size() + kWord - 1) / kWord, 0);
  if (!text.empty()) std::memcpy(room_.data(), text.data(), text.size());
  event.rest = room_;
}

}  // namespace vicinal::trace
