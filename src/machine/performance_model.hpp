// How long tasks take, learned from those that ran on this machine: for policies that place tasks by
// predicted times.
//
// A task is known by its codelet, the kind of processor and its footprint: sizes and modes of its
// operands. What is in the data or in the parameters is not seen: tasks whose time depends on it share
// one prediction, or give Codelet::expected.
//
// An unknown footprint is predicted from the others of its codelet, time = a bytes^b, least squares of
// the logarithms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vicinal/codelet.hpp"
#include "vicinal/data.hpp"
#include "vicinal/units.hpp"

namespace vicinal::machine {

// Of the operands of a task, in their order. The same in every process and every version that writes
// the same version of the file.
class Footprint {
 public:
  Footprint() = default;
  Footprint(std::uint64_t hash, Bytes bytes) : hash_(hash), bytes_(bytes) {}
  void add(Bytes bytes, AccessMode mode) {
    bytes_ += bytes;
    hash_ ^= bytes.value * 4 + static_cast<std::uint64_t>(mode) + 1;
    hash_ *= 0x9e3779b97f4a7c15ULL;
    hash_ ^= hash_ >> 32;
  }
  std::uint64_t hash() const { return hash_; }
  Bytes bytes() const { return bytes_; }  // of all operands
  friend bool operator==(const Footprint&, const Footprint&) = default;

 private:
  std::uint64_t hash_ = 0;
  Bytes bytes_;
};

// The last runs of tasks that are taken to be alike.
class RunHistory {
 public:
  static constexpr std::size_t kKept = 15;

  void add(Time time);
  // Mean of the kept runs, without those beyond 4 times their median and below a quarter of it: a run
  // that was interrupted says nothing of the next. A true change moves the median after eight runs. It
  // follows the mean only where that is off by a tenth, and with the fifteenth run, so that tasks that are alike
  // have equal predictions: policies break ties by priority.
  Time expected() const { return expected_; }
  // As many as are kept, and on average within a tenth of their mean.
  bool stable() const { return stable_; }
  std::uint64_t count() const { return count_; }
  std::uint64_t fresh() const { return fresh_; }  // added since it was read from a file
  std::size_t kept() const { return count_ < kKept ? count_ : kKept; }
  Time run(std::size_t i) const {
    return runs_[(next_ + kKept - kept() + i) % kKept];
  }  // oldest first

  // As a file has it: all runs ever, and the last of them, kKept if there were so many.
  void restore(std::uint64_t count, std::span<const Time> runs);
  // The fresh runs of this one come after those of `stored`.
  RunHistory after(const RunHistory& stored) const;

 private:
  void assess();

  std::array<Time, kKept> runs_{};
  std::size_t next_ = 0;  // where the next run goes: the oldest
  std::uint64_t count_ = 0;
  std::uint64_t fresh_ = 0;
  Time expected_;
  bool stable_ = false;
};

// time = a bytes^b, within the range of sizes that it was fitted to and ten times beyond.
struct PowerLaw {
  double log_a = 0;
  double b = 0;
  double least = 0;  // bytes
  double most = 0;

  struct Point {
    double bytes;
    double seconds;
  };
  // None of fewer than three sizes, or if longer tasks would take less time.
  static std::optional<PowerLaw> fit(std::span<const Point> points);
  Time operator()(Bytes bytes) const;  // 0: too far from what is known
};

// Any thread may call any method; none waits for long, but for read and write.
class PerformanceModel {
 public:
  // Runs of one footprint. True: they are so even that most of the next need not be timed.
  bool add(std::string_view codelet, ProcessorKind kind, const Footprint& footprint,
           std::span<const Time> runs);
  // From the runs of the footprint, else from those of others, else 0.
  Time predict(std::string_view codelet, ProcessorKind kind, const Footprint& footprint);
  std::uint64_t runs(std::string_view codelet, ProcessorKind kind,
                     const Footprint& footprint) const;

  enum class Reading : std::uint8_t { read, absent, refused };
  // Takes over what the file has. Refused, with nothing taken over and the reason in `why`: it cannot be
  // read, is no such file or is another host's.
  Reading read(const std::string& path, std::string& why);
  // Adds what was learned since `read` to what the file has by now, which may be another process's, and
  // replaces it at once. Nothing if nothing was learned. False: `why`. A file that `read` would refuse
  // is left as it is.
  bool write(const std::string& path, std::string& why) const;

 private:
  struct Known {
    Footprint footprint;
    RunHistory history;
  };
  struct Family {                                    // of one codelet on one kind of processor
    std::unordered_map<std::uint64_t, Known> known;  // by the footprint's hash
    std::optional<PowerLaw> law;
    bool law_is_old = true;
  };
  struct Hash {
    // NOLINTNEXTLINE(readability-identifier-naming): the name is the standard's
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Families = std::array<std::unordered_map<std::string, Family, Hash, std::equal_to<>>,
                              kProcessorKinds>;  // by kind, by codelet

  static Known* find(Family& family, const Footprint& footprint);
  static Reading read_file(const std::string& path, Families& families, std::string& why);
  static bool parse(const std::string& text, Families& families, std::string& why);
  static std::string to_text(const Families& families);
  static void merge(Families& stored, const Families& learned);

  mutable std::mutex mutex_;
  Families families_;  // under mutex_
};

// The file of this host in a folder; an empty folder is the user's cache ($XDG_CACHE_HOME or ~/.cache,
// vicinal/models). None if there is no such place.
std::optional<std::string> performance_model_file(const std::string& folder);

}  // namespace vicinal::machine
