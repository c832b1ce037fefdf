// How far a program has come, on its terminal: a line on the standard error with a bar, as long as the object lives.
//
//   const auto progress = runtime.progress({.label = "assembly", .tasks = 4096});
//   ...
//   runtime.wait();
//
//   assembly: [###############...............]  50 %  2048/4096 tasks  3.2 s, 640/s, 3.2 s left
//
// It costs a look at the runtime's statistics ten times a second, in a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace vicinal {

namespace internals {
class ProgressLine;
class RuntimeImpl;
}  // namespace internals

// What the line says.
struct ProgressOptions {
  std::string label = {};   // comes first on the line
  std::uint64_t tasks = 0;  // the number expected in all; 0: as many as have been submitted
  // Also where the standard error is no terminal that can show it: a line every ten seconds, and one at the end. Otherwise
  // nothing is written there.
  bool always = false;
};

// A line on the terminal; the end of this object clears it. A Progress that outlives its Runtime keeps the runtime's
// state, and so the runtime's threads.
class Progress {
 public:
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;
  ~Progress();
  // A part of the run begins, of so many tasks (0: those that have been submitted and not ended); what ended before does
  // not count. `name` stands behind the label.
  void phase(std::string_view name, std::uint64_t tasks = 0);

 private:
  friend class Runtime;
  explicit Progress(std::unique_ptr<internals::ProgressLine> line);
  std::unique_ptr<internals::ProgressLine> line_;
};

}  // namespace vicinal
