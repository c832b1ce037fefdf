// Ways in which the partial results of several ranks come together: the trees of broadcasts, upwards. A tree is never stored: a
// rank that knows the list of contributors finds whose partial results come to it, and to whom its own goes. With n
// contributors beside the root a binomial tree brings it one message in each of ceil(log2(n + 1)) steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/broadcast_trees.hpp"

namespace vicinal::comm {

// Of the option `reduction_tree`. None: off, tasks reduce into data where these live. Throws UsageError: it is none of the
// choices.
std::optional<Tree> reduction_tree_of_option(std::string_view text);
// For comparisons of what ranks call: of equal trees the same, 0 of none. And as the option would name it.
std::uint64_t number_of_reduction_tree(const std::optional<Tree>& tree);
std::string name_of_reduction_tree(std::uint64_t number);

// By place in the list of contributors, in which the root is not.
struct ReductionPlace {
  std::optional<std::size_t> parent;  // none: the root
  // In the order of combination: a child with fewer contributors below comes first.
  std::vector<std::size_t> children;
};
// `place`: none: of the root. O(depth of the tree, and children on the way there).
ReductionPlace reduction_place(const Tree& tree, std::size_t contributors,
                               std::optional<std::size_t> place);

}  // namespace vicinal::comm
