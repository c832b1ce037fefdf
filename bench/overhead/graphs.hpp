// The task graphs whose overhead is measured, the same for every library, and the check that a
// library ran one of them in order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace overhead {

enum class Shape : std::uint8_t {
  independent,  // no data
  chain,        // all read and write one datum
  cholesky,     // right-looking, lower triangle of tiles: potrf, trsm, syrk, gemm
  pending,      // gemm-like, three accesses, over a triangle of tiles: to count bytes
};

constexpr std::string_view to_string(Shape shape) {
  constexpr std::string_view names[] = {"independent", "chain", "cholesky", "pending"};
  return names[static_cast<std::size_t>(shape)];
}

struct Graph {
  Shape shape = Shape::independent;
  std::uint64_t tasks = 0;
  std::uint32_t tiles = 0;  // per column: cholesky, pending

  std::uint32_t data() const {
    if (shape == Shape::independent) return 0;
    return shape == Shape::chain ? 1 : tiles * (tiles + 1) / 2;
  }
};

// `tiles` potrf, twice tiles (tiles - 1) / 2 trsm and syrk, tiles (tiles - 1) (tiles - 2) / 6 gemm:
// 45,760 for 64.
constexpr std::uint64_t cholesky_tasks(std::uint64_t tiles) {
  return tiles + tiles * (tiles - 1) + tiles * (tiles - 1) * (tiles - 2) / 6;
}

inline Graph make_graph(Shape shape, std::uint64_t tasks, std::uint32_t tiles) {
  return {shape, shape == Shape::cholesky ? cholesky_tasks(tiles) : tasks, tiles};
}

// The data of one task. The last is read and written, the others are read.
template <std::size_t N>
using Data = std::array<std::uint32_t, N>;

// Tile (row, column) of the lower triangle.
constexpr std::uint32_t tile(std::uint32_t row, std::uint32_t column) {
  return row * (row + 1) / 2 + column;
}

template <typename Visit>
void for_each_cholesky_task(std::uint32_t tiles, Visit&& visit) {
  std::uint64_t index = 0;
  for (std::uint32_t k = 0; k < tiles; ++k) {
    visit(index++, Data<1>{tile(k, k)});
    for (std::uint32_t i = k + 1; i < tiles; ++i) visit(index++, Data<2>{tile(k, k), tile(i, k)});
    for (std::uint32_t i = k + 1; i < tiles; ++i) {
      visit(index++, Data<2>{tile(i, k), tile(i, i)});
      for (std::uint32_t j = k + 1; j < i; ++j) {
        visit(index++, Data<3>{tile(i, k), tile(j, k), tile(i, j)});
      }
    }
  }
}

// Calls visit(number, Data<N>) for each task, in the order of submission.
template <typename Visit>
void for_each_task(const Graph& graph, Visit&& visit) {
  switch (graph.shape) {
    case Shape::independent:
      for (std::uint64_t i = 0; i < graph.tasks; ++i) visit(i, Data<0>{});
      break;
    case Shape::chain:
      for (std::uint64_t i = 0; i < graph.tasks; ++i) visit(i, Data<1>{0});
      break;
    case Shape::cholesky:
      for_each_cholesky_task(graph.tiles, visit);
      break;
    case Shape::pending: {
      const std::uint32_t data = graph.data();
      for (std::uint64_t i = 0; i < graph.tasks; ++i) {
        const auto first = static_cast<std::uint32_t>(i % data);
        visit(i, Data<3>{first, (first + data / 3) % data, (first + data / 2) % data});
      }
      break;
    }
  }
}

// What tasks do that are not empty.
class Work {
 public:
  virtual ~Work() = default;
  virtual void run(std::uint64_t index) = 0;  // the kernel of that task
};

// What every task must find: each datum in the version that its predecessors in the order of
// submission have made. Kept outside of what is timed.
class Ledger final : public Work {
 public:
  explicit Ledger(const Graph& graph) : versions_(graph.data()), ran_(graph.tasks) {
    std::vector<std::uint32_t> version(graph.data());
    expected_.reserve(graph.tasks);
    for_each_task(graph, [&](std::uint64_t, const auto& data) {
      Expected expected;
      for (const std::uint32_t datum : data) {
        expected.datum[expected.count] = datum;
        expected.version[expected.count++] = version[datum];
      }
      if (!data.empty()) ++version[data.back()];
      expected_.push_back(expected);
    });
  }

  // Relaxed: whether the accesses are ordered is what is found out.
  void run(std::uint64_t index) override {
    const Expected& expected = expected_[index];
    bool right = true;
    for (std::size_t i = 0; i < expected.count; ++i) {
      right &= versions_[expected.datum[i]].load(std::memory_order_relaxed) == expected.version[i];
    }
    if (expected.count > 0) {
      const std::size_t last = expected.count - 1;
      versions_[expected.datum[last]].store(expected.version[last] + 1, std::memory_order_relaxed);
    }
    ran_[index].fetch_add(1, std::memory_order_relaxed);
    if (!right) out_of_order_.fetch_add(1, std::memory_order_relaxed);
    if (submitting_.load(std::memory_order_relaxed) && std::this_thread::get_id() == submitter_) {
      at_creation_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // Around the submission, by the submitting thread.
  void begin_submission() {
    submitter_ = std::this_thread::get_id();
    submitting_.store(true, std::memory_order_relaxed);
  }
  void end_submission() { submitting_.store(false, std::memory_order_relaxed); }

  // Most tasks were run by the submitting thread before it had submitted all.
  bool ran_at_creation() const { return at_creation_.load() * 2 > expected_.size(); }

  void check(std::string_view runtime, Shape shape) const {
    std::uint64_t not_once = 0;
    for (const auto& count : ran_) not_once += count.load() != 1 ? 1 : 0;
    if (not_once == 0 && out_of_order_.load() == 0) return;
    throw std::runtime_error(std::string(runtime) + ", " + std::string(to_string(shape)) + ": " +
                             std::to_string(not_once) + " tasks did not run exactly once, " +
                             std::to_string(out_of_order_.load()) + " ran out of order");
  }

 private:
  struct Expected {
    std::uint32_t count = 0;
    std::uint32_t datum[3] = {};
    std::uint32_t version[3] = {};
  };
  std::vector<Expected> expected_;
  std::vector<std::atomic<std::uint32_t>> versions_;  // by datum
  std::vector<std::atomic<std::uint8_t>> ran_;        // by task
  std::atomic<std::uint64_t> out_of_order_{0};
  std::atomic<std::uint64_t> at_creation_{0};
  std::atomic<bool> submitting_{false};
  std::thread::id submitter_;
};

// The last writer and the readers since, per datum: what it takes to give a graph to a library that
// does not infer dependencies.
template <typename Task>
class Tracker {
 public:
  explicit Tracker(std::uint32_t data) : of_(data) {}

  // Calls before(task) for each task that one with these data waits for.
  template <std::size_t N, typename Before>
  void predecessors(const Data<N>& data, Before&& before) {
    for (std::size_t i = 0; i < N; ++i) {
      Datum& datum = of_[data[i]];
      if (i + 1 == N && !datum.readers.empty()) {
        for (const Task& reader : datum.readers) before(reader);
      } else if (datum.written) {
        before(datum.writer);
      }
    }
  }
  // The task with these data is the next in the order of submission.
  template <std::size_t N>
  void note(const Data<N>& data, const Task& task) {
    for (std::size_t i = 0; i < N; ++i) {
      Datum& datum = of_[data[i]];
      if (i + 1 < N) {
        datum.readers.push_back(task);
      } else {
        datum.readers.clear();
        datum.writer = task;
        datum.written = true;
      }
    }
  }

 private:
  struct Datum {
    Task writer{};
    bool written = false;
    std::vector<Task> readers;
  };
  std::vector<Datum> of_;
};

}  // namespace overhead
