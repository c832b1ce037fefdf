#if VICINAL_HAVE_BLAS

#include "dense_job.hpp"

#include <utility>
#include <vector>

#include "applications.hpp"
#include "linalg/kernel_times.hpp"
#include "linalg/tile_kernels.hpp"

namespace vicinal::cli {

namespace {

class DenseJob : public Job {
 public:
  DenseJob(std::unique_ptr<linalg::Application> application, linalg::RunRequest request)
      : application_(std::move(application)),
        request_(std::move(request)),
        kernel_seconds_(application_->kernels.size()) {}

  MemoryNeed memory_need(const Ranks& ranks) const override {
    return cli::memory_need(request_, ranks);
  }
  reports::Facts parameters() const override { return cli::parameters(request_); }
  reports::Facts kernels() const override { return {{"blas", linalg::kernels_description()}}; }
  bool has_tiles() const override { return true; }
  std::string distribution() const override { return request_.places.distribution->name(); }
  void measure() override { kernel_seconds_ = linalg::measure_kernels(*application_); }
  JobOutcome run(Runtime& runtime, const linalg::PhaseObserver& observer) override {
    return {linalg::run(runtime, request_, observer), application_->flops};
  }
  // Kernels are timed on a core: of a run in which other processors take part no bound on time is known.
  reports::RunBounds bounds(const MachineDescription& machine, bool on_cores,
                            const JobOutcome& outcome) const override {
    const std::vector<double> unknown(kernel_seconds_.size());
    return application_->bounds(machine, on_cores ? kernel_seconds_ : unknown, outcome.run.before);
  }

 private:
  std::unique_ptr<linalg::Application> application_;
  linalg::RunRequest request_;
  std::vector<double> kernel_seconds_;  // of one task each; 0: not known
};

}  // namespace

std::unique_ptr<Job> dense_job(std::unique_ptr<linalg::Application> application,
                               linalg::RunRequest request) {
  return std::make_unique<DenseJob>(std::move(application), std::move(request));
}

}  // namespace vicinal::cli

#endif
