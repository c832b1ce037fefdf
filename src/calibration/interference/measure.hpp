// Measures points of experiments: computation and transfer alone and side by side, in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "calibration/calibrate.hpp"
#include "calibration/interference/kernels.hpp"
#include "calibration/interference/machine_facts.hpp"
#include "calibration/interference/row.hpp"

namespace vicinal::comm {
class Transport;
}

namespace vicinal::interference {

// Which part of a measurement is about to run: what is made ready or taken away without being timed.
enum class Slot : std::uint8_t { computation, transfer, both };

struct MeasureSettings {
  double slot_seconds = 0.02;  // that each condition goes on
  std::uint32_t rounds = 21;
  Bytes memory = {32 << 20};  // of each thread that computes
  std::string disk = {};      // folder
  // Kernels of applications, by name.
  std::map<std::string, PreparedKernel> kernels = {};
};

class Bench {
 public:
  // `transport`: to the other rank; it may be null. Used by the thread that calls `measure` alone.
  Bench(MachineFacts machine, MeasureSettings settings, comm::Transport* transport);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  // Throws UsageError, DeviceError, CapacityError.
  Row measure(const Point& point);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vicinal::interference
