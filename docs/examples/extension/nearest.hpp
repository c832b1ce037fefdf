// A policy of an application's own; see docs/write-a-policy.md.
#pragma once

#include <memory>
#include <vicinal/policy.hpp>

std::unique_ptr<vicinal::sched::Policy> make_nearest(const vicinal::sched::Settings& settings);

inline constexpr vicinal::sched::PolicyEntry kNearest{
    "nearest", "of the ready tasks the one that lacks the fewest bytes", make_nearest};
