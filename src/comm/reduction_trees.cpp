#include "comm/reduction_trees.hpp"

#include <algorithm>
#include <iterator>

namespace vicinal::comm {

std::optional<Tree> reduction_tree_of_option(std::string_view text) {
  if (text == "off") return std::nullopt;
  return tree_of_option(text, "reduction_tree").value_or(Tree{.shape = TreeShape::binomial});
}

namespace {
constexpr unsigned kShapeBits = 8;
}  // namespace

std::uint64_t number_of_reduction_tree(const std::optional<Tree>& tree) {
  if (!tree) return 0;
  return (std::uint64_t{tree->arity} << kShapeBits) + static_cast<std::uint64_t>(tree->shape) + 1;
}

std::string name_of_reduction_tree(std::uint64_t number) {
  constexpr std::string_view kShapes[] = {"off",   "flat",     "chain",    "binary",
                                          "k-ary", "binomial", "delegated"};
  const std::size_t shape = number & ((1U << kShapeBits) - 1);
  if (shape == 1 + static_cast<std::size_t>(TreeShape::k_ary)) {
    return std::to_string(number >> kShapeBits) + "-ary";
  }
  return std::string(kShapes[std::min(shape, std::size(kShapes) - 1)]);
}

ReductionPlace reduction_place(const Tree& tree, std::size_t contributors,
                               std::optional<std::size_t> place) {
  ReductionPlace found;
  Tree its = tree;
  std::size_t first = 0;  // of the list below who is looked at
  std::size_t count = contributors;
  std::vector<Branch> served = branches(its, count);
  std::optional<std::size_t> at;  // none: the root
  while (at != place) {
    for (const Branch& branch : served) {
      const std::size_t head = first + branch.head;
      if (*place < head || *place > head + branch.count) continue;
      found.parent = at;
      at = head;
      first = head + 1;
      count = branch.count;
      break;
    }
    its = below(its);
    served = branches(its, count);
  }
  for (auto branch = served.rbegin(); branch != served.rend(); ++branch) {
    found.children.push_back(first + branch->head);
  }
  return found;
}

}  // namespace vicinal::comm
