// A policy that plans; see docs/write-a-policy.md.
#pragma once

#include <memory>
#include <vicinal/policy.hpp>

std::unique_ptr<vicinal::sched::Policy> make_in_order(const vicinal::sched::Settings& settings);

inline constexpr vicinal::sched::PolicyEntry kInOrder{
    "in_order", "in the order of submission; evicts what its tasks use last", make_in_order};
