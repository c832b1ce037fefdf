#if VICINAL_HAVE_OPENCL

#include "drivers/opencl/opencl_device.hpp"

#include <array>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "drivers/opencl/opencl_kernels.hpp"
#include "vicinal/error.hpp"
#include "vicinal/opencl.hpp"

namespace vicinal::drivers {

namespace {

std::string text_of(cl_device_id device, cl_device_info what) {
  std::size_t bytes = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (clGetDeviceInfo(device, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find('\0'));
  return text;
}

template <typename T>
T value_of(cl_device_id device, cl_device_info what) {
  T value{};
  clGetDeviceInfo(device, what, sizeof(value), &value, nullptr);
  return value;
}

std::vector<cl_device_id> all_devices() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_platform_id> platforms(count);
  if (clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return {};
  std::vector<cl_device_id> devices;
  for (const cl_platform_id platform : platforms) {
    cl_uint of_it = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &of_it) != CL_SUCCESS) continue;
    const std::size_t before = devices.size();
    devices.resize(before + of_it);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, of_it, devices.data() + before, nullptr);
  }
  return devices;
}

void CL_CALLBACK tell_ended(cl_event /*event*/, cl_int status, void* flight) {
  static_cast<Flight*>(flight)->ended(status < 0 ? status : 0);
}

// The arguments of a native kernel: OpenCL writes where the memory lies.
struct HostCall {
  Flight* flight;
  std::byte* memory;
};
void CL_CALLBACK run_flight(void* arguments) {
  const auto& call = *static_cast<const HostCall*>(arguments);
  call.flight->run_here(call.memory - OpenClMemory::base());
}

class OpenClDevice final : public QueuedDevice {
 public:
  OpenClDevice(std::uint32_t number, cl_device_id device, std::uint32_t run_queues)
      : name_(fmt::format("OpenCL device {} ({})", number, text_of(device, CL_DEVICE_NAME))) {
    cl_int code = CL_SUCCESS;
    context_.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
    opencl::check(code, "clCreateContext");
    for (std::uint32_t i = 0; i < kFirstRun + run_queues; ++i) {
      queues_.emplace_back(
          clCreateCommandQueue(context_.get(), device, CL_QUEUE_PROFILING_ENABLE, &code));
      opencl::check(code, "clCreateCommandQueue");
      natives_.push_back({context_.get(), device, queues_.back().get(), &memory_, &programs_});
    }
  }

  std::string name() const override { return name_; }

  std::byte* allocate(Bytes bytes) override {
    return memory_.allocate(context_.get(), bytes, name_);
  }

  void copy_in(Queue queue, Flight& flight, std::byte* to, const std::byte* from,
               const Layout& layout) override {
    const cl_mem part = memory_.part(to, layout.bytes());
    cl_event event = nullptr;
    if (layout.contiguous()) {
      opencl::check(clEnqueueWriteBuffer(queues_[queue].get(), part, CL_FALSE, 0,
                                         layout.bytes().value, from, 0, nullptr, &event),
                    "clEnqueueWriteBuffer");
    } else {
      const auto region = region_of(layout);
      opencl::check(clEnqueueWriteBufferRect(queues_[queue].get(), part, CL_FALSE, kOrigin.data(),
                                             kOrigin.data(), region.data(), layout.column_bytes, 0,
                                             layout.stride_bytes, 0, from, 0, nullptr, &event),
                    "clEnqueueWriteBufferRect");
    }
    flight.done = event;
  }

  void copy_out(Queue queue, Flight& flight, std::byte* to, const Layout& layout,
                const std::byte* from) override {
    const cl_mem part = memory_.part(from, layout.bytes());
    cl_event event = nullptr;
    if (layout.contiguous()) {
      opencl::check(clEnqueueReadBuffer(queues_[queue].get(), part, CL_FALSE, 0,
                                        layout.bytes().value, to, 0, nullptr, &event),
                    "clEnqueueReadBuffer");
    } else {
      const auto region = region_of(layout);
      opencl::check(clEnqueueReadBufferRect(queues_[queue].get(), part, CL_FALSE, kOrigin.data(),
                                            kOrigin.data(), region.data(), layout.column_bytes, 0,
                                            layout.stride_bytes, 0, to, 0, nullptr, &event),
                    "clEnqueueReadBufferRect");
    }
    flight.done = event;
  }

  void begin_run(Queue queue, Flight& flight) override { flight.begun = mark(queue); }

  // A copy's own event tells whether it failed; a mark behind a kernel may not.
  void notify(Queue queue, Flight& flight) override {
    if (flight.done == nullptr) flight.done = mark(queue);
    opencl::check(clFlush(queues_[queue].get()), "clFlush");
    opencl::check(
        clSetEventCallback(static_cast<cl_event>(flight.done), CL_COMPLETE, tell_ended, &flight),
        "clSetEventCallback");
  }

  std::optional<Time> finish(Flight& flight) override {
    std::optional<Time> time;
    cl_ulong begin = 0;
    cl_ulong end = 0;
    if (flight.begun != nullptr && flight.done != nullptr && time_of(flight.begun, begin) &&
        time_of(flight.done, end) && end >= begin) {
      time = Time{static_cast<std::int64_t>(end - begin)};
    }
    for (void** event : {&flight.begun, &flight.done}) {
      if (*event != nullptr) clReleaseEvent(static_cast<cl_event>(*event));
      *event = nullptr;
    }
    return time;
  }

  void* native(Queue queue) override { return &natives_[queue]; }
  void call(Queue queue, Flight& flight) override {
    HostCall call{&flight, nullptr};
    const cl_mem all = memory_.all();
    const void* const where = &call.memory;
    opencl::check(
        clEnqueueNativeKernel(queues_[queue].get(), run_flight, &call, sizeof(call), 1, &all,
                              const_cast<const void**>(&where), 0, nullptr, nullptr),
        "clEnqueueNativeKernel");
  }
  std::string failure_text(int failure) const override { return opencl_error_name(failure); }
  void drain() noexcept override {
    for (const ClQueue& queue : queues_) clFinish(queue.get());
  }

 private:
  static constexpr std::array<std::size_t, 3> kOrigin{0, 0, 0};
  static std::array<std::size_t, 3> region_of(const Layout& layout) {
    return {layout.column_bytes, layout.columns, 1};
  }
  cl_event mark(Queue queue) {
    cl_event event = nullptr;
    opencl::check(clEnqueueMarkerWithWaitList(queues_[queue].get(), 0, nullptr, &event),
                  "clEnqueueMarkerWithWaitList");
    return event;
  }
  static bool time_of(void* event, cl_ulong& time) {
    return clGetEventProfilingInfo(static_cast<cl_event>(event), CL_PROFILING_COMMAND_END,
                                   sizeof(time), &time, nullptr) == CL_SUCCESS;
  }

  const std::string name_;
  ClContext context_;
  std::deque<ClQueue> queues_;
  OpenClMemory memory_;
  OpenClPrograms programs_;
  std::deque<OpenClNative> natives_;  // by queue
};

}  // namespace

std::vector<OpenClDescription> opencl_devices() {
  std::vector<OpenClDescription> found;
  for (const cl_device_id device : all_devices()) {
    found.push_back({text_of(device, CL_DEVICE_NAME),
                     Bytes{value_of<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE)},
                     Bytes{value_of<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)},
                     value_of<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS)});
  }
  return found;
}

std::unique_ptr<QueuedDevice> open_opencl_device(std::uint32_t number, std::uint32_t run_queues,
                                                 DeviceKernels kernels) {
  const std::vector<cl_device_id> devices = all_devices();
  if (number >= devices.size()) {
    throw UsageError(fmt::format(
        "opencl_devices: {} asked, but OpenCL knows {} here; lower it, or install a driver of the "
        "device (Debian: pocl-opencl-icd runs on the processor)",
        number + 1, devices.size()));
  }
  const auto device = devices[number];
  if (kernels == DeviceKernels::of_host &&
      (value_of<cl_device_exec_capabilities>(device, CL_DEVICE_EXECUTION_CAPABILITIES) &
       CL_EXEC_NATIVE_KERNEL) == 0) {
    throw UsageError(fmt::format(
        "accelerator_api: OpenCL device {} ({}) cannot run functions of the host; use one that "
        "can (Debian: pocl-opencl-icd), or threads",
        number, text_of(device, CL_DEVICE_NAME)));
  }
  return std::make_unique<OpenClDevice>(number, device, run_queues);
}

}  // namespace vicinal::drivers

#endif
