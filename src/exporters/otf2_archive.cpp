#if VICINAL_HAVE_OTF2

#include "exporters/otf2_archive.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "vicinal/error.hpp"

namespace vicinal::exporters {

namespace {

constexpr std::uint64_t kEventChunk = std::uint64_t{1} << 20;  // bytes of memory, per location
constexpr std::uint64_t kDefinitionChunk = std::uint64_t{4} << 20;

struct AttributeEntry {
  std::string_view name;
  OTF2_Type type;
  std::string_view sentence;
};
// In the order of the enumeration.
constexpr AttributeEntry kAttributes[] = {
    {"task", OTF2_TYPE_UINT64, "its number"},
    {"title", OTF2_TYPE_STRING, "the task's own name"},
    {"priority", OTF2_TYPE_INT64, "the greater, the sooner"},
    {"outcome", OTF2_TYPE_STRING, "done, failed, cancelled, or not ended"},
    {"copy", OTF2_TYPE_UINT64, "its number"},
    {"datum", OTF2_TYPE_STRING, "that is copied"},
    {"bytes", OTF2_TYPE_UINT64, "that are copied"},
    {"failed", OTF2_TYPE_UINT64, "1: the copy failed"},
};
static_assert(std::size(kAttributes) == static_cast<std::size_t>(Attribute::failed) + 1);

OTF2_FlushType flush_always(void* /*data*/, OTF2_FileType /*type*/, OTF2_LocationRef /*location*/,
                            void* /*caller*/, bool /*final*/) {
  return OTF2_FLUSH;
}
// The moment of a flush would be an event of its own: without the callback there is none.
constexpr OTF2_FlushCallbacks kFlush{flush_always, nullptr};

// Errors are thrown, not printed.
OTF2_ErrorCode say_nothing(void* /*data*/, const char* /*file*/, std::uint64_t /*line*/,
                           const char* /*function*/, OTF2_ErrorCode code, const char* /*format*/,
                           va_list /*arguments*/) {
  return code;
}

// Readers print a name in a line.
std::string one_line(std::string_view text) {
  std::string line = base::legible(text);
  std::replace_if(
      line.begin(), line.end(), [](char byte) { return byte == '\n' || byte == '\t'; }, ' ');
  return line;
}

OTF2_TimeStamp stamp(std::int64_t time) {
  return static_cast<OTF2_TimeStamp>(time);
}

}  // namespace

Otf2Archive::Otf2Archive(std::string folder) : folder_(std::move(folder)) {
  OTF2_Error_RegisterCallback(say_nothing, nullptr);
  archive_.reset(OTF2_Archive_Open(folder_.c_str(), "traces", OTF2_FILEMODE_WRITE, kEventChunk,
                                   kDefinitionChunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE));
  if (!archive_) {
    throw DeviceError(fmt::format("cannot write an OTF2 archive in the folder {}", folder_));
  }
  check(OTF2_Archive_SetFlushCallbacks(archive_.get(), &kFlush, nullptr));
  check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_.get()));
  check(OTF2_Archive_SetCreator(archive_.get(), "vicinal"));
  check(OTF2_Archive_OpenEvtFiles(archive_.get()));
  attributes_.reset(OTF2_AttributeList_New());
}

void Otf2Archive::check(OTF2_ErrorCode code) const {
  if (code == OTF2_SUCCESS) return;
  throw DeviceError(fmt::format("cannot write the OTF2 archive {}: {}", folder_,
                                OTF2_Error_GetDescription(code)));
}

std::uint32_t Otf2Archive::string(std::string_view text) {
  const auto number = static_cast<std::uint32_t>(strings_.size());
  return strings_.try_emplace(one_line(text), number).first->second;
}

std::uint32_t Otf2Archive::group(std::string_view name, OTF2_LocationGroupType type) {
  groups_.emplace_back(string(name), type);
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

std::uint32_t Otf2Archive::region(std::string_view name, OTF2_RegionRole role) {
  const std::uint32_t text = string(name);
  const auto [at, is_new] = regions_by_name_.try_emplace(
      std::uint64_t{text} << 8 | role, static_cast<std::uint32_t>(regions_.size()));
  if (is_new) regions_.emplace_back(text, role);
  return at->second;
}

std::uint32_t Otf2Archive::metric(std::string_view name, std::string_view unit) {
  metrics_.emplace_back(string(name), string(unit));
  return static_cast<std::uint32_t>(metrics_.size() - 1);
}

void Otf2Archive::begin_location(std::string_view name, OTF2_LocationType type,
                                 std::uint32_t group) {
  end_location();
  locations_.push_back({string(name), type, group});
  events_ = OTF2_Archive_GetEvtWriter(archive_.get(), locations_.size() - 1);
  if (events_ == nullptr) check(OTF2_ERROR_FILE_CAN_NOT_OPEN);
}

void Otf2Archive::end_location() {
  if (events_ == nullptr) return;
  check(OTF2_EvtWriter_GetNumberOfEvents(events_, &locations_.back().events));
  check(OTF2_Archive_CloseEvtWriter(archive_.get(), events_));
  events_ = nullptr;
}

void Otf2Archive::say(Attribute attribute, std::uint64_t value) {
  check(OTF2_AttributeList_AddUint64(attributes_.get(), static_cast<std::uint32_t>(attribute),
                                     value));
}

void Otf2Archive::say(Attribute attribute, std::int64_t value) {
  check(
      OTF2_AttributeList_AddInt64(attributes_.get(), static_cast<std::uint32_t>(attribute), value));
}

void Otf2Archive::say(Attribute attribute, std::string_view value) {
  check(OTF2_AttributeList_AddStringRef(attributes_.get(), static_cast<std::uint32_t>(attribute),
                                        string(value)));
}

// The library empties the list of attributes.
void Otf2Archive::enter(std::int64_t time, std::uint32_t region) {
  check(OTF2_EvtWriter_Enter(events_, attributes_.get(), stamp(time), region));
}

void Otf2Archive::leave(std::int64_t time, std::uint32_t region) {
  check(OTF2_EvtWriter_Leave(events_, nullptr, stamp(time), region));
}

void Otf2Archive::level(std::int64_t time, std::uint32_t metric, std::uint64_t value) {
  const OTF2_Type type = OTF2_TYPE_UINT64;
  OTF2_MetricValue level;
  level.unsigned_int = value;
  check(OTF2_EvtWriter_Metric(events_, nullptr, stamp(time), metric, 1, &type, &level));
}

void Otf2Archive::finish(std::int64_t end, std::string_view machine,
                         const std::vector<std::pair<std::string, std::string>>& facts) {
  end_location();
  check(OTF2_Archive_CloseEvtFiles(archive_.get()));
  // Readers look for definitions of each location; there are none.
  check(OTF2_Archive_OpenDefFiles(archive_.get()));
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    OTF2_DefWriter* const writer = OTF2_Archive_GetDefWriter(archive_.get(), i);
    if (writer == nullptr) check(OTF2_ERROR_FILE_CAN_NOT_OPEN);
    check(OTF2_Archive_CloseDefWriter(archive_.get(), writer));
  }
  check(OTF2_Archive_CloseDefFiles(archive_.get()));
  definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_.get());
  if (definitions_ == nullptr) check(OTF2_ERROR_FILE_CAN_NOT_OPEN);
  write_definitions(end, machine);
  for (const auto& [name, value] : facts) {
    const std::string key = fmt::format("VICINAL::{}", name);
    check(OTF2_Archive_SetProperty(archive_.get(), key.c_str(), one_line(value).c_str(), true));
  }
  check(OTF2_Archive_Close(archive_.release()));
}

void Otf2Archive::write_strings() {
  std::vector<const std::string*> texts(strings_.size());
  for (const auto& [text, number] : strings_) texts[number] = &text;
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    check(OTF2_GlobalDefWriter_WriteString(definitions_, i, texts[i]->c_str()));
  }
}

void Otf2Archive::write_definitions(std::int64_t end, std::string_view machine) {
  const std::uint32_t empty = string("");
  const std::uint32_t name = string(machine);
  const std::uint32_t sort = string("machine");
  std::vector<std::pair<std::uint32_t, std::uint32_t>> attributes;
  for (const AttributeEntry& entry : kAttributes) {
    attributes.emplace_back(string(entry.name), string(entry.sentence));
  }
  check(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, 1000000000, 0, stamp(end),
                                                  OTF2_UNDEFINED_TIMESTAMP));
  write_strings();
  for (std::uint32_t i = 0; i < attributes.size(); ++i) {
    check(OTF2_GlobalDefWriter_WriteAttribute(definitions_, i, attributes[i].first,
                                              attributes[i].second, kAttributes[i].type));
  }
  check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, name, sort,
                                                 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    const bool is_process = groups_[i].second == OTF2_LOCATION_GROUP_TYPE_PROCESS;
    check(OTF2_GlobalDefWriter_WriteLocationGroup(definitions_, i, groups_[i].first,
                                                  groups_[i].second, 0,
                                                  is_process ? OTF2_UNDEFINED_LOCATION_GROUP : 0));
  }
  for (std::uint32_t i = 0; i < regions_.size(); ++i) {
    check(OTF2_GlobalDefWriter_WriteRegion(definitions_, i, regions_[i].first, regions_[i].first,
                                           empty, regions_[i].second, OTF2_PARADIGM_USER,
                                           OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0));
  }
  for (std::uint32_t i = 0; i < metrics_.size(); ++i) {
    const auto [metric, unit] = metrics_[i];
    check(OTF2_GlobalDefWriter_WriteMetricMember(definitions_, i, metric, empty,
                                                 OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_NEXT,
                                                 OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, unit));
    check(OTF2_GlobalDefWriter_WriteMetricClass(definitions_, i, 1, &i, OTF2_METRIC_ASYNCHRONOUS,
                                                OTF2_RECORDER_KIND_CPU));
  }
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Location& location = locations_[i];
    check(OTF2_GlobalDefWriter_WriteLocation(definitions_, i, location.name, location.type,
                                             location.events, location.group));
  }
}

}  // namespace vicinal::exporters

#endif
