// Packages of tasks for several devices, made equally long.
//
// mHFP (Gonthier, Marchal, Thibault, IPDPS 2022; MULTIGPU 2 to 7 of its authors' program): while packages differ,
// the last tasks of the longest go to the end of the shortest, up to the average. What "up to" means is left open.
// Here a task moves while the longest is above the average, the shortest below it, and the shortest with the
// task stays below what the longest was with it. The tasks of such a series keep their order. A series is kept if
// it makes the longer of the two shorter; else it is undone, and balancing ends. Ties: the first of the packages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "sched/orders/task_inputs.hpp"

namespace vicinal::sched::orders {

// How long each task of a package takes, if the package runs in this order; a package is as long as their sum.
using Steps = base::FunctionRef<std::vector<std::int64_t>(std::span<const Number>)>;

// Steps are asked for two packages per series of moves.
void balance(std::vector<Order>& packages, const Steps& steps);

// By count of tasks (MULTIGPU 2), and by their durations, one per task (MULTIGPU 4).
void balance_counts(std::vector<Order>& packages);
void balance_durations(std::vector<Order>& packages, std::span<const Time> durations);

// A device with memory of its own, as balancing by simulated time sees it (MULTIGPU 6, which is recommended).
struct SimulatedDevice {
  Bytes memory;
  BytesPerSecond bandwidth;  // 0: unlimited
};
void balance_simulated(std::vector<Order>& packages, const TaskInputs& inputs,
                       std::span<const Time> durations, const SimulatedDevice& device);

// One step per task: the run time of the task before, or the copies of the task's missing inputs if these take longer,
// for both overlap; the last step also holds the last task. Victims are the least recently used, none of them an input
// of the task itself; inputs that do not fit even alone are held until the task has run. `durations`: one per task of
// `inputs`.
std::vector<std::int64_t> simulated_steps(std::span<const Number> order, const TaskInputs& inputs,
                                          std::span<const Time> durations,
                                          const SimulatedDevice& device);
// Bytes that the order loads into this memory, under the same rules.
Bytes loaded_bytes(std::span<const Number> order, const TaskInputs& inputs, Bytes memory);

}  // namespace vicinal::sched::orders
