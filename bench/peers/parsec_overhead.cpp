// Overhead per task of PaRSEC, through its interface DTD, which finds the dependencies from the accesses.
// Started by bench/overhead.cpp.
//
// The thread that submits is one of its threads. After every 8,192 tasks it runs tasks until at most
// 4,000 are pending: many run at their creation. For `submit` and `execute` that window is lifted, and
// the threads start after the submission. A tile is good until it is flushed, which has to come before a
// wait: one task more per datum, in `execute` and `both`. A fifth of the tasks: each pending one has room
// for 20 accesses.
//
// For the interface of PaRSEC 4.0, best built without MPI (PARSEC_DIST_WITH_MPI=OFF): with it, the thread
// that waits asks MPI for messages between any two tasks, also where there is one process.
#define OMPI_SKIP_MPICXX 1  // of <mpi.h>, which PaRSEC's headers bring, its C half is enough
#define MPICH_SKIP_MPICXX 1

#include <algorithm>
#include <array>
#include <cstdlib>
#include <parsec/data_distribution.h>
#include <parsec/interfaces/dtd/insert_function.h>
#include <parsec/mca/device/device.h>
#include <parsec/runtime.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#if defined(PARSEC_HAVE_MPI)
#include <mpi.h>
#endif

#include "overhead/samples.hpp"

#if defined(PARSEC_VERSION_MAJOR) && PARSEC_VERSION_MAJOR < 4
#error "bench/peers/parsec_overhead.cpp needs PaRSEC 4.0"
#endif

namespace {

using overhead::Data;
using overhead::EmptyBody;
using overhead::Graph;
using overhead::WorkBody;

parsec_hook_return_t run_empty(parsec_execution_stream_t*, parsec_task_t*) {
  return PARSEC_HOOK_RETURN_DONE;
}

overhead::Work* work = nullptr;  // of the kernels of WorkBody
parsec_hook_return_t run_checked(parsec_execution_stream_t*, parsec_task_t* task) {
  std::uint64_t index = 0;
  std::array<void*, 3> data{};
  // All parameters of a task, in their order; what it does not have is left alone.
  parsec_dtd_unpack_args(task, &index, &data[0], &data[1], &data[2]);
  work->run(index);
  return PARSEC_HOOK_RETURN_DONE;
}

// PaRSEC that was built with MPI wants it to be there first and to go last.
class Mpi {
#if defined(PARSEC_HAVE_MPI)
 public:
  Mpi() {
    int provided = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
      throw std::runtime_error("MPI_Init_thread failed");
    }
  }
  ~Mpi() {
    MPI_Finalize();
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
#endif
};

// The data of a graph, all in this process; the key of one is its number.
struct Collection : parsec_data_collection_t {
  std::vector<parsec_data_t*> data;

  static parsec_data_t* find(parsec_data_collection_t* self, parsec_data_key_t key) {
    return static_cast<Collection*>(self)->data[key];
  }
  static std::uint32_t rank(parsec_data_collection_t*, parsec_data_key_t) { return 0; }
};

class ParsecDtd : public overhead::LibraryDefaults {
 public:
  static constexpr bool kInferred = true;

  explicit ParsecDtd(std::uint32_t workers) {
    for (const char* kind : {"cuda", "hip", "level_zero"}) {
      setenv(("PARSEC_MCA_device_" + std::string(kind) + "_enabled").c_str(), "0", 0);
    }
    context_ = parsec_init(static_cast<int>(workers), nullptr, nullptr);
    if (context_ == nullptr) throw std::runtime_error("parsec_init failed");
  }
  ~ParsecDtd() {
    forget();
    parsec_fini(&context_);
  }
  ParsecDtd(const ParsecDtd&) = delete;
  ParsecDtd& operator=(const ParsecDtd&) = delete;

  std::string name() const { return "PaRSEC DTD"; }

  // A pool of tasks for each graph: the window of one grows with what has been submitted to it.
  void prepare(const Graph& graph) {
    forget();
    parsec_data_collection_init(&collection_, 1, 0);
    collection_.rank_of_key = Collection::rank;
    collection_.data_of_key = Collection::find;
    parsec_dtd_data_collection_init(&collection_);
    content_.assign(graph.data() * kBytes, 0);
    collection_.data.assign(graph.data(), nullptr);
    for (std::uint32_t i = 0; i < graph.data(); ++i) {
      parsec_data_create(&collection_.data[i], &collection_, i, &content_[i * kBytes], kBytes,
                         PARSEC_DATA_FLAG_PARSEC_MANAGED);
    }
    pool_ = parsec_dtd_taskpool_new();
    check(parsec_context_add_taskpool(context_, pool_), "parsec_context_add_taskpool");
    check(parsec_context_start(context_), "parsec_context_start");
    for (std::size_t n = 0; n <= 3; ++n) {
      empty_[n] = task_class("empty", {}, n, run_empty);
      checked_[n] = task_class("checked", {sizeof(std::uint64_t), PARSEC_VALUE}, n, run_checked);
    }
  }

  // Until the context is started again the other threads sleep; this one runs tasks in a wait only.
  bool hold() {
    check(parsec_context_wait(context_), "parsec_context_wait");
    window_ = parsec_dtd_window_size;
    threshold_ = parsec_dtd_threshold_size;
    parsec_dtd_window_size = parsec_dtd_threshold_size = kNoWindow;
    return true;
  }
  void let_go() {
    parsec_dtd_window_size = window_;
    parsec_dtd_threshold_size = threshold_;
    check(parsec_context_start(context_), "parsec_context_start");
  }

  void submit(const Graph& graph, EmptyBody) {
    find_tiles();
    overhead::for_each_task(
        graph, [this](std::uint64_t, const auto& data) { submit_one(data, empty_[data.size()]); });
  }
  void submit(const Graph& graph, WorkBody body) {
    work = body.work;
    find_tiles();
    overhead::for_each_task(graph, [this](std::uint64_t index, const auto& data) {
      submit_one(data, checked_[data.size()], kAsDeclared, &index);  // copied
    });
  }
  void wait() {
    if (!tiles_.empty()) parsec_dtd_data_flush_all(pool_, &collection_);
    tiles_.clear();
    check(parsec_taskpool_wait(pool_), "parsec_taskpool_wait");
  }

 private:
  static constexpr std::size_t kBytes = 64;
  static constexpr int kNoWindow = 1 << 30;  // windows are doubled while they are smaller
  static constexpr int kAsDeclared = PARSEC_DTD_EMPTY_FLAG;  // an access as its class says

  static void check(int code, const char* what) {
    if (code < 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(code));
  }

  // Parameters are pairs of a size and a mode; `first` is none or one.
  parsec_task_class_t* task_class(const char* name, std::vector<int> first, std::size_t operands,
                                  parsec_dtd_funcptr_t* kernel) {
    std::vector<int> all = std::move(first);
    for (std::size_t i = 0; i < operands; ++i) {
      all.push_back(PASSED_BY_REF);
      all.push_back(i + 1 < operands ? PARSEC_INPUT : PARSEC_INOUT);
    }
    all.resize(9, PARSEC_DTD_ARG_END);  // what follows the first one is not read
    parsec_task_class_t* const created = parsec_dtd_create_task_class(
        pool_, name, all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8]);
    if (created == nullptr) throw std::runtime_error("parsec_dtd_create_task_class failed");
    check(parsec_dtd_task_class_add_chore(pool_, created, PARSEC_DEV_CPU,
                                          reinterpret_cast<void*>(kernel)),
          "parsec_dtd_task_class_add_chore");
    return created;
  }

  // Of the wait before, none is left.
  void find_tiles() {
    for (std::uint32_t i = 0; i < collection_.data.size(); ++i) {
      tiles_.push_back(parsec_dtd_tile_of(&collection_, i));
    }
  }

  template <std::size_t N, typename... Parameters>
  void submit_one(const Data<N>& data, parsec_task_class_t* task_class, Parameters... first) {
    const auto insert = [&](auto... accesses) {
      parsec_dtd_insert_task_with_task_class(pool_, task_class, 0, PARSEC_DEV_CPU, first...,
                                             accesses..., PARSEC_DTD_ARG_END);
    };
    if constexpr (N == 0) {
      insert();
    } else if constexpr (N == 1) {
      insert(kAsDeclared, tiles_[data[0]]);
    } else if constexpr (N == 2) {
      insert(kAsDeclared, tiles_[data[0]], kAsDeclared, tiles_[data[1]]);
    } else {
      insert(kAsDeclared, tiles_[data[0]], kAsDeclared, tiles_[data[1]], kAsDeclared,
             tiles_[data[2]]);
    }
  }

  void forget() {
    if (pool_ == nullptr) return;
    parsec_context_wait(context_);
    for (std::size_t n = 0; n <= 3; ++n) {
      parsec_dtd_task_class_release(pool_, empty_[n]);
      parsec_dtd_task_class_release(pool_, checked_[n]);
    }
    parsec_taskpool_free(pool_);
    pool_ = nullptr;
    parsec_dtd_data_collection_fini(&collection_);
    for (parsec_data_t* const data : collection_.data) parsec_data_destroy(data);
    parsec_data_collection_destroy(&collection_);
  }

  parsec_context_t* context_ = nullptr;
  parsec_taskpool_t* pool_ = nullptr;
  std::array<parsec_task_class_t*, 4> empty_{};  // by number of operands
  std::array<parsec_task_class_t*, 4> checked_{};
  Collection collection_{};
  std::vector<char> content_;
  std::vector<parsec_dtd_tile_t*> tiles_;  // from a submission to the wait for it
  int window_ = 0;
  int threshold_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  return overhead::peer_main(count, arguments, [](overhead::Request request) {
    if (!request.wants(0)) return;
    request.tasks = std::max<std::uint64_t>(1, request.tasks / 5);
    [[maybe_unused]] const Mpi mpi{};
    ParsecDtd library(request.workers);
    overhead::print_samples(library, request);
  });
}
