// What a codelet's placing function is told, and what becomes of its answer.
#include <exception>
#include <string>

#include "engine/lifecycle.hpp"
#include "engine/opener.hpp"
#include "engine/submissions.hpp"
#include "graph/dependencies.hpp"
#include "vicinal/error.hpp"
#include "vicinal/placement.hpp"

namespace vicinal::engine {

namespace {

std::string function_of(const graph::Task& task) {
  return "submit: the function place of codelet " + task.codelet->name;
}

// The error says which task and whose function it was.
Place call(const graph::Task& task, const Placement& placement) {
  try {
    return task.codelet->place(placement);
  } catch (const std::exception& error) {
    std::throw_with_nested(UsageError(function_of(task) + " threw, asked about task " +
                                      std::string(task.name()) + ": " + error.what()));
  } catch (...) {
    std::throw_with_nested(
        UsageError(function_of(task) + " threw, asked about task " + std::string(task.name())));
  }
}

void require_below(std::uint32_t number, std::size_t count, const char* what,
                   const graph::Task& task) {
  if (number < count) return;
  throw UsageError(function_of(task) + " places task " + std::string(task.name()) + " on " + what +
                   " " + std::to_string(number) + "; the machine has " + std::to_string(count) +
                   ", from 0 on");
}

}  // namespace

[[gnu::noinline]] void Submissions::ask_place(graph::Task& task, const TaskSpec& spec) const {
  if (!spec.codelet->place || spec.node || spec.worker) return;
  const MachineDescription& machine = engine_.machine();
  const Place place = call(task, internals::Opener::placement(spec, machine));
  if (place.node()) require_below(place.node()->value, machine.nodes.size(), "memory node", task);
  if (place.worker()) require_below(place.worker()->value, machine.workers.size(), "worker", task);
  if (!place.node() && !place.worker()) return;
  if (!task.extension) task.extension = std::make_unique<graph::TaskExtension>();
  task.extension->node = place.node();
  task.extension->worker = place.worker();
}

}  // namespace vicinal::engine

namespace vicinal {

std::string Placement::task() const {
  return spec_.name.empty() ? spec_.codelet->name : spec_.name;
}

const Operand& Placement::at(std::size_t operand) const {
  if (operand < operands()) return spec_.operands.span()[operand];
  throw UsageError("there is no operand " + std::to_string(operand) + "; the task has " +
                   std::to_string(operands()));
}

std::string Placement::name(std::size_t operand) const {
  return graph::name_of(*at(operand).handle.impl());
}

const Layout& Placement::layout(std::size_t operand) const {
  return at(operand).handle.impl()->layout;
}

std::optional<NodeId> Placement::advised(std::size_t operand) const {
  return at(operand).handle.impl()->preferred();
}

const std::byte* Placement::parameter_bytes(std::size_t wanted) const {
  if (spec_.parameters.size() == wanted) return spec_.parameters.data();
  throw UsageError("the task was given a parameter of " + std::to_string(spec_.parameters.size()) +
                   " bytes, the function asks for " + std::to_string(wanted));
}

}  // namespace vicinal
