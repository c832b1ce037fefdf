#include "comm/call_log.hpp"

#include <algorithm>
#include <cstring>

#include "comm/reduction_trees.hpp"

namespace vicinal::comm {
namespace {

constexpr std::uint64_t kModes = 16;
constexpr std::size_t kMostOperandsTold = 12;

// Up to eight bytes, without a call of memcpy.
std::uint64_t word_of(const char* text, std::size_t size) {
  const auto four = [](const char* at) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return std::uint64_t{word};
  };
  const auto one = [](char letter) { return std::uint64_t{static_cast<unsigned char>(letter)}; };
  if (size >= 4) return four(text) | four(text + size - 4) << 32;
  if (size == 0) return 0;
  return one(text[0]) | one(text[size / 2]) << 8 | one(text[size - 1]) << 16;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  while (!text.empty()) {
    const std::size_t part = std::min<std::size_t>(text.size(), 8);
    hash = (hash ^ word_of(text.data(), part)) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32;
    text.remove_prefix(part);
  }
  return hash;
}

// With commas: 1,234,567.
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace

// --- recording

void CallRecorder::note_name(std::uint64_t hash, std::string_view name) {
  if (hash == last_named_) return;
  last_named_ = hash;
  if (!named_.try_emplace(hash, true).second) return;
  batch_.names.emplace_back(hash, name);
}

void CallRecorder::add(Call::Kind kind, std::uint32_t rank, std::uint64_t what) {
  mix(static_cast<std::uint64_t>(kind) << 32 | rank);
  mix(what);
  batch_.calls.push_back(
      {kind, rank, what, static_cast<std::uint32_t>(batch_.operands.size()), submissions_});
  batch_.hashes.push_back(static_cast<std::uint32_t>(hash_));
}

void CallRecorder::add_operand(DatumId datum, AccessMode mode) {
  const std::uint64_t word = datum.value * kModes + static_cast<std::uint64_t>(mode);
  mix(word);
  batch_.operands.push_back(word);
}

void CallRecorder::submits(std::string_view codelet, std::span<const Use> uses,
                           std::optional<RankId> rank) {
  const std::uint64_t name = hash_of(codelet);
  note_name(name, codelet);
  for (const Use& use : uses) add_operand(use.datum, use.mode);
  add(Call::Kind::submits, rank ? rank->value : Call::kNoRank, name);
  ++submissions_;
}

void CallRecorder::registers(Bytes size, RankId owner, std::string_view name) {
  mix(hash_of(name));
  add(Call::Kind::registers, owner.value, size.value);
}

void CallRecorder::of_datum(Call::Kind kind, DatumId datum, AccessMode mode, std::uint64_t what) {
  add_operand(datum, mode);
  add(kind, Call::kNoRank, what);
}

CallBatch CallRecorder::take() {
  CallBatch next;
  next.first = batch_.first + batch_.calls.size();
  if (is_full()) {  // it is likely to be so again
    next.calls.reserve(batch_.calls.size());
    next.hashes.reserve(batch_.hashes.size());
    next.operands.reserve(batch_.operands.size());
  }
  return std::exchange(batch_, std::move(next));
}

// --- comparing

void CallComparison::add_own(CallBatch batch) {
  if (!is_over_) own_.insert(own_.end(), batch.hashes.begin(), batch.hashes.end());
  for (auto& [hash, name] : batch.names) names_.try_emplace(hash, std::move(name));
  batch.names.clear();
  count_kept_ += batch.calls.size();
  kept_.push_back(std::move(batch));
  while (count_kept_ - kept_.front().calls.size() >= kMostKept) {
    count_kept_ -= kept_.front().calls.size();
    kept_.pop_front();
  }
}

void CallComparison::add_other(std::uint64_t first, std::span<const std::uint32_t> hashes,
                               bool is_last) {
  if (is_over_) return;
  if (first == compared_ + others_.size()) {
    others_.insert(others_.end(), hashes.begin(), hashes.end());
  } else {
    is_last = true;  // some are missing
  }
  if (is_last) end_own(compared_ + others_.size());
}

void CallComparison::end_own(std::uint64_t calls) {
  end_ = std::min(end_.value_or(calls), calls);
}

std::optional<std::uint64_t> CallComparison::find_difference() {
  if (is_over_) return std::nullopt;
  std::size_t both = std::min(own_.size(), others_.size());
  if (end_) both = std::min<std::uint64_t>(both, *end_ - std::min(*end_, compared_));
  const auto end = own_.begin() + static_cast<std::ptrdiff_t>(both);
  const auto [own, other] = std::mismatch(own_.begin(), end, others_.begin());
  std::optional<std::uint64_t> found;
  if (own != end) found = compared_ + static_cast<std::uint64_t>(own - own_.begin());
  own_.erase(own_.begin(), end);
  others_.erase(others_.begin(), others_.begin() + static_cast<std::ptrdiff_t>(both));
  compared_ += both;
  is_over_ = found || (end_ && compared_ >= *end_);
  if (is_over_) {
    own_.clear();
    others_.clear();
  }
  return found;
}

const CallBatch* CallComparison::batch_of(std::uint64_t call) const {
  for (const CallBatch& batch : kept_) {
    if (call >= batch.first && call - batch.first < batch.calls.size()) return &batch;
  }
  return nullptr;
}

std::string CallComparison::describe_submission(const CallBatch& batch, std::size_t index,
                                                const NameOf& name_of) const {
  const Call& call = batch.calls[index];
  const auto name = names_.find(call.what);
  std::string text =
      "submits " + (name != names_.end() && !name->second.empty() ? name->second : "a task") + "(";
  const std::size_t begin = index == 0 ? 0 : batch.calls[index - 1].operands_end;
  for (std::size_t i = begin; i < call.operands_end; ++i) {
    if (i > begin) text += ", ";
    if (i - begin == kMostOperandsTold) {
      text += "and " + std::to_string(call.operands_end - i) + " more";
      break;
    }
    const std::uint64_t word = batch.operands[i];
    text += to_string(static_cast<AccessMode>(word % kModes));
    text += " " + name_of({static_cast<std::uint32_t>(word / kModes)});
  }
  text += ")";
  if (call.rank != Call::kNoRank) text += " on rank " + std::to_string(call.rank);
  return text;
}

std::string CallComparison::describe(std::uint64_t number, const NameOf& name_of) const {
  const CallBatch* const batch = batch_of(number);
  if (batch == nullptr) return "makes a call that is too long ago to be told";
  const std::size_t index = number - batch->first;
  const Call& call = batch->calls[index];
  const auto datum = [&] {
    const std::uint64_t word = batch->operands[call.operands_end - 1];
    return std::pair(name_of({static_cast<std::uint32_t>(word / kModes)}),
                     static_cast<AccessMode>(word % kModes));
  };
  switch (call.kind) {
    case Call::Kind::submits:
      return describe_submission(*batch, index, name_of);
    case Call::Kind::registers:
      return "registers data of " + grouped(call.what) + " bytes, owned by rank " +
             std::to_string(call.rank);
    case Call::Kind::waits:
      return "waits for all tasks";
    case Call::Kind::accesses:
      return "acquires " + datum().first + " (" + std::string(to_string(datum().second)) + ")";
    case Call::Kind::forgets:
      return "unregisters or invalidates " + datum().first;
    case Call::Kind::partitions:
      return "divides " + datum().first + " into " + grouped(call.what) +
             (datum().second == AccessMode::R ? " parts to be read" : " parts");
    case Call::Kind::unpartitions:
      return "takes back the partition of which " + datum().first + " is a part";
    case Call::Kind::reduces:
      return "sets a reduction for " + datum().first + " (option reduction_tree " +
             name_of_reduction_tree(call.what) + ")";
    case Call::Kind::combines:
      return "combines what tasks have reduced into " + datum().first;
    case Call::Kind::ends:
      break;
  }
  return "ends its runtime";
}

std::string CallComparison::place(std::uint64_t number) const {
  const CallBatch* const batch = batch_of(number);
  if (batch == nullptr) return "call " + grouped(number + 1);
  const Call& call = batch->calls[number - batch->first];
  if (call.kind == Call::Kind::submits) return "submission " + grouped(call.submissions + 1);
  return "after submission " + grouped(call.submissions);
}

}  // namespace vicinal::comm
