// For who writes a policy: the contract, and what the library's own policies have in common. docs/write-a-policy.md
// shows one.
//
//   std::unique_ptr<vicinal::sched::Policy> make_nearest(const vicinal::sched::Settings&) {
//     return std::make_unique<Nearest>();
//   }
//   ...
//   vicinal::sched::register_policy({"nearest", "fewest missing bytes first", make_nearest});
//   vicinal::Runtime runtime({.policy = "nearest"});
//
// What these headers declare may change with each minor version, unlike the rest of the public interface.
#pragma once

#include "sched/decisions.hpp"
#include "sched/entry_queue.hpp"
#include "sched/future_uses.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"
#include "sched/records.hpp"
#include "sched/settings.hpp"
#include "vicinal/extension.hpp"
