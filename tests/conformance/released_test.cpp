// What is called when the runtime no longer uses memory of the application.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/every_way.hpp"
#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

// Memory with an owner that the runtime alone keeps, and what lay there when it was released, which is once.
class Owned {
 public:
  explicit Owned(std::int64_t value = 0) : values_(std::make_shared<Values>(512, value)) {}
  std::int64_t* data() { return values_->data(); }
  Released released() {
    return [this, owner = std::exchange(values_, nullptr)] {
      ++times;
      content = (*owner)[0];
    };
  }
  int times = 0;
  std::int64_t content = -1;

 private:
  std::shared_ptr<Values> values_;
};

void fail_kernel(KernelContext& /*context*/) {
  throw std::runtime_error("pivot 3 is zero");
}
const Codelet kFailing{.name = "fails", .cpu = fail_kernel};

Handle keep(Runtime& runtime, Owned& owned, const char* name = "owned") {
  std::int64_t* const data = owned.data();
  return runtime.register_buffer(data, kPage, name, owned.released());
}

TEST_P(Every, MemoryIsReleasedWhenItsContentIsThere) {
  std::array<Owned, 12> owned;
  {
    Runtime runtime(options());
    const Watched watched(watchdog_, runtime);
    std::vector<Handle> handles;
    for (Owned& each : owned) handles.push_back(keep(runtime, each));
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < owned.size(); ++i) {
        const bool device = GetParam().accelerators > 0 && (i + round) % 2 == 0;
        runtime.submit(add(handles[i], 10 + static_cast<int>(i), device ? kAddOnDevice : kAdd));
      }
    }
    for (std::size_t i = 0; i < owned.size(); i += 2) {
      EXPECT_EQ(owned[i].times, 0);
      runtime.unregister(handles[i]);
      EXPECT_EQ(owned[i].times, 1);
    }
    for (std::size_t i = 1; i < owned.size(); i += 2) EXPECT_EQ(owned[i].times, 0);
  }  // the rest
  for (std::size_t i = 0; i < owned.size(); ++i) {
    EXPECT_EQ(owned[i].times, 1);
    EXPECT_EQ(owned[i].content, 30 + 3 * static_cast<std::int64_t>(i));
  }
}

TEST_P(Every, TypedDataAreReleased) {
  int released = 0;
  const auto note = [&] { ++released; };
  std::vector<double> values(64, 1.0);
  std::vector<double> tile(64, 1.0);
  std::vector<double> rows(64, 1.0);
  Runtime runtime(options());
  const auto x = runtime.data(values, "x", note);
  const auto y = runtime.tile(Tile<double>(tile.data(), 8, 8), "y", note);
  const auto z = runtime.tile(RowTile<double>(rows.data(), 8, 8), "z", note);
  runtime.task(
      "twice", [](std::span<double> all) { all[0] *= 2; }, inout(x));
  runtime.release(x);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(values[0], 2.0);
  runtime.release(y);
  runtime.release(z);
  EXPECT_EQ(released, 3);
}

TEST(Released, MemoryMayBeRegisteredAgainByWhatIsCalled) {
  Runtime runtime(small_options(1));
  Values values(512);
  std::optional<Handle> again;
  const Handle first = runtime.register_buffer(values.data(), kPage, "first", [&] {
    again = runtime.register_buffer(values.data(), kPage, "again");
  });
  runtime.unregister(first);
  ASSERT_TRUE(again.has_value());
  runtime.submit(set(*again, 3));
  runtime.unregister(*again);
  EXPECT_EQ(values[0], 3);
}

TEST(Released, ARefusedRegistrationReleasesNothing) {
  Runtime runtime(small_options(1));
  Values values(512);
  int released = 0;
  const auto owner = std::make_shared<int>(1);
  const Handle first = runtime.register_buffer(values.data(), kPage, "first");
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.register_buffer(values.data(), kPage, "second",
                                        [&released, owner] { ++released; });
              }),
              HasSubstr("second"));
  EXPECT_EQ(released, 0);
  EXPECT_EQ(owner.use_count(), 1);
  runtime.unregister(first);
  EXPECT_EQ(released, 0);
}

TEST(Released, WhatItThrowsDisturbsNobody) {
  Values values(1024);
  int released = 0;
  {
    Runtime runtime(small_options(1));
    const Handle first = runtime.register_buffer(
        values.data(), kPage, "first", [] { throw std::runtime_error("does not let go"); });
    runtime.register_buffer(values.data() + 512, kPage, "second", [&] {
      ++released;
      throw 7;
    });
    runtime.unregister(first);
    runtime.submit({.codelet = &kNothing});
    runtime.wait();
  }
  EXPECT_EQ(released, 1);
}

TEST_F(Failure, MemoryIsReleasedAfterErrorsAndCancellation) {
  Owned poisoned;
  Owned cancelled(5);
  Owned left(6);
  {
    Runtime runtime(out_of_core(3));
    const Watched watched(watchdog_, runtime);
    const Handle x = keep(runtime, poisoned);
    const Handle y = keep(runtime, cancelled);
    keep(runtime, left);
    runtime.submit({.codelet = &kFailing, .operands = {RW(x)}});
    EXPECT_THROW(runtime.wait(), TaskError);
    EXPECT_THROW(runtime.unregister(x), PoisonedError);
    EXPECT_EQ(poisoned.times, 1);
    runtime.cancel();
    runtime.submit(set(y, 8));
    runtime.wait();
    EXPECT_THROW(runtime.unregister(y), PoisonedError);
    EXPECT_EQ(cancelled.times, 1);
    EXPECT_EQ(cancelled.content, 5);
  }
  EXPECT_EQ(left.times, 1);
  EXPECT_EQ(left.content, 6);
}

// Its content goes home when the last that holds it does.
TEST(Released, WhatIsHeldBeyondTheRuntimeIsReleasedAfterwards) {
  Owned owned(1);
  {
    std::optional<Acquired> held;
    {
      Runtime runtime(small_options(1));
      const Handle x = keep(runtime, owned);
      held.emplace(runtime.acquire(x, AccessMode::RW));
    }
    EXPECT_EQ(owned.times, 0);
    held->data<std::int64_t>()[0] = 9;
  }
  EXPECT_EQ(owned.times, 1);
  EXPECT_EQ(owned.content, 9);
}

}  // namespace
}  // namespace vicinal
