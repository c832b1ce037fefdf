// This process as one of the ranks that a launcher has started, and this machine.
#pragma once

#include <memory>
#include <string>

#include "calibration/interference/machine_facts.hpp"
#include "comm/transport.hpp"

namespace vicinal::interference {

struct ThisMachine {
  MachineFacts facts;
  std::unique_ptr<comm::Transport> transport;  // null: this process is alone
};

// `disk`: a folder, or empty. `mpi`: the option of the runtime. Throws UsageError.
ThisMachine open_this_machine(const std::string& disk, const std::string& mpi);

// Rank 0 measures; the others answer until rank 0 has ended.
bool leads(const ThisMachine& machine);
void answer(const ThisMachine& machine);

// At the end of the scope the other ranks have nothing to answer any more.
class EndOfAnswers {
 public:
  explicit EndOfAnswers(const ThisMachine& machine) : machine_(machine) {}
  ~EndOfAnswers();
  EndOfAnswers(const EndOfAnswers&) = delete;
  EndOfAnswers& operator=(const EndOfAnswers&) = delete;

 private:
  const ThisMachine& machine_;
};

}  // namespace vicinal::interference
