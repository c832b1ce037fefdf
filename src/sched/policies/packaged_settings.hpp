// What the policies of packaged.cpp may be told.
#pragma once

#include "sched/settings.hpp"

namespace vicinal::sched::packaged {

inline constexpr Setting kFlip = {
    "flip", "yes", "yes|no", "reverse packages where they then share more with their neighbours"};
inline constexpr Setting kSizes = {"sizes", "rounded", "rounded|exact",
                                   "shared data count by sizes rounded to the median times a power "
                                   "of two; exact: the paper's rule"};
inline constexpr Setting kBalance = {"balance", "time", "time|count|duration|none",
                                     "packages of several accelerators are made equal in this"};
inline constexpr Setting kSteal = {
    "steal", "half", "half|one|none",
    "what a node without tasks takes from the node with most time left: half of that, or a task"};
constexpr Setting ready(std::string_view usual) {
  return {"ready", usual, "yes|no", "of the next 30 ready tasks first the one that lacks least"};
}
constexpr Setting victims(std::string_view usual) {
  return {"victims", usual, "belady|lru",
          "what leaves a full memory: used last by the plan, or lru"};
}

inline constexpr Setting kHfp[] = {kFlip,    kSizes, ready("yes"), victims("belady"),
                                   kBalance, kSteal};
// As in the paper, which compares these orders under least recently used.
inline constexpr Setting kOrders[] = {ready("no"), victims("lru"), kSteal};

}  // namespace vicinal::sched::packaged
