#include "calibration/interference/session.hpp"

#include "calibration/interference/counters.hpp"
#include "calibration/interference/kernels.hpp"
#include "calibration/interference/transfers.hpp"
#include "comm/launch.hpp"
#include "drivers/cpu/binding.hpp"

namespace vicinal::interference {

ThisMachine open_this_machine(const std::string& disk, const std::string& mpi) {
  ThisMachine machine;
  machine.facts = read_machine("", drivers::allowed_processors());
  machine.facts.has_wide_vectors = has_wide_vectors();
  machine.facts.has_streaming_stores = has_streaming_stores();
  machine.facts.no_counters = Counters().why_not();
  machine.facts.has_disk = !disk.empty();
  const comm::Launch launch = comm::find_launch(mpi);
  if (launch.mpi != comm::Mpi::none) {
    machine.transport = comm::make_transport(launch);
    machine.facts.ranks = machine.transport->ranks();
    machine.facts.ranks_are_here = comm::ranks_on_this_host() > 1;
  }
  return machine;
}

bool leads(const ThisMachine& machine) {
  return !machine.transport || machine.transport->rank().value == 0;
}

void answer(const ThisMachine& machine) {
  drivers::bind_this_thread(place(machine.facts, 0, machine.facts.nodes - 1).answering);
  answer_messages(*machine.transport);
}

EndOfAnswers::~EndOfAnswers() {
  if (machine_.transport) end_answers(*machine_.transport);
}

}  // namespace vicinal::interference
