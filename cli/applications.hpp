// The applications of `vicinal run`, behind one interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "linalg/timed_run.hpp"
#include "matrix_options.hpp"
#include "reports/report.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::cli {

// What a run asks of a limited memory, replicas padded as the runtime pads them.
struct MemoryNeed {
  Bytes task;            // the largest task
  std::string operands;  // of that task: "3 tiles of 512 x 512 doubles"
  Bytes all;             // all data
  std::uint64_t tasks = 0;
  bool has_home = false;  // what does not fit has a file to go to
};

class Application {
 public:
  Application() = default;
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  virtual ~Application() = default;

  virtual reports::Facts parameters() const = 0;
  virtual double flops() const = 0;
  virtual MemoryNeed memory() const = 0;
  // Times the kernels, for the bounds; some task lengths.
  virtual void measure() = 0;
  virtual linalg::RunOutcome run(Runtime& runtime, const linalg::PhaseObserver& observer) const = 0;
  // After measure(). `before`: when the timed part began.
  virtual reports::RunBounds bounds(const MachineDescription& machine,
                                    const Statistics& before) const = 0;
};

// The options that say what is run; the runtime's say how.
class ApplicationOptions {
 public:
  // This object must outlive the parse.
  explicit ApplicationOptions(CLI::App& command);
  ApplicationOptions(const ApplicationOptions&) = delete;
  ApplicationOptions& operator=(const ApplicationOptions&) = delete;

  const std::string& name() const { return shape_.application(); }
  const std::string& matrix() const { return matrix_; }
  const std::string& output() const { return output_; }
  // `seed` of what is generated. Throws UsageError that names the option, also one that the application does
  // not have.
  std::unique_ptr<Application> make(std::uint64_t seed) const;

 private:
  std::unique_ptr<Application> make_cholesky(std::uint64_t seed) const;
  std::unique_ptr<Application> make_dense(std::uint64_t seed) const;
  std::uint64_t inner() const;
  bool priorities() const;

  MatrixOptions shape_;
  std::string matrix_;
  std::string output_;
  std::string inner_;
  std::string priorities_ = "bottom-level";
  bool check_ = false;
};

}  // namespace vicinal::cli
