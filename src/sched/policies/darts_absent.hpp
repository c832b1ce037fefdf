// The data that are absent on a node, in the order of the paper's list, and the best of them.
//
// Alg. 3 of the paper (section 5.3) looks at the whole list for each choice. Between two choices few of
// the data change, so the list is kept as a tournament: a balanced tree in which each place knows the
// best of those below it. What has changed is noted, and compared anew with those it meets on its way up
// when somebody asks. That gives what a walk would, the first of several equals too, and a random
// position costs no walk either. Walks would have to end early where data are many, and would then miss the best
// (numbers in docs/performance.md).
//
// Costs, for n absent data: to list and to unlist O(log n); best() O(log n) comparisons for each datum
// listed, unlisted or changed since, mostly few: a datum that is not the best below its place, before
// nor now, goes no further up.
#pragma once

#include <cstddef>
#include <functional>

#include "base/random.hpp"
#include "base/sure_memory.hpp"
#include "sched/policies/darts_records.hpp"

namespace vicinal::sched::darts {

class AbsentList {
 public:
  using IsBetter = std::function<bool(DataOnNode&, DataOnNode&)>;

  std::size_t size() const { return size_of(root_); }
  // Lists a datum that is not. 0 is the front, size() the back. DataOnNode::listed is changed here alone.
  void insert_at(std::size_t position, DataOnNode& at);
  void push_back(DataOnNode& at) { insert_at(size(), at); }
  // Takes a datum off the list.
  void remove(DataOnNode& at);
  // What it is compared by, if it is listed, has changed, or may have.
  void changed(DataOnNode& at) {
    if (!at.listed || at.place.changed) return;
    changed_.push_back(&at);
    at.place.changed = true;
  }
  // The first of those than which none is better; nullptr: there is none. Those without a reader in main
  // are taken off the list first. `is_better` is a strict weak order, and changes none of those that it
  // compares.
  DataOnNode* best(const IsBetter& is_better);
  // All of them, in their order, until `enough` says true.
  void visit(const std::function<bool(DataOnNode&)>& enough) const { visit(root_, enough); }

 private:
  static bool visit(DataOnNode* at, const std::function<bool(DataOnNode&)>& enough);
  static std::size_t size_of(const DataOnNode* at) { return at != nullptr ? at->place.size : 0; }
  void put_in_place_of(DataOnNode& at, DataOnNode* other);
  void rotate_up(DataOnNode& at);
  static DataOnNode* best_at(DataOnNode& at, const IsBetter& is_better);
  static DataOnNode* best_below(DataOnNode& at, const IsBetter& is_better);
  static void move_up(DataOnNode& at, const IsBetter& is_better);

  DataOnNode* root_ = nullptr;
  // Since the last choice, each once; some are listed no more.
  base::SureVector<DataOnNode*> changed_;
  base::Random heights_{1};  // of the tree alone: no choice depends on them
};

}  // namespace vicinal::sched::darts
