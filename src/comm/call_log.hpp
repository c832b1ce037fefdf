// What the application has called, in order, as all ranks have to: a running hash, by which two ranks find the first call
// in which they differ, and what is needed to say it. No thread, no messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/ownership.hpp"
#include "comm/transport.hpp"
#include "vicinal/access.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::comm {

struct Call {
  enum class Kind : std::uint8_t {
    submits,
    registers,
    waits,
    accesses,
    forgets,
    partitions,
    unpartitions,
    reduces,
    combines,
    ends
  };
  Kind kind = Kind::waits;
  std::uint32_t rank =
      kNoRank;  // it runs there, as the application says; the owner of what is registered
  std::uint64_t what =
      0;  // submits: the hash of the codelet's name; registers: bytes; partitions: how many parts; reduces: the tree
  std::uint32_t operands_end = 0;  // in CallBatch::operands
  std::uint64_t submissions = 0;   // before it
  static constexpr std::uint32_t kNoRank = ~std::uint32_t{0};
};

// Consecutive calls.
struct CallBatch {
  std::uint64_t first = 0;            // calls before them
  std::vector<std::uint32_t> hashes;  // of all calls up to each
  std::vector<Call> calls;
  std::vector<std::uint64_t> operands;                       // datum and mode
  std::vector<std::pair<std::uint64_t, std::string>> names;  // of codelets that are new, by hash
  bool is_last = false;  // what is called behind them is not compared
};

// As many as one message tells the hashes of.
inline constexpr std::size_t kMostCallsInBatch = kMostContentInMessage / sizeof(std::uint32_t);

// On the thread of the application: some nanoseconds per operand.
class CallRecorder {
 public:
  // The data that all ranks know; others are this rank's own, and only their modes count.
  void submits(std::string_view codelet, std::span<const Use> uses, std::optional<RankId> rank);
  void registers(Bytes size, RankId owner, std::string_view name);
  void waits() { add(Call::Kind::waits, Call::kNoRank, 0); }
  void accesses(DatumId datum, AccessMode mode) { of_datum(Call::Kind::accesses, datum, mode); }
  void forgets(DatumId datum) { of_datum(Call::Kind::forgets, datum, AccessMode::W); }
  void partitions(DatumId whole, std::uint64_t parts, bool writable) {
    of_datum(Call::Kind::partitions, whole, writable ? AccessMode::RW : AccessMode::R, parts);
  }
  void unpartitions(DatumId part) { of_datum(Call::Kind::unpartitions, part, AccessMode::RW); }
  // `tree`: a number of how partial results of ranks come together.
  void reduces(DatumId datum, std::uint64_t tree) {
    of_datum(Call::Kind::reduces, datum, AccessMode::reduction, tree);
  }
  void combines(DatumId datum) { of_datum(Call::Kind::combines, datum, AccessMode::RW); }
  void ends() { add(Call::Kind::ends, Call::kNoRank, 0); }

  bool is_full() const { return batch_.calls.size() == kMostCallsInBatch; }
  bool empty() const { return batch_.calls.empty(); }
  // Those since the last time, at most kMostCallsInBatch.
  CallBatch take();

 private:
  void mix(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15U;
    hash_ ^= hash_ >> 32;
  }
  void add(Call::Kind kind, std::uint32_t rank, std::uint64_t what);
  void of_datum(Call::Kind kind, DatumId datum, AccessMode mode, std::uint64_t what = 0);
  void add_operand(DatumId datum, AccessMode mode);
  void note_name(std::uint64_t hash, std::string_view name);

  std::uint64_t hash_ = 0;
  std::uint64_t submissions_ = 0;
  CallBatch batch_;
  std::unordered_map<std::uint64_t, bool> named_;
  std::uint64_t last_named_ = 0;
};

// Behind it: this rank's calls, and the hashes of those of another rank.
class CallComparison {
 public:
  void add_own(CallBatch batch);
  // Those from `first` on, in order. `is_last`: no more are to be compared.
  void add_other(std::uint64_t first, std::span<const std::uint32_t> hashes, bool is_last);
  // This rank's calls behind so many are not compared.
  void end_own(std::uint64_t calls);
  // The first call in which the two differ, of those that both have made; told once.
  std::optional<std::uint64_t> find_difference();

  using NameOf = std::function<std::string(DatumId)>;
  // "submits gemm(RW c, R a)"; of the last kMostKept calls.
  std::string describe(std::uint64_t call, const NameOf& name_of) const;
  // "submission 1,234", or what is called behind which.
  std::string place(std::uint64_t call) const;

  static constexpr std::size_t kMostKept = 4096;

 private:
  const CallBatch* batch_of(std::uint64_t call) const;
  std::string describe_submission(const CallBatch& batch, std::size_t index,
                                  const NameOf& name_of) const;

  bool is_over_ = false;
  std::deque<CallBatch> kept_;
  std::size_t count_kept_ = 0;
  std::uint64_t compared_ = 0;        // calls
  std::deque<std::uint32_t> own_;     // hashes from there on
  std::deque<std::uint32_t> others_;  // likewise
  std::optional<std::uint64_t> end_;  // calls to be compared; none: all
  std::unordered_map<std::uint64_t, std::string> names_;
};

}  // namespace vicinal::comm
