// What the head of a recording says of the run, as JSON:
//
//   {"command": "./mine 3", "application": "", "version": "0.1.0", "policy": "darts", "simulated": true,
//    "options": {"look_ahead": "2"},
//    "machine": {"nodes": [{"name": "ram", "kind": "ram", "limit": null}],
//                "workers": [{"kind": "cpu", "node": 0}],
//                "links": [{"from": 0, "to": 1, "bandwidth": 1.2e10, "latency_ns": 5000, "segments": [0]}]}}
//
// Each may be missing.
#pragma once

#include <string>
#include <string_view>

#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

// Throws UsageError that names the file: something is there and is not as it should be.
RunFacts read_facts(std::string_view json, const std::string& path);

// One told while it ran: its name, a line feed, what is known.
void tell(RunFacts& facts, std::string_view text);

}  // namespace vicinal::analysis
