#include "comm/broadcast_finding.hpp"

#include <string>
#include <utility>

#include "vicinal/error.hpp"

namespace vicinal::comm {

Finding finding_of_option(std::string_view text) {
  if (text == "sequence") return Finding::sequence;
  if (text == "bags") return Finding::bags;
  throw UsageError("broadcast_finding is " + std::string(text) +
                   "; the choices are sequence and bags");
}

BroadcastFinding::Group BroadcastFinding::join(const ReadyTransfer& send) {
  const DatumId datum = send.what.datum;
  // The first of a version: what is open is of the one before, which has been written over since. Or copies were given up
  // (Ownership::drop_copies), and ranks that are members already may come again.
  if (send.what.reader <= 1) open_.erase(datum.value);
  const auto found = open_.find(datum.value);
  const bool is_open = found != open_.end();
  const bool is_late = is_open ? found->second->is_ready_ : !send.what.is_first;
  count(send.what, is_late);
  Group group;
  if (is_open) {
    SendGroup& version = *found->second;
    version.readers_ = send.what.reader;
    const bool is_full = version.most_ > 0 && version.members_.size() >= version.most_;
    group = is_full ? std::make_shared<SendGroup>() : found->second;
  } else if (way_ == Finding::bags && is_late) {
    group = std::make_shared<SendGroup>();
  } else {
    group = open(datum);
    group->is_ready_ = group->is_behind_ = is_late;
    group->readers_ = send.what.reader;
  }
  if (is_late && (!is_open || group->is_behind_)) ++counts_.late;
  group->members_.push_back(send);
  return group;
}

BroadcastFinding::Group BroadcastFinding::open(DatumId datum) {
  auto group = std::make_shared<SendGroup>();
  if (const auto announced = announced_.find(datum.value); announced != announced_.end()) {
    if (way_ == Finding::bags) group->most_ = announced->second;
    announced_.erase(announced);
  }
  open_[datum.value] = group;
  return group;
}

// What is sent again because copies were given up is counted as another version.
void BroadcastFinding::count(const Transfer& send, bool is_late) {
  if (send.reader <= 1) late_.erase(send.datum.value);
  if (send.reader == 2) ++counts_.several;
  if (is_late && send.reader >= 2 && late_.insert(send.datum.value).second) ++late_versions_;
}

void BroadcastFinding::ready(SendGroup& group) {
  if (std::exchange(group.is_ready_, true)) return;
  if (group.readers_ > group.members_.size()) ++counts_.missed;
  if (way_ == Finding::bags) close(group.members_.front().what.datum, group);
}

std::vector<ReadyTransfer> BroadcastFinding::leave(SendGroup& group) {
  if (std::exchange(group.has_left_, true)) return {};
  close(group.members_.front().what.datum, group);
  return std::move(group.members_);
}

void BroadcastFinding::close(DatumId datum, const SendGroup& group) {
  const auto found = open_.find(datum.value);
  if (found != open_.end() && found->second.get() == &group) open_.erase(found);
}

}  // namespace vicinal::comm
