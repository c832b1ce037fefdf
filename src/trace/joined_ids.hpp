// The ids of several ranks as those of one run. Every rank counts its tasks, data, copies, names, regions and threads for
// itself: each becomes the next number of the run when it is first spoken of. Nodes and workers, whose numbers are
// those of the machine, are shifted to the rank's part of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/id_map.hpp"
#include "trace/event.hpp"
#include "trace/event_source.hpp"

namespace vicinal::trace {

class JoinedIds {
 public:
  // `ranks` stays where it is. Names that are common are given by one rank, and used by all.
  enum class Names : std::uint8_t { own, common };
  explicit JoinedIds(std::span<const RankOfSource> ranks, Names names = Names::own);

  // The event as that of the rank. What it refers to is valid until the next call. Throws UsageError: the machine of the
  // rank has not what the event names.
  void translate(std::uint32_t rank, RecordedEvent& event);
  // The same with another text than its own; its fields are one.
  void replace_text(std::string_view text, RecordedEvent& event);

 private:
  enum class Kind : std::uint8_t { task, handle, copy, name, region, lane, kinds };

  std::uint64_t number(std::uint32_t rank, Kind kind, std::uint64_t id);
  std::uint64_t value(std::uint32_t rank, FieldType type, std::uint64_t value);
  std::uint64_t shifted(const RankOfSource& rank, std::string_view what, std::uint64_t value,
                        std::uint32_t by, std::uint32_t count) const;
  void translate_tail(std::uint32_t rank, const RecordedEvent& event,
                      std::span<std::uint64_t> tail);

  using Tables = std::array<base::IdMap, static_cast<std::size_t>(Kind::kinds)>;
  std::span<const RankOfSource> ranks_;
  const Names names_;
  std::vector<Tables> tables_;  // by rank
  std::array<std::uint32_t, static_cast<std::size_t>(Kind::kinds)> last_{};
  std::vector<std::uint64_t> room_;
};

}  // namespace vicinal::trace
