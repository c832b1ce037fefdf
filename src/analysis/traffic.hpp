// What data travelled: copies, loads, reloads and evictions by datum, bytes and busy time by link, and what each copy
// cost: for how long some task waited for it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

// Of a datum on a node.
struct TrafficOnNode {
  std::uint32_t node = kNobody;
  std::uint32_t loads = 0;      // copies that came there
  std::uint32_t reloads = 0;    // of these, those that had to come since it had been evicted there
  std::uint32_t evictions = 0;  // from there, without those after which it stayed
};

struct TrafficOfDatum {
  std::uint32_t datum = kNobody;
  std::uint64_t bytes = 0;  // of all its copies
  std::uint32_t copies = 0;
  std::uint32_t reloads = 0;
  std::uint32_t evictions = 0;
  std::int64_t cost = 0;             // ns, of its copies
  std::vector<TrafficOnNode> nodes;  // those where something happened, by number
};

struct TrafficOfLink {
  std::uint32_t from = kNobody;
  std::uint32_t to = kNobody;
  std::uint64_t bytes = 0;
  std::uint32_t copies = 0;
  std::int64_t busy = 0;    // ns with a copy in flight
  std::int64_t waited = 0;  // ns that copies waited for it, all together
};

// An eviction, and whether the datum left and came back.
struct EvictionOfRun {
  std::uint32_t change = kNobody;  // index into RecordedRun::room
  std::uint32_t reload = kNobody;  // the next copy to there: index into RecordedRun::copies
  bool kept = false;               // it stayed after all
};

struct Traffic {
  std::vector<TrafficOfDatum> data;  // that travelled or were evicted; those of most bytes first
  std::vector<TrafficOfLink> links;  // that copies used; those of most bytes first
  std::vector<std::int64_t> cost;    // by copy, ns: see copy_costs
  std::vector<bool> is_reload;       // by copy
  std::vector<EvictionOfRun> evictions;  // in the order of time
};

Traffic traffic(const RecordedRun& run);

// By copy: how long, while it was wanted and had not ended, some task waited for it to arrive: one of the node that it
// came to or, of a copy on its way through RAM, of any, that had room for all its operands.
std::vector<std::int64_t> copy_costs(const RecordedRun& run);

}  // namespace vicinal::analysis
