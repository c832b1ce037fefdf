// Bandwidths beside each other, worked out by hand from the tables of the thesis. In MB/s.
#include "vicinal/contention.hpp"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/contention_tables.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using vicinal::testing::contention_model;
using vicinal::testing::contention_tables;
using vicinal::testing::parameters_of;

constexpr double kRounding = 1e-3;  // MB/s

void expect_beside(const ContentionShares& shares, double computations, double transfer) {
  EXPECT_NEAR(shares.computations.value / 1e6, computations, kRounding);
  EXPECT_NEAR(shares.transfer.value / 1e6, transfer, kRounding);
}

void expect_alone(const ContentionShares& shares, double alone) {
  EXPECT_NEAR(shares.alone.value / 1e6, alone, kRounding);
}

TEST(Contention, HenriLocal) {
  const ContentionParameters local = contention_model("henri").local;
  expect_beside(predict_contention(local, 0), 0, 11481.1);
  expect_beside(predict_contention(local, 1), 4455.4, 11481.1);
  // R(14) = 62375.6 + 0.915 * 11481.1 = 72880.8 < 73423.0: the transfer has the rest, 73423.0 - 62375.6.
  expect_beside(predict_contention(local, 14), 62375.6, 11047.4);
  // R(15) = 77336.2: most_alone - most_beside is 1, so that the share falls to 0.915 at once: 10505.2065.
  expect_beside(predict_contention(local, 15), 73423.0 - 10505.2065, 10505.2065);
  expect_beside(predict_contention(local, 17), 62917.7935, 10505.2065);
  // T(18) = 73423.0 - 35.3.
  expect_beside(predict_contention(local, 18), 73387.7 - 10505.2065, 10505.2065);
  expect_alone(predict_contention(local, 16), 71286.4);
  expect_alone(predict_contention(local, 17), 72589.9);  // 17 * 4455.4 = 75741.8 is more
  EXPECT_NEAR(predict_contention(local, 18).total.value / 1e6, 73387.7, kRounding);
}

TEST(Contention, HenriRemote) {
  const ContentionParameters remote = contention_model("henri").remote;
  // R(5) = 22276 + 0.761 * 11459.6 = 30996.8 < 31629.7.
  expect_beside(predict_contention(remote, 5), 22276.0, 9353.7);
  // T(6) = 31453.9; half way between what 5 cores leave and the least, 8720.7556.
  expect_beside(predict_contention(remote, 6), 31453.9 - 9037.2278, 9037.2278);
  expect_beside(predict_contention(remote, 7), 31278.1 - 8720.7556, 8720.7556);
  // T(18) = 31278.1 - 11 * 119.8 = 29960.3.
  expect_beside(predict_contention(remote, 18), 29960.3 - 8720.7556, 8720.7556);
  expect_alone(predict_contention(remote, 18), 29130.7);
}

TEST(Contention, HenriSubnumaLocal) {
  const ContentionParameters local = contention_model("henri-subnuma").local;
  // R(7) = 31194.8 + 0.853 * 11450.4 = 40962.0 < 42487.7.
  expect_beside(predict_contention(local, 7), 31194.8, 11292.9);
  // From 11292.9 with 7 cores in four steps of 381.4272 to 9767.1912 with 11.
  expect_beside(predict_contention(local, 8), 42487.7 - 10911.4728, 10911.4728);
  expect_beside(predict_contention(local, 10), 40641.9 - 10148.6184, 10148.6184);
  expect_beside(predict_contention(local, 11), 39719.0 - 9767.1912, 9767.1912);
  expect_beside(predict_contention(local, 18), 38377.0 - 9767.1912, 9767.1912);
  expect_alone(predict_contention(local, 9), 40107.6);
  expect_alone(predict_contention(local, 11), 39719.0);  // T(11), below 43655.6
}

TEST(Contention, HenriSubnumaRemote) {
  const ContentionParameters remote = contention_model("henri-subnuma").remote;
  expect_beside(predict_contention(remote, 2), 8910.8, 8025.3);
  // T(3) = 16077.0 < R(3) = 16446.9; half way from 8025.3 to 0.27 * 11410.
  expect_beside(predict_contention(remote, 3), 16077.0 - 5553.0, 5553.0);
  expect_beside(predict_contention(remote, 4), 15217.9 - 3080.7, 3080.7);
  expect_beside(predict_contention(remote, 18), 13771.6 - 3080.7, 3080.7);
  expect_alone(predict_contention(remote, 18), 13771.6);
}

TEST(Contention, OccigenAsTheThesisSaysIt) {
  const ContentionModel model = contention_model("occigen");
  // Section 6.3.2: with 7 cores, 21.1 GB/s alone and 18.5 GB/s beside a transfer that stays at 6.2 GB/s.
  const ContentionShares shares = predict_contention(model, 7, 1, 1);
  expect_alone(shares, 21137.3);
  expect_beside(shares, 24706.4 - 6219.5, 6219.5);
  expect_beside(predict_contention(model.remote, 5), 17089.0, 6219.5);
  expect_beside(predict_contention(model.remote, 14), 24706.4 - 7 * 39.9 - 6219.5, 6219.5);
}

TEST(Contention, ATotalThatGrowsAgainWithMoreCores) {
  const ContentionParameters remote = contention_model("dahu").remote;
  // T(16) = 32102.5 + 11 * 38.4; 0.949 * 10607.
  expect_beside(predict_contention(remote, 16), 32524.9 - 10066.043, 10066.043);
}

TEST(Contention, EveryPlacementOfHenri) {
  const ContentionModel model = contention_model("henri");
  expect_beside(predict_contention(model, 16, 0, 0), 62917.7935, 10505.2065);
  // T(16) = 31278.1 - 9 * 119.8.
  expect_beside(predict_contention(model, 16, 1, 1), 30199.9 - 8720.7556, 8720.7556);
  // The local model with the remote transfer: 0.915 * 11459.6. Computations as if alone.
  expect_beside(predict_contention(model, 16, 0, 1), 71286.4, 10485.534);
  expect_beside(predict_contention(model, 16, 1, 0), 29130.7, 10505.2065);
}

TEST(Contention, EveryPlacementOfHenriSubnuma) {
  const ContentionModel model = contention_model("henri-subnuma");
  // With 10 cores. A remote transfer by the local model: from 11292.9 in three of four steps to 0.853 * 11410.
  const double local = 10148.6184;
  const double remote = 11292.9 - (11292.9 - 9732.73) * 3 / 4;
  for (std::uint32_t computations = 0; computations < 4; ++computations) {
    for (std::uint32_t transfer = 0; transfer < 4; ++transfer) {
      SCOPED_TRACE(::testing::Message() << computations << " and " << transfer);
      const ContentionShares shares = predict_contention(model, 10, computations, transfer);
      if (computations == transfer) {
        computations < 2 ? expect_beside(shares, 40641.9 - local, local)
                         : expect_beside(shares, 14598.0 - 3080.7, 3080.7);
      } else {
        expect_beside(shares, computations < 2 ? 40641.9 : 14598.0, transfer < 2 ? local : remote);
        EXPECT_NEAR(shares.total.value, shares.computations.value + shares.transfer.value, 1);
      }
    }
  }
}

TEST(Contention, EveryPlacementOfOccigen) {
  const ContentionModel model = contention_model("occigen");
  expect_beside(predict_contention(model, 7, 0, 0), 23923.2, 6220.0);
  expect_beside(predict_contention(model, 7, 0, 1), 23923.2, 6219.5);
  expect_beside(predict_contention(model, 7, 1, 0), 21137.3, 6220.0);
  expect_beside(predict_contention(model, 7, 1, 1), 18486.9, 6219.5);
}

TEST(Contention, WhatIsAskedForExactlyIsContended) {
  const ContentionParameters parameters = parameters_of({8, 100, 12, 90, 80, 0.5, 5, 0, 10, 40});
  // R(8) = 80 + 20 = T(8), which is not below it. Seven cores leave 30 of 40; five steps to 20 with 12.
  expect_beside(predict_contention(parameters, 7), 70, 30);
  expect_beside(predict_contention(parameters, 8), 72, 28);
}

TEST(Contention, ACoreThatAloneAsksForTooMuch) {
  const ContentionParameters parameters = parameters_of({1, 100, 4, 95, 70, 0.5, 10, 0, 90, 40});
  // R(1) = 110 > 100: no number of cores fits, and the share falls from 1 without cores to 0.5 with four.
  expect_beside(predict_contention(parameters, 1), 65, 35);
  expect_beside(predict_contention(parameters, 2), 60, 30);
  expect_beside(predict_contention(parameters, 4), 50, 20);
}

TEST(Contention, BetweenTwoNumbersOfCoresOnTheLineBetweenThem) {
  const ContentionParameters remote = contention_model("henri").remote;
  expect_beside(predict_contention(remote, 5.5), (22276.0 + 22416.6722) / 2,
                (9353.7 + 9037.2278) / 2);
  expect_beside(predict_contention(remote, 0.25), 4455.2 / 4, 11459.6);
  for (const auto& table : contention_tables()) {
    for (const ContentionParameters& parameters : {table.model.local, table.model.remote}) {
      // No step: 1/1024 of a core changes nothing by more than a core's bandwidth.
      for (std::uint32_t at = 0; at + 1 < 1024 * table.model.cores_per_socket; at += 37) {
        const ContentionShares a = predict_contention(parameters, at / 1024.0);
        const ContentionShares b = predict_contention(parameters, (at + 1) / 1024.0);
        ASSERT_NEAR(a.transfer.value, b.transfer.value, parameters.transfer.value / 256)
            << table.machine << ' ' << at;
        ASSERT_NEAR(a.computations.value, b.computations.value, parameters.core.value / 256)
            << table.machine << ' ' << at;
      }
    }
  }
}

TEST(Contention, NothingIsNegativeWithMoreCoresThanThereAre) {
  const ContentionParameters remote = contention_model("henri-subnuma").remote;
  const ContentionShares shares = predict_contention(remote, 1000);
  EXPECT_EQ(shares.total.value, 0);
  EXPECT_EQ(shares.transfer.value, 0);
  EXPECT_EQ(shares.computations.value, 0);
}

template <typename Call>
std::string said(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Contention, ParametersOutOfRangeAreNamed) {
  using ::testing::HasSubstr;
  const ContentionModel model = contention_model("henri");
  const auto with = [&](auto change) {
    ContentionParameters parameters = model.local;
    change(parameters);
    return said([&] { (void)predict_contention(parameters, 1); });
  };
  EXPECT_EQ(with([](auto&) {}), "accepted");
  EXPECT_THAT(with([](auto& p) { p.most_alone = 16; }),
              HasSubstr("most_beside is 17 and most_alone 16"));
  EXPECT_THAT(with([](auto& p) { p.most_beside = 0; }), HasSubstr("most_beside is 0"));
  EXPECT_THAT(with([](auto& p) { p.total_beside = {}; }), HasSubstr("total_beside"));
  EXPECT_THAT(with([](auto& p) { p.core = {std::nan("")}; }), HasSubstr("core"));
  EXPECT_THAT(with([](auto& p) { p.transfer = {-1}; }), HasSubstr("transfer"));
  EXPECT_THAT(with([](auto& p) { p.loss_before = {-1}; }), HasSubstr("loss_before"));
  EXPECT_THAT(with([](auto& p) { p.loss_after = {HUGE_VAL}; }), HasSubstr("loss_after"));
  EXPECT_THAT(with([](auto& p) { p.least_share = 1.01; }), HasSubstr("least_share"));
  EXPECT_THAT(said([&] { (void)predict_contention(model.local, -0.5); }), HasSubstr("cores"));
  EXPECT_THAT(said([&] { (void)predict_contention(model, 1, 0, 2); }), HasSubstr("no NUMA node 2"));
}

}  // namespace
}  // namespace vicinal
