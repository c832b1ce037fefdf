// Random task graphs for the tests of progress: data, tasks, and the tightest limits under which
// the contract says that they complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "vicinal/access.hpp"
#include "vicinal/units.hpp"

namespace vicinal::testing {

enum class Home : std::uint8_t { none, buffer, strided, file };
enum class RunsOn : std::uint8_t { anywhere, devices, ram };

struct RandomData {
  std::uint64_t bytes = 0;
  std::uint64_t columns = 1;  // of bytes / columns each; more than one in `strided`
  Home home = Home::none;
};
struct RandomAccess {
  std::size_t data = 0;
  AccessMode mode = AccessMode::R;
};
enum class Step : std::uint8_t { task, acquire, wait_handle, wait, prefetch, wont_use, invalidate };
struct RandomStep {
  Step kind = Step::task;
  RunsOn runs_on = RunsOn::anywhere;
  std::vector<RandomAccess> accesses;  // the first alone for all but tasks
  int priority = 0;
  std::uint32_t node = 0;  // of a prefetch
};

struct RandomCase {
  std::uint64_t seed = 0;
  std::uint32_t devices = 0;
  std::vector<RandomData> data;
  std::vector<RandomStep> steps;
  Bytes ram;  // the tightest limits
  Bytes device;
};

struct RandomShape {
  std::vector<std::uint64_t> sizes;
  std::size_t most_steps = 120;
  std::uint32_t most_devices = 3;
  bool files = true;
};

inline Bytes padded(std::uint64_t bytes) {
  return {(bytes + 4095) / 4096 * 4096};
}

class RandomCaseMaker {
 public:
  RandomCaseMaker(std::uint64_t seed, const RandomShape& shape)
      : shape_(shape), random_(seed * 2 + 1) {
    case_.seed = seed;
  }
  RandomCase make() {
    case_.devices = static_cast<std::uint32_t>(random_.below(shape_.most_devices + 1));
    // What tasks may run on is the same for all of them in most cases: then limits are tightest.
    flavour_ = case_.devices == 0 ? 0 : random_.below(4);
    make_data();
    const std::size_t steps = 1 + random_.below(shape_.most_steps);
    for (std::size_t i = 0; i < steps; ++i) make_step();
    set_limits();
    return case_;
  }

 private:
  bool chance(std::uint64_t in) { return random_.below(in) == 0; }

  void make_data() {
    const std::size_t count = 1 + random_.below(16);
    for (std::size_t i = 0; i < count; ++i) {
      RandomData data;
      data.bytes = shape_.sizes[random_.below(shape_.sizes.size())];
      const std::uint64_t home = random_.below(8);
      data.home = home < 4   ? Home::none
                  : home < 5 ? Home::buffer
                  : home < 6 ? Home::strided
                             : Home::file;
      if (data.home == Home::file && !shape_.files) data.home = Home::none;
      if (data.home == Home::strided) {
        data.columns = 1 + random_.below(5);
        data.bytes -= data.bytes % data.columns;
      }
      case_.data.push_back(data);
      written_.push_back(data.home != Home::none);
    }
  }

  void make_step() {
    RandomStep step;
    const std::uint64_t kind = random_.below(40);
    if (kind >= 34) {
      const std::size_t data = random_.below(case_.data.size());
      step.accesses = {{data, AccessMode::R}};
      step.kind = kind == 34   ? Step::acquire
                  : kind == 35 ? Step::wait_handle
                  : kind == 36 ? (chance(4) ? Step::wait : Step::wont_use)
                  : kind == 37 ? Step::invalidate
                               : Step::prefetch;
      step.node = static_cast<std::uint32_t>(random_.below(2 + case_.devices));
      if (step.kind == Step::acquire) {
        step.accesses[0].mode = static_cast<AccessMode>(1 + random_.below(3));
        if (!written_[data]) step.accesses[0].mode = AccessMode::W;
        written_[data] = true;
      }
      if (step.kind == Step::invalidate) written_[data] = false;
      if (step.kind == Step::prefetch && !written_[data]) return;
      if (step.kind == Step::wait_handle && !written_[data]) return;
      case_.steps.push_back(step);
      return;
    }
    step.runs_on = flavour_ == 0   ? RunsOn::anywhere
                   : flavour_ == 1 ? RunsOn::devices
                                   : static_cast<RunsOn>(random_.below(3));
    step.priority = static_cast<int>(random_.below(5));
    const std::size_t operands = 1 + random_.below(6);
    for (std::size_t i = 0; i < operands; ++i) {
      RandomAccess access{random_.below(case_.data.size()),
                          static_cast<AccessMode>(1 + random_.below(3))};
      if (chance(10) && i > 0) access.data = step.accesses[0].data;  // named twice
      const bool named = std::any_of(step.accesses.begin(), step.accesses.end(),
                                     [&](const auto& other) { return other.data == access.data; });
      // What nobody has written is written first, also by the task that names it twice.
      if (!written_[access.data]) {
        access.mode = AccessMode::W;
        if (!named) fresh_.push_back(access.data);
      }
      step.accesses.push_back(access);
    }
    for (const std::size_t data : fresh_) written_[data] = true;
    fresh_.clear();
    for (const RandomAccess& access : step.accesses) written_[access.data] = true;
    case_.steps.push_back(step);
  }

  Bytes working_set(const RandomStep& step, bool on_ram) const {
    std::vector<std::size_t> data;
    for (const RandomAccess& access : step.accesses) data.push_back(access.data);
    std::sort(data.begin(), data.end());
    data.erase(std::unique(data.begin(), data.end()), data.end());
    Bytes sum;
    for (const std::size_t d : data) {
      const Home home = case_.data[d].home;
      const bool at_home = on_ram && (home == Home::buffer || home == Home::strided);
      if (!at_home) sum += padded(case_.data[d].bytes);
    }
    return sum;
  }
  // RAM: the largest working set of the tasks that may run there, and each operand of the others
  // alone, which passes through. Devices: the largest working set of the tasks that may run there; in one
  // flavour, of the tasks that must run there.
  void set_limits() {
    case_.ram = case_.device = Bytes{4096};
    for (const RandomStep& step : case_.steps) {
      if (step.kind != Step::task || step.runs_on == RunsOn::devices) {
        for (const RandomAccess& access : step.accesses) {
          RandomStep single;
          single.accesses = {access};
          case_.ram = std::max(case_.ram, working_set(single, true));
        }
      } else {
        case_.ram = std::max(case_.ram, working_set(step, true));
      }
      const bool must = step.runs_on == RunsOn::devices;
      if (step.kind == Step::task && (must || (flavour_ != 3 && step.runs_on != RunsOn::ram))) {
        case_.device = std::max(case_.device, working_set(step, false));
      }
    }
  }

  const RandomShape& shape_;
  base::Random random_;
  std::uint64_t flavour_ = 0;
  RandomCase case_;
  std::vector<bool> written_;
  std::vector<std::size_t> fresh_;
};

}  // namespace vicinal::testing
