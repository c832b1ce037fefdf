// Sizes and parameters that cannot be are refused with their numbers, whatever arithmetic would make of them.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

constexpr std::uint64_t kMost = ~std::uint64_t{0};

class Sizes : public Failure {
 protected:
  Sizes() : runtime_(out_of_core(8)) {}
  std::string refusal(const TileShape& shape) {
    return message_of<UsageError>([&] { runtime_.register_empty(shape, "A"); });
  }
  std::string refusal_of_tile(const TileShape& shape) {
    return message_of<UsageError>([&] { runtime_.register_tile(values_, shape, "A"); });
  }
  double values_[16] = {};
  Runtime runtime_;
};

TEST_F(Sizes, ATileWhoseBytesDoNotFit64BitsIsRefusedWithItsShape) {
  // 2^32 x 2^32 x 8 bytes are 2^67: 0 where it wraps.
  const TileShape huge{.rows = 1ULL << 32, .columns = 1ULL << 32};
  const auto expected = AllOf(
      HasSubstr("\"A\""), HasSubstr("4294967296 x 4294967296 elements of 8"), HasSubstr("1 PiB"));
  EXPECT_THAT(refusal(huge), expected);
  EXPECT_THAT(refusal_of_tile(huge), expected);
  EXPECT_THAT(
      message_of<UsageError>([&] { runtime_.register_file({folder_.file("file")}, huge, "A"); }),
      expected);
  EXPECT_THAT(refusal({.rows = 1ULL << 61, .columns = 2}), HasSubstr("2305843009213693952 x 2"));
  EXPECT_THAT(refusal({.rows = 1ULL << 61, .columns = 0}), HasSubstr("2305843009213693952 x 0"));
  EXPECT_THAT(refusal({.rows = 0, .columns = kMost}), HasSubstr("0 x 18446744073709551615"));
}

TEST_F(Sizes, ALeadingDimensionThatWrapsIsRefused) {
  EXPECT_THAT(refusal_of_tile({.rows = 2, .columns = 2, .leading_dimension = 1ULL << 61}),
              AllOf(HasSubstr("\"A\""), HasSubstr("leading dimension 2305843009213693952")));
  // 2^40 columns, 2^30 elements apart.
  EXPECT_THAT(refusal_of_tile({.rows = 1, .columns = 1ULL << 40, .leading_dimension = 1ULL << 30}),
              HasSubstr("leading dimension 1073741824"));
}

TEST_F(Sizes, ElementsOfNoBytesAreRefused) {
  EXPECT_THAT(refusal({.rows = 10, .columns = 10, .element_bytes = 0}),
              AllOf(HasSubstr("\"A\""), HasSubstr("0 bytes"), HasSubstr("element_bytes")));
  EXPECT_THAT(refusal_of_tile({.rows = 4, .columns = 4, .element_bytes = 0}),
              HasSubstr("element_bytes"));
}

TEST_F(Sizes, BytesThatPaddingWouldWrapAreRefusedWithTheirNumber) {
  const auto expected = AllOf(HasSubstr("18446744073709551615 bytes"), HasSubstr("1 PiB"));
  EXPECT_THAT(message_of<UsageError>([&] { runtime_.register_empty(Bytes{kMost}); }),
              AllOf(expected, HasSubstr("data without a name")));
  EXPECT_THAT(message_of<UsageError>([&] { runtime_.register_buffer(values_, Bytes{kMost}, "A"); }),
              expected);
  EXPECT_THAT(message_of<UsageError>(
                  [&] { runtime_.register_file({folder_.file("file")}, Bytes{kMost}, "A"); }),
              expected);
}

TEST_F(Sizes, ARegionBeyondWhatAFileCanHaveIsRefused) {
  const FileRegion region{.path = folder_.file("file"), .offset = kMost - 4095};
  EXPECT_THAT(message_of<UsageError>([&] { runtime_.register_file(region, kPage, "A"); }),
              AllOf(HasSubstr("18446744073709547520"), HasSubstr("correct the offset")));
}

TEST_F(Sizes, DataOfASimulationAreRefusedBeforeTheirSumWraps) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
  Runtime runtime(machine, Options{});
  EXPECT_THAT(message_of<UsageError>([&] { runtime.register_simulated(Bytes{kMost}, kRam, "A"); }),
              HasSubstr("1 PiB"));
  // 2^13 times 2^50 are 2^63.
  EXPECT_THAT(message_of<UsageError>([&] {
                for (int i = 0; i <= 1 << 13; ++i) runtime.register_simulated(kLargestData);
              }),
              HasSubstr("2^63"));
}

TEST_F(Sizes, TheLargestDatumIsRegisteredAndItsTaskRefusedForItsBytes) {
  const Handle large = runtime_.register_empty(kLargestData, "large");
  EXPECT_THAT(message_of<CapacityError>([&] { runtime_.submit(set(large, 1)); }),
              AllOf(HasSubstr("set"), HasSubstr("1125899906842624 bytes at once")));
}

TEST_F(Sizes, AMessageAboutDataWithoutANameSaysSo) {
  EXPECT_THAT(message_of<UsageError>([&] { runtime_.register_simulated(kPage); }),
              HasSubstr("data without a name would have no place"));
  EXPECT_THAT(message_of<UsageError>([&] { runtime_.register_buffer(nullptr, kPage); }),
              HasSubstr("the address of data without a name is null"));
}

// --- parameters --------------------------------------------------------------------------------

struct LargeStruct {
  double values[4];
};
const Codelet kWantsDouble{.name = "wants_double",
                           .cpu = [](KernelContext& k) { k.parameter<double>(); }};
const Codelet kWantsLarge{.name = "wants_large",
                          .cpu = [](KernelContext& k) { k.parameter<LargeStruct>(); }};

TEST_F(Sizes, AParameterOfAnotherSizeFailsTheTaskAndNamesBothSizes) {
  const auto message = [&](const Codelet& codelet, const Parameters& parameters) {
    runtime_.submit({.codelet = &codelet, .parameters = parameters, .name = "axpy(3)"});
    return message_of<TaskError>([&] { runtime_.wait(); });
  };
  EXPECT_THAT(message(kWantsDouble, 1.5F),
              AllOf(HasSubstr("task axpy(3) failed"), HasSubstr("a parameter of 8 bytes"),
                    HasSubstr("given one of 4;")));
  EXPECT_THAT(message(kWantsDouble, {}), HasSubstr("given one of 0;"));
  EXPECT_THAT(message(kWantsDouble, LargeStruct{}), HasSubstr("given one of 32;"));
  EXPECT_THAT(message(kWantsLarge, 1.5), HasSubstr("given one of 8;"));
  runtime_.submit({.codelet = &kWantsLarge, .parameters = LargeStruct{}});
  runtime_.submit({.codelet = &kWantsDouble, .parameters = 1.5});
  runtime_.wait();
}

}  // namespace
}  // namespace vicinal
