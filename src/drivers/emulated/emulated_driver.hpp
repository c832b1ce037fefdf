// One emulated accelerator: memory of its own, a host thread that runs the kernels, and a link whose
// two directions copy at once, each at most at a given bandwidth. For tests and for studying
// placement on machines without accelerators; its arena lies in RAM, beside the memory limit.
#pragma once

#include <cstdint>

#include "drivers/cpu/worker_thread.hpp"
#include "drivers/device_driver.hpp"
#include "drivers/emulated/copy_engine.hpp"
#include "drivers/mapped_memory.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

struct EmulatedConfig {
  NodeId node;
  WorkerId worker;
  BytesPerSecond bandwidth = {};  // of each direction; 0: as fast as memory
  bool check_reads = false;
};

class EmulatedDriver final : public DeviceDriver {
 public:
  explicit EmulatedDriver(const EmulatedConfig& config);
  ~EmulatedDriver() override;

  void start(engine::Completions& completions) override;
  std::byte* reserve(NodeId node, Bytes bytes) override;
  // A device's memory always has a limit: throws CapacityError.
  std::byte* allocate(NodeId node, Bytes bytes) override;
  bool takes_addresses() const override { return true; }
  // From RAM or from a peer to this node, or from this node to RAM. A copy to a peer is the peer's.
  void start_copy(const memory::Copy& copy) override;
  void start_task(graph::Task& task, WorkerId worker) override;
  void wake(WorkerId worker) override;
  // To be called before the memory of any node is freed, that of peers included.
  void leave() override;
  void stop() override;

 private:
  const EmulatedConfig config_;
  engine::Completions* completions_ = nullptr;
  MappedMemory arena_;
  CopyEngine in_;
  CopyEngine out_;
  WorkerThread thread_;
};

}  // namespace vicinal::drivers
