// The dense applications on devices: on the library that stands in for CUDA, cuBLAS and cuSOLVER, and on OpenCL with
// CLBlast; or on CUDA devices, see support/cuda_library.hpp. In core and with a part of the data there, with little RAM and a disk; matrices that cannot be factorised.
#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/opencl/opencl_device.hpp"
#include "support/cuda_library.hpp"
#include "support/dense_applications.hpp"
#include "support/sanitized.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {
namespace {

using testing::all_data;
using ::testing::AllOf;
using testing::expect_within_limit;
using ::testing::HasSubstr;
using testing::kDenseNames;
using testing::kPrecisions;
using testing::largest_task;
using testing::message_of;
using testing::TemporaryFolder;
using testing::with_policy;

// Cholesky of 7 x 7 tiles, the last row and column smaller.
Application small(const std::string& name, Precision precision) {
  if (name == "cholesky") return cholesky({200, 32, precision});
  return testing::application_named(
      name, {.tiles = name == "lu" ? 5U : 4U, .tile = 32, .precision = precision},
      name == "gemm3d" ? 96 : 0);
}

// Tasks for which the device has code run there alone.
void leave_to(ProcessorKind kind, Application& application) {
  for (TaskKernel& kernel : application.kernels) {
    if (kernel.codelet.kernels[kind]) kernel.codelet.cpu = {};
  }
}

// A part of the data, but room for a task.
Bytes part_of(const Application& application, std::uint64_t divisor) {
  return std::max(largest_task(application), Bytes{all_data(application).value / divisor});
}

std::uint64_t tasks_on(ProcessorKind kind, const Runtime& runtime, const RunOutcome& outcome) {
  std::uint64_t tasks = 0;
  for (const WorkerDescription& worker : runtime.machine().workers) {
    if (worker.kind != kind) continue;
    tasks += outcome.after.workers[worker.id.value].tasks -
             outcome.before.workers[worker.id.value].tasks;
  }
  return tasks;
}

RunOutcome run_right(Runtime& runtime, const Application& application,
                     const DataPlaces& places = {}) {
  RunOutcome outcome = run(runtime, {.application = &application, .places = places, .check = true});
  EXPECT_TRUE(outcome.residual->passed())
      << outcome.residual->value << " > " << outcome.residual->tolerance;
  EXPECT_EQ(outcome.after.tasks_done - outcome.before.tasks_done, application.tasks);
  expect_within_limit(runtime);
  return outcome;
}

// All of its tasks on the device; how many there were.
std::uint64_t tasks_with_code(ProcessorKind kind, const Application& application) {
  std::uint64_t tasks = 0;
  application.visit_tasks([&](const Task& task) {
    tasks += application.kernels[task.kernel].codelet.kernels[kind] ? 1U : 0U;
  });
  return tasks;
}

Options limited(Options options, const Application& application, std::uint64_t divisor,
                const TemporaryFolder& folder) {
  options.memory = part_of(application, divisor);
  options.disk = folder.path();
  return options;
}

// --- CUDA ----------------------------------------------------------------------------------------

Options on_cuda(std::uint32_t devices, Bytes memory, const std::string& policy = "lws") {
  testing::set_stand_in({.devices = static_cast<int>(devices)});
  Options options = with_policy(policy);
  options.cuda_devices = testing::cuda_devices(devices);
  options.device_memory = memory;
  options.cuda_library = testing::cuda_library();
  options.cublas_library = options.cusolver_library = testing::cuda_math_library();
  return options;
}

void expect_right_on_cuda(const Options& options, const Application& application,
                          const DataPlaces& places = {}) {
  {
    Runtime runtime(options);
    const RunOutcome outcome = run_right(runtime, application, places);
    EXPECT_EQ(tasks_on(ProcessorKind::cuda, runtime, outcome), application.tasks);
  }
  testing::expect_all_given_back();
}

using DeviceCase = std::tuple<std::string, Precision>;
std::string case_name(const ::testing::TestParamInfo<DeviceCase>& test) {
  return std::get<0>(test.param) + "_" + std::string(to_string(std::get<1>(test.param)));
}

class DenseOnCuda : public ::testing::TestWithParam<DeviceCase> {
 protected:
  const std::string& name() const { return std::get<0>(GetParam()); }
  Application application() const { return small(name(), std::get<1>(GetParam())); }
  Application on_device_alone() const {
    Application all = application();
    leave_to(ProcessorKind::cuda, all);
    return all;
  }
  TemporaryFolder folder_{"dense_cuda"};
};

TEST_P(DenseOnCuda, IsRightInCoreAndOutOfItOnOneToFourDevices) {
  const Application application = on_device_alone();
  EXPECT_EQ(tasks_with_code(ProcessorKind::cuda, application), application.tasks);
  for (std::uint32_t devices = 1; devices <= testing::cuda_devices(4); ++devices) {
    for (const std::uint64_t divisor : {1U, 2U, 4U}) {
      SCOPED_TRACE(fmt::format("{} devices, a part of 1/{}", devices, divisor));
      const Options options = on_cuda(devices, part_of(application, divisor));
      expect_right_on_cuda(options, application);
      expect_right_on_cuda(limited(options, application, 3, folder_), application);
    }
  }
}

TEST_P(DenseOnCuda, IsRightUnderEveryPolicy) {
  const Application application = on_device_alone();
  for (const std::string& policy : testing::policy_names_of_each_way()) {
    SCOPED_TRACE(policy);
    const Options options = on_cuda(2, part_of(application, 4), policy);
    expect_right_on_cuda(limited(options, application, 3, folder_), application);
  }
}

// Factorisations on the diagonal on cores, products on devices, and what is between them anywhere.
TEST_P(DenseOnCuda, SharesItsTasksWithCores) {
  Application application = this->application();
  for (TaskKernel& kernel : application.kernels) {
    if (kernel.name == "potrf" || kernel.name == "getrf") kernel.codelet.kernels = {};
    if (kernel.name.starts_with("gemm")) kernel.codelet.cpu = {};
  }
  for (const std::string& policy : testing::policy_names_of_each_way()) {
    SCOPED_TRACE(policy);
    const Options options = on_cuda(2, part_of(application, 2), policy);
    Runtime runtime(limited(options, application, 2, folder_));
    const RunOutcome outcome = run_right(runtime, application);
    const bool is_product = name().starts_with("gemm");
    EXPECT_GT(tasks_on(ProcessorKind::cuda, runtime, outcome), 0U);
    EXPECT_EQ(tasks_on(ProcessorKind::cpu, runtime, outcome) > 0, !is_product);
  }
}

// What fails at random moments, or at all from some moment on, ends in an error or is right, and gives all back.
TEST_P(DenseOnCuda, EndsWhereDevicesFail) {
  if (testing::on_real_cuda()) GTEST_SKIP() << testing::kNeedsStandIn;
  const Application application = on_device_alone();
  std::size_t failed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto devices = static_cast<std::uint32_t>(1 + seed % 3);
    Options options = on_cuda(devices, part_of(application, 2));
    options.undelivered_errors = "warn";  // a device may fail when the runtime ends
    {
      Runtime runtime(options);
      cuda_stand_in::Settings settings{.devices = static_cast<int>(devices), .seed = seed};
      (seed % 2 == 0 ? settings.fail_one_in : settings.lost_after) = 50 + 30 * seed;
      testing::set_stand_in(settings);
      try {
        run_right(runtime, application);
      } catch (const Error& error) {
        ++failed;
        EXPECT_THAT(error.what(), HasSubstr("CUDA device "));
      }
    }
    testing::expect_all_given_back();
  }
  EXPECT_GT(failed, 5U);
}

INSTANTIATE_TEST_SUITE_P(All, DenseOnCuda,
                         ::testing::Combine(::testing::ValuesIn(kDenseNames),
                                            ::testing::ValuesIn(kPrecisions)),
                         case_name);

// The matrix is four times the RAM's limit: what the device reads comes from the file through RAM.
TEST(CholeskyOnCuda, FactorisesAMatrixInAFileThatIsLargerThanRam) {
  const TemporaryFolder folder;
  for (const Precision precision : kPrecisions) {
    Application application = small("cholesky", precision);
    const std::string a = folder.file("a.tiles");
    const Options options = limited(on_cuda(1, part_of(application, 4)), application, 4, folder);
    {
      Runtime runtime(options);
      generate(runtime, application, {.seed = 5, .output = a, .left = TileContent::symmetric});
    }
    leave_to(ProcessorKind::cuda, application);
    expect_right_on_cuda(options, application, {.matrix = a, .output = folder.file("l.tiles")});
  }
}

// --- matrices that cannot be factorised ----------------------------------------------------------

// What a run throws whose diagonal tile (1,1) is spoilt by `by` in all its elements.
std::string refusal_with(const Options& options, const Application& application, double by,
                         std::size_t tile) {
  Runtime runtime(options);
  const ApplicationData data(runtime, application, {});
  data.fill(runtime);
  testing::change_elements(runtime, data[tile], application.grid.precision, by);
  submit_tasks(runtime, data, {.names = true});
  return message_of<TaskError>([&] { runtime.wait(); });
}

TEST(CholeskyOnCuda, NamesThePivotThatIsNotPositiveAsACoreDoes) {
  for (const Precision precision : kPrecisions) {
    Application application = small("cholesky", precision);
    const std::size_t tile = application.grid.index(1, 1);
    const std::string by_core = refusal_with(with_policy("lws"), application, -1e6, tile);
    EXPECT_THAT(by_core, AllOf(HasSubstr("potrf(1)"), HasSubstr("row 32 ")));
    leave_to(ProcessorKind::cuda, application);
    EXPECT_EQ(refusal_with(on_cuda(1, part_of(application, 1)), application, -1e6, tile), by_core);
    testing::expect_all_given_back();
  }
}

TEST(LuOnCuda, NamesThePivotThatIsZeroAsACoreDoes) {
  for (const Precision precision : kPrecisions) {
    Application application = small("lu", precision);
    const auto refusal = [&](const Options& options) {
      Runtime runtime(options);
      const ApplicationData data(runtime, application, {});
      data.fill(runtime);
      for (std::size_t d = 5; d < 10; ++d) {  // row 1 of tiles becomes zero
        const Acquired tile = runtime.acquire(data[d], AccessMode::RW);
        std::fill_n(tile.data<std::byte>(), tile.view().layout.bytes().value, std::byte{0});
      }
      submit_tasks(runtime, data, {.names = true});
      return message_of<TaskError>([&] { runtime.wait(); });
    };
    const std::string by_core = refusal(with_policy("lws"));
    EXPECT_THAT(by_core, AllOf(HasSubstr("getrf(1)"), HasSubstr("row 32 ")));
    leave_to(ProcessorKind::cuda, application);
    EXPECT_EQ(refusal(on_cuda(1, part_of(application, 1))), by_core);
    testing::expect_all_given_back();
  }
}

TEST(CholeskyOnCuda, LeavesZerosAboveTheDiagonal) {
  for (const Precision precision : kPrecisions) {
    Application application = cholesky({33, 33, precision});
    leave_to(ProcessorKind::cuda, application);
    Runtime runtime(on_cuda(1, Bytes{1 << 20}));
    const ApplicationData data(runtime, application, {});
    data.fill(runtime);
    testing::change_elements(runtime, data[0], precision, 1.0);
    submit_tasks(runtime, data, {});
    const Acquired tile = runtime.acquire(data[0], AccessMode::R);
    for (std::size_t j = 0; j < 33; ++j) {
      for (std::size_t i = 0; i < 33; ++i) {
        const double value = precision == Precision::f32
                                 ? static_cast<double>(tile.data<float>()[i + 33 * j])
                                 : tile.data<double>()[i + 33 * j];
        if (i < j) {
          ASSERT_EQ(value, 0) << i << " " << j;
        }
        if (i == j) {
          ASSERT_GT(value, 0) << i;
        }
      }
    }
  }
}

TEST(DenseLibraries, AreNamedWhereTheyAreNotThere) {
  const auto refusal = [](std::string Options::*library) {
    Application application = small("cholesky", Precision::f64);
    leave_to(ProcessorKind::cuda, application);
    Options options = on_cuda(1, part_of(application, 1));
    options.*library = "libthere_is_no_such_thing.so";
    Runtime runtime(options);
    return message_of<TaskError>([&] { run(runtime, {.application = &application}); });
  };
  EXPECT_THAT(refusal(&Options::cublas_library),
              AllOf(HasSubstr("cuBLAS"), HasSubstr("libthere_is_no_such_thing.so"),
                    HasSubstr("cublas_library")));
  EXPECT_THAT(refusal(&Options::cusolver_library),
              AllOf(HasSubstr("cuSOLVER"), HasSubstr("cusolver_library")));
  testing::expect_all_given_back();
}

// --- OpenCL --------------------------------------------------------------------------------------
// Under sanitizers CLBlast takes minutes to build its programs, and is not built with them.
#if VICINAL_HAVE_CLBLAST && !TEST_THREAD_SANITIZER && !TEST_ADDRESS_SANITIZER

// In one precision: for either, CLBlast compiles kernels of its own, half a minute of them on a processor.
class DenseOnOpenCl : public ::testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override {
    if (drivers::opencl_devices().empty()) GTEST_SKIP() << "OpenCL knows no device here";
  }
};

TEST_P(DenseOnOpenCl, IsRightInCoreAndOutOfIt) {
  Application application = small(std::get<0>(GetParam()), std::get<1>(GetParam()));
  leave_to(ProcessorKind::opencl, application);
  const TemporaryFolder folder;
  for (const std::uint64_t divisor : {1U, 2U, 4U}) {
    for (const bool with_disk : {false, true}) {
      SCOPED_TRACE(fmt::format("a part of 1/{}, disk {}", divisor, with_disk));
      Options options = with_policy(with_disk ? "dmdas" : "lws");
      options.opencl_devices = 1;
      options.device_memory = part_of(application, divisor);
      Runtime runtime(with_disk ? limited(options, application, 3, folder) : options);
      const RunOutcome outcome = run_right(runtime, application);
      EXPECT_EQ(tasks_on(ProcessorKind::opencl, runtime, outcome),
                tasks_with_code(ProcessorKind::opencl, application));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DenseOnOpenCl,
                         ::testing::Values(DeviceCase{"cholesky", Precision::f32},
                                           DeviceCase{"lu", Precision::f32},
                                           DeviceCase{"gemm2d", Precision::f32},
                                           DeviceCase{"gemm3d", Precision::f32}),
                         case_name);

#endif

}  // namespace
}  // namespace vicinal::linalg

#endif
