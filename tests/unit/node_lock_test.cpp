#include "memory/node_lock.hpp"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace vicinal::memory {
namespace {

TEST(NodeLock, IsTakenAgainByItsOwnerAndByNobodyElse) {
  NodeLock lock;
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.held_once());
  std::thread([&] {
    EXPECT_FALSE(lock.held());
    EXPECT_FALSE(lock.try_lock());
  }).join();
  lock.unlock();
  EXPECT_TRUE(lock.held());
  lock.unlock();
  EXPECT_FALSE(lock.held());
  EXPECT_FALSE(NodeLock::any_held());
}

#ifndef NDEBUG
TEST(NodeLock, IsNotWaitedForBehindOneNearerToTheDisk) {
  NodeLock device;
  NodeLock ram;
  device.set_rank(2);
  ram.set_rank(1);
  device.lock();
  ram.lock();  // towards the disk
  ram.unlock();
  device.unlock();
  device.lock();  // as if nothing had been
  device.unlock();
  ram.lock();
  EXPECT_THROW(device.lock(), std::logic_error);
  EXPECT_TRUE(device.try_lock());  // which waits for nobody
  device.unlock();
  ram.unlock();
}

TEST(NodeLock, CountsWhatAnothersEvictionTakes) {
  NodeLock first;
  NodeLock second;
  first.lock();
  {
    const NodeLock::Evicting evicting(first);
    EXPECT_TRUE(first.try_lock());
    first.unlock();
    EXPECT_TRUE(second.try_lock());
    second.unlock();
  }
  EXPECT_TRUE(second.try_lock());
  second.unlock();
  first.unlock();
  EXPECT_EQ(first.taken_for_others(), 0U);
  EXPECT_EQ(second.taken_for_others(), 1U);
}
#endif

}  // namespace
}  // namespace vicinal::memory
