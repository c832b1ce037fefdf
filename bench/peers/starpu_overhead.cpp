// Overhead per task of StarPU with its policy lws. Started by bench/overhead.cpp.
//
// Its workers are threads beside the one that submits. A fifth of the tasks: pending ones take some
// 2 kB each.
#include <algorithm>
#include <starpu.h>
#include <stdexcept>
#include <vector>

#include "overhead/samples.hpp"

namespace {

using overhead::Data;
using overhead::EmptyBody;
using overhead::Graph;
using overhead::WorkBody;

void run_empty(void**, void*) {}

overhead::Work* work = nullptr;  // of the kernels of WorkBody
void run_checked(void**, void* index) {
  work->run(reinterpret_cast<std::uintptr_t>(index));
}

class StarPu : public overhead::LibraryDefaults {
 public:
  static constexpr bool kInferred = true;

  explicit StarPu(std::uint32_t workers) {
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = static_cast<int>(workers);
    conf.ncuda = 0;
    conf.nopencl = 0;
    conf.sched_policy_name = "lws";
    setenv("STARPU_SILENT", "1", 0);
    if (starpu_init(&conf) != 0) throw std::runtime_error("starpu_init failed");
    for (std::size_t n = 0; n <= 3; ++n) {
      empty_[n] = codelet(run_empty, n);
      checked_[n] = codelet(run_checked, n);
    }
  }
  ~StarPu() {
    forget_data();
    starpu_shutdown();
  }
  StarPu(const StarPu&) = delete;
  StarPu& operator=(const StarPu&) = delete;

  std::string name() const { return "StarPU lws"; }

  void prepare(const Graph& graph) {
    forget_data();
    content_.assign(graph.data() * kBytes, 0);
    for (std::uint32_t i = 0; i < graph.data(); ++i) {
      handles_.emplace_back();
      starpu_vector_data_register(&handles_.back(), STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(&content_[i * kBytes]), kBytes,
                                  1);
    }
  }
  bool hold() {
    starpu_pause();
    return true;
  }
  void let_go() { starpu_resume(); }

  void submit(const Graph& graph, EmptyBody) {
    overhead::for_each_task(graph, [this](std::uint64_t, const auto& data) {
      submit_one(data, empty_[data.size()], nullptr);
    });
  }
  void submit(const Graph& graph, WorkBody body) {
    work = body.work;
    overhead::for_each_task(graph, [this](std::uint64_t index, const auto& data) {
      submit_one(data, checked_[data.size()], reinterpret_cast<void*>(index));
    });
  }
  void wait() { starpu_task_wait_for_all(); }

 private:
  static constexpr std::size_t kBytes = 64;

  static starpu_codelet codelet(starpu_cpu_func_t kernel, std::size_t operands) {
    starpu_codelet codelet;
    starpu_codelet_init(&codelet);
    codelet.cpu_funcs[0] = kernel;
    codelet.nbuffers = static_cast<int>(operands);
    for (std::size_t i = 0; i < operands; ++i) {
      codelet.modes[i] = i + 1 < operands ? STARPU_R : STARPU_RW;
    }
    return codelet;
  }

  template <std::size_t N>
  void submit_one(const Data<N>& data, starpu_codelet& codelet, void* argument) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = argument;
    for (std::size_t i = 0; i < N; ++i) task->handles[i] = handles_[data[i]];
    if (starpu_task_submit(task) != 0) throw std::runtime_error("starpu_task_submit failed");
  }

  void forget_data() {
    for (starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
    handles_.clear();
  }

  starpu_codelet empty_[4];
  starpu_codelet checked_[4];
  std::vector<char> content_;
  std::vector<starpu_data_handle_t> handles_;
};

}  // namespace

int main(int count, char** arguments) {
  return overhead::peer_main(count, arguments, [](overhead::Request request) {
    if (!request.wants(0)) return;
    request.tasks = std::max<std::uint64_t>(1, request.tasks / 5);
    StarPu library(request.workers);
    overhead::print_samples(library, request);
  });
}
