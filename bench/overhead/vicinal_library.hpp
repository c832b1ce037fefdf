// Vicinal as a library to be measured; see overhead/samples.hpp for what is asked of one.
#pragma once

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "overhead/gate.hpp"
#include "overhead/samples.hpp"
#include "vicinal/runtime.hpp"

namespace overhead {

// No limit on memory; a limit far above the data; the same with a disk to evict to.
enum class Memory { free, limit, disk };

class VicinalLibrary : public LibraryDefaults {
 public:
  static constexpr bool kInferred = true;

  VicinalLibrary(std::uint32_t workers, Memory memory)
      : workers_(workers), memory_(memory), folder_(memory), runtime_(options()) {}

  std::string name() const {
    return memory_ == Memory::free    ? "vicinal"
           : memory_ == Memory::limit ? "vicinal, memory limit"
                                      : "vicinal, memory limit and disk";
  }

  void prepare(const Graph& graph) {
    for (const vicinal::Handle handle : handles_) runtime_.unregister(handle);
    handles_.clear();
    for (std::uint32_t i = 0; i < graph.data(); ++i) {
      handles_.push_back(runtime_.register_empty(vicinal::Bytes{64}));
      runtime_.submit({.codelet = &empty_, .operands = {vicinal::W(handles_.back())}});
    }
    runtime_.wait();
  }

  // The waiting thread runs nothing before it waits. The others are held inside a task.
  bool hold() {
    const std::uint32_t threads = workers_ - 1;
    gate_.close();
    for (std::uint32_t i = 0; i < threads; ++i) {
      runtime_.submit({.codelet = &gated_, .parameters = &gate_, .worker = vicinal::WorkerId{i}});
    }
    gate_.wait_for_held(threads);
    return true;
  }
  void let_go() { gate_.open(); }

  void submit(const Graph& graph, EmptyBody) {
    for_each_task(graph, [this](std::uint64_t, const auto& data) {
      with_operands(data, [this](auto... operands) {
        runtime_.submit({.codelet = &empty_, .operands = {operands...}});
      });
    });
  }
  void submit(const Graph& graph, WorkBody body) {
    for_each_task(graph, [&](std::uint64_t index, const auto& data) {
      with_operands(data, [&](auto... operands) {
        runtime_.submit({.codelet = &checked_,
                         .operands = {operands...},
                         .parameters = CheckedParameters{body.work, index}});
      });
    });
  }
  void wait() { runtime_.wait(); }

 private:
  // A folder of its own, removed at the end.
  class Folder {
   public:
    explicit Folder(Memory memory) {
      if (memory != Memory::disk) return;
      path_ =
          std::filesystem::temp_directory_path() / ("vicinal-overhead-" + std::to_string(getpid()));
      std::filesystem::create_directory(path_);
    }
    ~Folder() {
      if (!path_.empty()) std::filesystem::remove_all(path_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path() const { return path_.string(); }

   private:
    std::filesystem::path path_;
  };

  vicinal::Options options() const {
    vicinal::Options options;
    options.workers = workers_;
    options.policy = "lws";  // also where memory is limited: what memory costs is asked for
    if (memory_ != Memory::free) options.memory = vicinal::Bytes{1ULL << 30};
    options.disk = folder_.path();
    // Nothing is copied, so it does not matter but to valgrind 3.19, which a thread that waits in
    // io_uring_enter stops for ever.
    options.direct_io = false;
    return options;
  }

  struct CheckedParameters {
    Work* work;
    std::uint64_t index;
  };

  // Named one by one, as in a program: {.codelet = &gemm, .operands = {R(a), R(b), RW(c)}}.
  template <std::size_t N, typename Submit>
  void with_operands(const Data<N>& data, Submit&& submit) {
    using vicinal::R;
    using vicinal::RW;
    if constexpr (N == 0) {
      submit();
    } else if constexpr (N == 1) {
      submit(RW(handles_[data[0]]));
    } else if constexpr (N == 2) {
      submit(R(handles_[data[0]]), RW(handles_[data[1]]));
    } else {
      submit(R(handles_[data[0]]), R(handles_[data[1]]), RW(handles_[data[2]]));
    }
  }

  static void run_empty(vicinal::KernelContext&) {}
  static void run_checked(vicinal::KernelContext& context) {
    const auto [work, index] = context.parameter<CheckedParameters>();
    work->run(index);
  }
  static void run_gated(vicinal::KernelContext& context) { context.parameter<Gate*>()->pass(); }

  const std::uint32_t workers_;
  const Memory memory_;
  const vicinal::Codelet empty_{.name = "empty", .cpu = run_empty};
  const vicinal::Codelet checked_{.name = "checked", .cpu = run_checked};
  const vicinal::Codelet gated_{.name = "gated", .cpu = run_gated};
  Gate gate_;
  Folder folder_;
  vicinal::Runtime runtime_;
  std::vector<vicinal::Handle> handles_;
};

}  // namespace overhead
