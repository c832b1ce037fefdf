// Which way content takes, and what waits for a link.
#include "memory/links.hpp"

#include <array>

#include <gtest/gtest.h>

#include "memory/replica.hpp"
#include "support/fake_memory.hpp"

namespace vicinal::memory {
namespace {

using testing::FakeMachine;
using testing::kDevice;
using testing::kDisk;
using testing::kOther;

std::uint32_t link_between(const Links& links, NodeId from, NodeId to) {
  return links.between(from, to)->link;
}

TEST(Links, ContentComesFromRamThenFromAPeerThenFromTheDisk) {
  const Links links(FakeMachine{.devices = 2, .peers = true}.description());
  const std::uint64_t everywhere = bit(kRam) | bit(kDisk) | bit(kOther);
  EXPECT_EQ(links.best(everywhere, kDevice)->node, kRam);
  EXPECT_EQ(links.best(everywhere & ~bit(kRam), kDevice)->node, kOther);
  EXPECT_EQ(links.best(bit(kDisk), kDevice), nullptr);  // through RAM
  EXPECT_EQ(links.best(bit(kDisk), kRam)->node, kDisk);
  EXPECT_EQ(links.between(kDisk, kDevice), nullptr);
}

// A link that carries a single copy at a time, and copies of a datum over that link.
struct OneAtATime {
  OneAtATime() {
    handle.replicas = replicas.data();
    for (Fetch& fetch : fetches) {
      fetch.handle = &handle;
      fetch.from = kRam;
      fetch.to = kDevice;
      fetch.link = link;
    }
  }
  Links links{FakeMachine{.devices = 1, .copies = 1}.description()};
  std::uint32_t link = link_between(links, kRam, kDevice);
  graph::Handle handle;
  std::array<Replica, 3> replicas;
  std::array<Fetch, 3> fetches;
};

TEST(Links, WhatATaskWaitsForOvertakesPrefetchesThatHaveNotStarted) {
  OneAtATime t;
  t.links.queue(t.fetches[0]);
  t.links.queue(t.fetches[1]);
  t.fetches[2].urgent = true;
  t.links.queue(t.fetches[2]);
  EXPECT_EQ(t.links.start_next(t.link).fetch, &t.fetches[2]);
  EXPECT_EQ(t.links.start_next(t.link).fetch, nullptr);  // it carries one
  t.links.end(t.link, Bytes{7});
  t.links.hurry(t.fetches[1]);
  EXPECT_EQ(t.links.start_next(t.link).fetch, &t.fetches[1]);
}

TEST(Links, ACopyThatHasStartedIsNotTakenBack) {
  OneAtATime t;
  t.links.queue(t.fetches[0]);
  t.links.queue(t.fetches[1]);
  ASSERT_EQ(t.links.start_next(t.link).fetch, &t.fetches[0]);
  EXPECT_FALSE(t.links.take_back(t.fetches[0]));
  EXPECT_TRUE(t.links.take_back(t.fetches[1]));
  EXPECT_EQ(t.links.load(t.link), 1U);
}

TEST(Links, CountWhatHasArrivedForTheLinkAndBothItsEnds) {
  OneAtATime t;
  t.links.queue(t.fetches[0]);
  t.links.start_next(t.link);
  t.links.end(t.link, Bytes{7});
  t.links.queue(t.fetches[1]);
  t.links.start_next(t.link);
  t.links.end(t.link, std::nullopt);  // failed
  Statistics s;
  s.nodes.resize(3);
  t.links.statistics(s);
  EXPECT_EQ(s.links[t.link].bytes, Bytes{7});
  EXPECT_EQ(s.links[t.link].copies, 1U);
  EXPECT_EQ(s.nodes[kRam.value].bytes_out, Bytes{7});
  EXPECT_EQ(s.nodes[kDevice.value].bytes_in, Bytes{7});
}

}  // namespace
}  // namespace vicinal::memory
