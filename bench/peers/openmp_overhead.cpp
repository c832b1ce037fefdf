// Overhead per task of OpenMP tasks, ordered by `depend`. Started by bench/overhead.cpp.
//
// One thread of a team submits, all of them run tasks. The run-time library of GCC runs a new task at
// its creation when more than 64 ready ones per thread are pending: nothing can be deferred.
#include <vector>

#include "overhead/samples.hpp"
#include "peers/openmp_team.hpp"

namespace {

using overhead::Data;
using overhead::Graph;
using overhead::Shape;

class OpenMp : public overhead::LibraryDefaults {
 public:
  static constexpr bool kInferred = true;
  std::string name() const { return "OpenMP tasks"; }
  bool runs(Shape shape) const { return shape != Shape::pending; }
  void prepare(const Graph& graph) { data_.assign(graph.data() * kApart, 0); }
  bool hold() { return false; }

  template <typename Body>
  void submit(const Graph& graph, Body body) {
    overhead::for_each_task(
        graph, [&](std::uint64_t index, const auto& data) { submit_one(index, data, body); });
  }
  void wait() {
#pragma omp taskwait
  }

 private:
  static constexpr std::size_t kApart = 64;  // bytes between two data

  // In names of their own: a depend clause takes no member.
  template <typename Body>
  void submit_one(std::uint64_t index, const Data<0>&, Body body) {
#pragma omp task firstprivate(body, index)
    body(index);
  }
  template <typename Body>
  void submit_one(std::uint64_t index, const Data<1>& data, Body body) {
    char* const c = at(data[0]);
#pragma omp task depend(inout : c[0]) firstprivate(body, index)
    body(index);
  }
  template <typename Body>
  void submit_one(std::uint64_t index, const Data<2>& data, Body body) {
    char* const a = at(data[0]);
    char* const c = at(data[1]);
#pragma omp task depend(in : a[0]) depend(inout : c[0]) firstprivate(body, index)
    body(index);
  }
  template <typename Body>
  void submit_one(std::uint64_t index, const Data<3>& data, Body body) {
    char* const a = at(data[0]);
    char* const b = at(data[1]);
    char* const c = at(data[2]);
#pragma omp task depend(in : a[0], b[0]) depend(inout : c[0]) firstprivate(body, index)
    body(index);
  }
  char* at(std::uint32_t datum) {
    return data_.data() + datum * kApart;
  }

  std::vector<char> data_;
};

}  // namespace

int main(int count, char** arguments) {
  return overhead::peer_main(count, arguments, [](const overhead::Request& request) {
    if (!request.wants(0)) return;
    OpenMp library;
    on_one_of_a_team(request.workers, [&] { overhead::print_samples(library, request); });
  });
}
