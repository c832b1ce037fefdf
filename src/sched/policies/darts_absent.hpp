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
#include <utility>

#include "base/random.hpp"
#include "base/sure_memory.hpp"
#include "sched/policies/darts_records.hpp"

namespace vicinal::sched::darts {

class AbsentList {
 public:
  using IsBetter = std::function<bool(DataOnNode&, DataOnNode&)>;

  std::size_t size() const { return size_of(root_); }
  // Lists a datum that is not. 0 is the front, size() the back. DataOnNode::listed is changed here alone.
  // A treap (Seidel and Aragon 1996) without keys: who comes before whom is said by the tree alone, and
  // sizes lead to a position. No place lies above one of greater `height`.
  void insert_at(std::size_t position, DataOnNode& at) {
    const bool was_changed = at.place.changed;  // then it is in changed_ still
    at.place = {};
    at.place.changed = was_changed;
    at.place.height = static_cast<std::uint32_t>(heights_.next());
    DataOnNode* above = nullptr;
    bool before = false;
    for (DataOnNode* next = root_; next != nullptr;) {
      above = next;
      ++above->place.size;
      above->place.best = nullptr;
      before = position <= size_of(above->place.before);
      if (!before) position -= size_of(above->place.before) + 1;
      next = before ? above->place.before : above->place.behind;
    }
    at.place.above = above;
    if (above == nullptr) {
      root_ = &at;
    } else {
      (before ? above->place.before : above->place.behind) = &at;
    }
    while (at.place.above != nullptr && at.place.above->place.height < at.place.height)
      rotate_up(at);
    at.listed = true;
    changed(at);  // it may have no reader
  }

  void push_back(DataOnNode& at) { insert_at(size(), at); }
  // Takes a datum off the list.
  void remove(DataOnNode& at) {
    at.listed = false;
    while (at.place.before != nullptr && at.place.behind != nullptr) {
      DataOnNode& before = *at.place.before;
      DataOnNode& behind = *at.place.behind;
      rotate_up(before.place.height > behind.place.height ? before : behind);
    }
    DataOnNode* const only = at.place.before != nullptr ? at.place.before : at.place.behind;
    put_in_place_of(at, only);
    for (DataOnNode* above = at.place.above; above != nullptr; above = above->place.above) {
      --above->place.size;
      above->place.best = nullptr;
    }
  }

  // What it is compared by, if it is listed, has changed, or may have.
  void changed(DataOnNode& at) {
    if (!at.listed || at.place.changed) return;
    changed_.push_back(&at);
    at.place.changed = true;
  }

  // The first of those than which none is better; nullptr: there is none. Those without a reader in main
  // are taken off the list first. `is_better` is a strict weak order, and changes none of those that it
  // compares.
  DataOnNode* best(const IsBetter& is_better) {
    std::size_t kept = 0;
    for (DataOnNode* at : changed_) {
      at->place.changed = false;
      if (!at->listed) continue;
      if (at->left_ns > 0) {
        changed_[kept++] = at;
      } else {
        remove(*at);  // it comes back with the next reader in main
      }
    }
    changed_.resize(kept);
    if (root_ != nullptr) best_below(*root_, is_better);
    for (DataOnNode* at : changed_) move_up(*at, is_better);
    changed_.clear();
    return root_ != nullptr ? root_->place.best : nullptr;
  }

  // All of them, in their order, until `enough` says true.
  void visit(const std::function<bool(DataOnNode&)>& enough) const { visit(root_, enough); }

 private:
  static bool visit(DataOnNode* at, const std::function<bool(DataOnNode&)>& enough) {
    if (at == nullptr) return false;
    return visit(at->place.before, enough) || enough(*at) || visit(at->place.behind, enough);
  }
  static std::size_t size_of(const DataOnNode* at) { return at != nullptr ? at->place.size : 0; }
  void put_in_place_of(DataOnNode& at, DataOnNode* other) {
    DataOnNode* const above = at.place.above;
    if (above == nullptr) {
      root_ = other;
    } else {
      (above->place.before == &at ? above->place.before : above->place.behind) = other;
    }
    if (other != nullptr) other->place.above = above;
  }

  // Changes places with the one above it; the order of the list stays.
  void rotate_up(DataOnNode& at) {
    DataOnNode& above = *at.place.above;
    put_in_place_of(above, &at);
    const bool was_before = above.place.before == &at;
    DataOnNode*& near = was_before ? at.place.behind : at.place.before;
    DataOnNode*& far = was_before ? above.place.before : above.place.behind;
    far = near;
    if (far != nullptr) far->place.above = &above;
    near = &above;
    above.place.above = &at;
    at.place.size = std::exchange(
        above.place.size,
        static_cast<std::uint32_t>(size_of(above.place.before) + size_of(above.place.behind) + 1));
    at.place.best = above.place.best = nullptr;
  }

  static DataOnNode* best_at(DataOnNode& at, const IsBetter& is_better) {
    DataOnNode* best = at.place.before != nullptr ? at.place.before->place.best : &at;
    if (best != &at && is_better(at, *best)) best = &at;
    DataOnNode* const behind = at.place.behind;
    if (behind != nullptr && is_better(*behind->place.best, *best)) best = behind->place.best;
    return best;
  }

  // Where something was listed or unlisted.
  static DataOnNode* best_below(DataOnNode& at, const IsBetter& is_better) {
    if (at.place.best != nullptr) return at.place.best;
    if (at.place.before != nullptr) best_below(*at.place.before, is_better);
    if (at.place.behind != nullptr) best_below(*at.place.behind, is_better);
    return at.place.best = best_at(at, is_better);
  }

  // As long as it was the best below a place, or has come to be.
  static void move_up(DataOnNode& at, const IsBetter& is_better) {
    for (DataOnNode* above = &at; above != nullptr; above = above->place.above) {
      DataOnNode* const before = std::exchange(above->place.best, best_at(*above, is_better));
      if (before == above->place.best && before != &at) return;
    }
  }

  DataOnNode* root_ = nullptr;
  // Since the last choice, each once; some are listed no more.
  base::SureVector<DataOnNode*> changed_;
  base::Random heights_{1};  // of the tree alone: no choice depends on them
};

}  // namespace vicinal::sched::darts
