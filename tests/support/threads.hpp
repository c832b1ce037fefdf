// Several threads that do the same.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace vicinal::testing {

// Calls body(0), body(1), ... at once, each in a thread of its own, and waits for all.
template <typename Body>
void in_threads(std::size_t count, const Body& body) {
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace vicinal::testing
