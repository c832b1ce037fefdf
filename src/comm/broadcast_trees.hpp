// Ways in which one version of a datum goes to several ranks: the routing of broadcasts without a communicator, after Swartvagher
// 2022 (paper 004, chapter 4 and appendix A). A tree is never stored: a rank that gets a list of recipients finds
// whom it serves itself, and which part of the list goes with the content to each of them. These parts lie in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vicinal/units.hpp"

namespace vicinal::comm {

enum class TreeShape : std::uint8_t {
  flat,       // the root serves all, in their order
  chain,      // each serves the one behind it
  binary,     // k-ary with k = 2
  k_ary,      // two to `arity` parts of nearly equal lengths, the longer ones first
  binomial,   // each step doubles the ranks that have the content
  delegated,  // the first recipient serves the others as the root of a binomial tree
};
struct Tree {
  TreeShape shape = TreeShape::flat;
  std::uint16_t arity = 2;  // of k_ary, at least 1
  friend bool operator==(const Tree&, const Tree&) = default;
};

// Of the option `broadcast`, or of another with its choices: none: choose; off is flat. Throws UsageError: it is none of the
// choices.
std::optional<Tree> tree_of_option(std::string_view text, std::string_view option = "broadcast");

// Whom a rank with a list of recipients serves: the recipient at `head` of the list, with `count` recipients of its own, which
// lie behind it in the list. In the order of sending.
struct Branch {
  std::size_t head = 0;
  std::size_t count = 0;
  friend bool operator==(const Branch&, const Branch&) = default;
};
std::vector<Branch> branches(const Tree& tree, std::size_t recipients);
// Of the tree below a branch's head.
Tree below(const Tree& tree);

// By place in the list: after how many sends in a row, on the way there, the content has come; from 1.
std::vector<std::size_t> reception_steps(const Tree& tree, std::size_t recipients);

// What a message costs between any two ranks.
struct LinkCost {
  Time overhead{2'000};  // of a rank, for each that it sends
  Time latency{20'000};
  double bytes_per_second = 1e9;
};

// A tree, and the segments in which content goes along it.
struct Route {
  Tree tree;
  std::uint64_t segment = 0;  // bytes of all but the last
  friend bool operator==(const Route&, const Route&) = default;
};
inline constexpr std::uint64_t kLeastSegment = 32768;
inline constexpr std::uint64_t kMostSegments = 64;

// By place in the list: when all has come there, if each rank sends to one after the other of those that it serves, and sends each
// segment on when it has come.
std::vector<Time> arrivals(const Route& route, std::size_t recipients, Bytes bytes,
                           const LinkCost& link);
// The latest of them.
Time time_to_last(const Route& route, std::size_t recipients, Bytes bytes, const LinkCost& link);
// For each place in the list the number of the recipient that takes it: those with larger priorities where content comes earlier;
// of equal ones the first. `arrivals`: at the places; `priorities`: of the recipients, of whom there are as many.
std::vector<std::size_t> places_by_priority(std::span<const Time> arrivals,
                                            std::span<const int> priorities);
// The quickest of all shapes.
Route choose_route(std::size_t recipients, Bytes bytes, const LinkCost& link);
// With the segments that suit the tree best: what the last recipient and a mean one wait.
Route route_along(const Tree& tree, std::size_t recipients, Bytes bytes, const LinkCost& link);

}  // namespace vicinal::comm
