#include "drivers/cuda/cuda_device.hpp"

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "drivers/cuda/cuda_api.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

namespace {

void tell_ended(cu::Stream /*stream*/, cu::Result result, void* flight) {
  static_cast<Flight*>(flight)->ended(result);
}

void run_here(void* flight) {
  static_cast<Flight*>(flight)->run_here(0);
}

// A range is pinned once, for all devices of the process.
struct PinnedOnce {
  std::mutex mutex;
  struct Range {
    Bytes bytes;
    std::uint32_t users = 0;
  };
  std::map<std::byte*, Range> ranges;
};
PinnedOnce& pinned_once() {
  static PinnedOnce the;
  return the;
}

class CudaDevice final : public QueuedDevice {
 public:
  CudaDevice(const cu::Api& api, int number, const std::string& called, std::uint32_t run_queues,
             DeviceKernels kernels, const CudaLibraryNames& libraries)
      : api_(api),
        name_(fmt::format("CUDA device {} ({})", number, called)),
        kernels_(kernels),
        libraries_(api, libraries) {
    check(api_.device_get(&device_, number), "cuDeviceGet");
    check(api_.context_retain(&context_, device_), "cuDevicePrimaryCtxRetain");
    try {
      use();
      for (std::uint32_t i = 0; i < kFirstRun + run_queues; ++i) {
        cu::Stream stream = nullptr;
        check(api_.stream_create(&stream, cu::kNonBlockingStream), "cuStreamCreate");
        natives_.push_back({stream, number, &libraries_});
      }
      asked_.resize(natives_.size());
    } catch (...) {
      close();
      throw;
    }
  }
  ~CudaDevice() override { close(); }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::string name() const override { return name_; }

  std::byte* allocate(Bytes bytes) override {
    use();
    const cu::Result result =
        kernels_ == DeviceKernels::of_host
            ? api_.memory_allocate_managed(&memory_, bytes.value, cu::kManagedGlobal)
            : api_.memory_allocate(&memory_, bytes.value);
    if (result != 0) {
      throw CapacityError(fmt::format("no {} of memory on {}: {}; lower the option device_memory",
                                      base::format_bytes(bytes), name_,
                                      cu::describe(api_, result)));
    }
    return reinterpret_cast<std::byte*>(memory_);
  }

  // Kernels of host threads reach managed memory alone.
  bool takes_addresses() const override { return kernels_ == DeviceKernels::of_device; }
  bool pins() const override { return true; }
  void pin(std::byte* address, Bytes bytes) override {
    const std::lock_guard lock(pinned_once().mutex);
    PinnedOnce::Range& range = pinned_once().ranges[address];
    if (range.users == 0) {
      use();
      if (const cu::Result result = api_.host_register(address, bytes.value, cu::kPortableHost);
          result != 0) {
        pinned_once().ranges.erase(address);
        throw DeviceError(fmt::format(
            "{}: {} of RAM cannot be pinned: {}; lower the option memory, or switch the option "
            "pin_memory off",
            name_, base::format_bytes(bytes), cu::describe(api_, result)));
      }
      range.bytes = bytes;
    } else if (range.bytes != bytes) {
      throw DeviceError(fmt::format(
          "{}: {} of RAM cannot be pinned: another runtime has pinned {} that begin there; give "
          "both the same size",
          name_, base::format_bytes(bytes), base::format_bytes(range.bytes)));
    }
    ++range.users;
  }
  void unpin(std::byte* address) noexcept override {
    const std::lock_guard lock(pinned_once().mutex);
    const auto found = pinned_once().ranges.find(address);
    if (found == pinned_once().ranges.end() || --found->second.users != 0) return;
    pinned_once().ranges.erase(found);
    api_.context_use(context_);
    api_.host_unregister(address);
  }

  void copy_in(Queue queue, Flight& /*flight*/, std::byte* to, const std::byte* from,
               const Layout& layout) override {
    use();
    if (layout.contiguous()) {
      check(api_.copy_in(address(to), from, layout.bytes().value, stream(queue)),
            "cuMemcpyHtoDAsync");
    } else {
      cu::Copy2D copy = shape_of(layout);
      copy.from_kind = cu::kHostMemory;
      copy.from_host = from;
      copy.from_pitch = layout.stride_bytes;
      copy.to_kind = cu::kDeviceMemory;
      copy.to_device = address(to);
      copy.to_pitch = layout.column_bytes;
      check(api_.copy_2d(&copy, stream(queue)), "cuMemcpy2DAsync");
    }
  }

  void copy_out(Queue queue, Flight& /*flight*/, std::byte* to, const Layout& layout,
                const std::byte* from) override {
    use();
    if (layout.contiguous()) {
      check(api_.copy_out(to, address(from), layout.bytes().value, stream(queue)),
            "cuMemcpyDtoHAsync");
    } else {
      cu::Copy2D copy = shape_of(layout);
      copy.from_kind = cu::kDeviceMemory;
      copy.from_device = address(from);
      copy.from_pitch = layout.column_bytes;
      copy.to_kind = cu::kHostMemory;
      copy.to_host = to;
      copy.to_pitch = layout.stride_bytes;
      check(api_.copy_2d(&copy, stream(queue)), "cuMemcpy2DAsync");
    }
  }

  bool connect(const QueuedDevice& other) override {
    const auto* const peer = dynamic_cast<const CudaDevice*>(&other);
    if (peer == nullptr || &peer->api_ != &api_) return false;
    if (peer->device_ == device_) return true;
    int can = 0;
    if (api_.can_access_peer(&can, device_, peer->device_) != 0 || can == 0) return false;
    use();
    const cu::Result result = api_.enable_peer(peer->context_, 0);
    return result == 0 || result == cu::kPeersAlready;
  }
  void copy_across(Queue queue, Flight& /*flight*/, std::byte* to, const QueuedDevice& source,
                   const std::byte* from, Bytes bytes) override {
    use();
    const auto& peer = static_cast<const CudaDevice&>(source);
    if (peer.device_ == device_) {
      check(api_.copy_within(address(to), address(from), bytes.value, stream(queue)),
            "cuMemcpyDtoDAsync");
    } else {
      check(api_.copy_peer(address(to), context_, address(from), peer.context_, bytes.value,
                           stream(queue)),
            "cuMemcpyPeerAsync");
    }
  }

  void begin_run(Queue queue, Flight& flight) override {
    use();
    flight.begun = mark(queue);
  }

  // A callback holds the stream longer than a short run takes, so that the ends of runs are asked for. It is told of
  // errors of what is before it, unlike a host function.
  void notify(Queue queue, Flight& flight) override {
    use();
    if (flight.begun == nullptr) {
      check(api_.stream_callback(stream(queue), tell_ended, &flight, 0), "cuStreamAddCallback");
      return;
    }
    flight.done = mark(queue);
    asked_.at(queue).push_back(&flight);
  }

  std::size_t ask() override {
    std::size_t left = 0;
    for (std::deque<Flight*>& flights : asked_) {
      while (!flights.empty()) {
        const cu::Result result = api_.event_query(static_cast<cu::Event>(flights.front()->done));
        if (result == cu::kNotReady) break;
        Flight& flight = *flights.front();
        flights.pop_front();
        flight.ended(result);
      }
      left += flights.size();
    }
    return left;
  }

  std::optional<Time> finish(Flight& flight) override {
    if (flight.begun == nullptr) return std::nullopt;
    const auto begun = static_cast<cu::Event>(std::exchange(flight.begun, nullptr));
    const auto done = static_cast<cu::Event>(std::exchange(flight.done, nullptr));
    float milliseconds = 0;
    const bool known = done != nullptr && api_.event_time(&milliseconds, begun, done) == 0;
    events_.push_back(begun);
    if (done != nullptr) events_.push_back(done);
    if (!known) return std::nullopt;
    return Time{static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6)};
  }

  void* native(Queue queue) override { return &natives_[queue]; }
  // Memory that is managed is the host's as well, at the same addresses.
  void call(Queue queue, Flight& flight) override {
    use();
    check(api_.launch_host(stream(queue), run_here, &flight), "cuLaunchHostFunc");
  }
  std::string failure_text(int failure) const override { return cu::describe(api_, failure); }
  void drain() noexcept override {
    api_.context_use(context_);
    for (const CudaNative& native : natives_) api_.stream_wait(native.stream);
  }

 private:
  void check(cu::Result result, const char* call) const {
    if (result == 0) return;
    throw DeviceError(fmt::format("{}: {}", call, cu::describe(api_, result)));
  }
  // A context is a thread's; kernels' functions may have made another one current.
  void use() const { check(api_.context_use(context_), "cuCtxSetCurrent"); }
  cu::Stream stream(Queue queue) const { return natives_[queue].stream; }
  static cu::Address address(const std::byte* of) { return reinterpret_cast<cu::Address>(of); }
  static cu::Copy2D shape_of(const Layout& layout) {
    cu::Copy2D copy;
    copy.width = layout.column_bytes;
    copy.height = layout.columns;
    return copy;
  }
  cu::Event mark(Queue queue) {
    if (events_.empty()) {
      cu::Event event = nullptr;
      check(api_.event_create(&event, 0), "cuEventCreate");
      events_.push_back(event);
    }
    const cu::Event event = events_.back();
    check(api_.event_record(event, stream(queue)), "cuEventRecord");
    events_.pop_back();
    return event;
  }
  void close() noexcept {
    api_.context_use(context_);
    libraries_.close();
    for (const CudaNative& native : natives_) api_.stream_destroy(native.stream);
    for (const cu::Event event : events_) api_.event_destroy(event);
    if (memory_ != 0) api_.memory_free(memory_);
    api_.context_release(device_);
  }

  const cu::Api& api_;
  const std::string name_;
  const DeviceKernels kernels_;
  cu::Device device_ = 0;
  cu::Context context_ = nullptr;
  cu::Address memory_ = 0;
  CudaLibraries libraries_;
  std::deque<CudaNative> natives_;          // by queue
  std::vector<cu::Event> events_;           // not in use
  std::vector<std::deque<Flight*>> asked_;  // runs, by queue, in their order
};

std::string name_of(const cu::Api& api, int number) {
  cu::Device device = 0;
  std::array<char, 256> name{};
  if (api.device_get(&device, number) != 0) return "?";
  if (api.device_name(name.data(), name.size() - 1, device) != 0) return "?";
  return name.data();
}

}  // namespace

std::vector<CudaDescription> cuda_devices(const std::string& library) {
  std::string why;
  const cu::Api* const api = cu::load(library, why);
  int count = 0;
  if (api == nullptr || api->device_count(&count) != 0) return {};
  std::vector<CudaDescription> found;
  for (int i = 0; i < count; ++i) {
    cu::Device device = 0;
    std::size_t bytes = 0;
    if (api->device_get(&device, i) != 0 || api->device_memory(&bytes, device) != 0) break;
    found.push_back({name_of(*api, i), Bytes{bytes}});
  }
  return found;
}

std::unique_ptr<QueuedDevice> open_cuda_device(const std::string& library, std::uint32_t number,
                                               std::uint32_t run_queues, DeviceKernels kernels,
                                               const CudaLibraryNames& libraries) {
  std::string why;
  const cu::Api* const api = cu::load(library, why);
  if (api == nullptr) {
    throw UsageError(fmt::format(
        "cuda_devices: CUDA cannot be used here: {}; install NVIDIA's driver, or set it to 0",
        why));
  }
  const std::size_t there = cuda_devices(library).size();
  if (number >= there) {
    throw UsageError(
        fmt::format("cuda_devices: {} asked, but CUDA shows {} here; lower it, or look "
                    "at CUDA_VISIBLE_DEVICES",
                    number + 1, there));
  }
  const auto index = static_cast<int>(number);
  return std::make_unique<CudaDevice>(*api, index, name_of(*api, index), run_queues, kernels,
                                      libraries);
}

}  // namespace vicinal::drivers
