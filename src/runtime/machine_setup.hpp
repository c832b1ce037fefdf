// The machine that the options describe: RAM, disk, accelerators real and emulated, workers, and the drivers
// behind them. The only place that names concrete drivers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drivers/cpu/cpu_driver.hpp"
#include "drivers/cpu/processor_claims.hpp"
#include "drivers/disk/disk_driver.hpp"
#include "drivers/emulated/emulated_driver.hpp"
#include "drivers/queued/queued_driver.hpp"
#include "drivers/simulated/simulated_driver.hpp"
#include "engine/driver.hpp"
#include "runtime/simulated_world.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/options.hpp"

namespace vicinal::runtime {

// Throws UsageError for a machine that cannot be. Opens the disk folder and the devices, if there are
// any, to know their room.
struct MachineSetup {
  explicit MachineSetup(const Options& options, drivers::FaultInjection* faults = nullptr);
  explicit MachineSetup(const MachineDescription& simulated,
                        std::shared_ptr<SharedWorld> world = std::make_shared<SharedWorld>());
  MachineSetup(MachineSetup&&) noexcept;
  ~MachineSetup();

  // An accelerator, a node and a worker of its own. Before make_drivers.
  void add_device(std::unique_ptr<drivers::QueuedDevice> device, ProcessorKind kind,
                  const std::string& name, Bytes limit, const Options& options);
  // To be driven: make_drivers takes the device.
  struct QueuedAccelerator {
    drivers::QueuedConfig config;
    std::unique_ptr<drivers::QueuedDevice> device;
  };
  // The devices that were added, for who drives them himself; without them there are no drivers to make.
  std::vector<QueuedAccelerator> take_devices() { return std::move(opened_); }
  // Makes the other drivers.
  void make_drivers(const Options& options);
  std::vector<engine::Driver*> by_node() const;
  std::vector<engine::Driver*> by_worker() const;
  void start(engine::Completions& completions);
  // The process ends inside a task: see engine::Driver::leave.
  void leave();
  void stop();

  MachineDescription machine;
  std::shared_ptr<SharedWorld> world;                   // where `simulated` is
  std::unique_ptr<drivers::SimulatedDriver> simulated;  // then none of the others
  std::unique_ptr<drivers::DiskDriver> disk;
  std::unique_ptr<drivers::CpuDriver> cpu;
  std::vector<std::unique_ptr<engine::Driver>> accelerators;  // in the order of their nodes

 private:
  void add_emulated(const Options& options);
  void add_emulated_on_queues(const Options& options);
  void add_cuda_devices(const Options& options);
  void add_opencl_devices(const Options& options);
  void add_registered_devices(const Options& options);
  void add_contention(const std::string& contention);
  std::vector<QueuedAccelerator> opened_;
  std::vector<std::unique_ptr<engine::Driver>> registered_;  // of the application, behind those
  drivers::ProcessorClaims processors_;                      // of the workers on cores
};

// Of the option contention on a simulated machine. Throws UsageError: it names a machine.
void require_own_contention(const std::string& contention);

}  // namespace vicinal::runtime
