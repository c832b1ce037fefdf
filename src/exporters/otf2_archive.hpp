// An OTF2 archive that is being written: the library's calls, with their errors thrown as DeviceError.
#pragma once

#include <cstdint>
#include <memory>
#include <otf2/otf2.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vicinal::exporters {

// What an event can say beside its region.
enum class Attribute : std::uint8_t { task, title, priority, outcome, copy, datum, bytes, failed };

class Otf2Archive {
 public:
  explicit Otf2Archive(std::string folder);

  // A group of locations, shown as a process or an accelerator.
  std::uint32_t group(std::string_view name, OTF2_LocationGroupType type);
  std::uint32_t region(std::string_view name, OTF2_RegionRole role);  // one for each name and role
  std::uint32_t metric(std::string_view name, std::string_view unit);

  // A location; its events follow, in the order of time, until the next one is begun.
  void begin_location(std::string_view name, OTF2_LocationType type, std::uint32_t group);
  void say(Attribute attribute, std::uint64_t value);  // of the next enter
  void say(Attribute attribute, std::int64_t value);
  void say(Attribute attribute, std::string_view value);
  void enter(std::int64_t time, std::uint32_t region);
  void leave(std::int64_t time, std::uint32_t region);
  void level(std::int64_t time, std::uint32_t metric, std::uint64_t value);

  // Definitions, and what `facts` says of the run. Nothing follows.
  void finish(std::int64_t end, std::string_view machine,
              const std::vector<std::pair<std::string, std::string>>& facts);

 private:
  struct Closer {
    void operator()(OTF2_Archive* archive) const { OTF2_Archive_Close(archive); }
    void operator()(OTF2_AttributeList* list) const { OTF2_AttributeList_Delete(list); }
  };
  struct Location {
    std::uint32_t name;
    OTF2_LocationType type;
    std::uint32_t group;
    std::uint64_t events = 0;
  };
  void check(OTF2_ErrorCode code) const;
  std::uint32_t string(std::string_view text);
  void end_location();
  void write_definitions(std::int64_t end, std::string_view machine);
  void write_strings();

  std::string folder_;
  std::unique_ptr<OTF2_Archive, Closer> archive_;
  OTF2_EvtWriter* events_ = nullptr;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  std::unique_ptr<OTF2_AttributeList, Closer> attributes_;
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::vector<std::pair<std::uint32_t, OTF2_LocationGroupType>> groups_;
  std::vector<std::pair<std::uint32_t, OTF2_RegionRole>> regions_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> metrics_;  // name, unit
  std::unordered_map<std::uint64_t, std::uint32_t> regions_by_name_;
  std::vector<Location> locations_;
};

}  // namespace vicinal::exporters
