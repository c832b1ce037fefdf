// Rules of StarPU, XKaapi and PaRSEC for a full memory, each by itself: to compare with them, and to see which of them
// costs what. None by default. Option memory_rules; for accelerators, in simulation only, where nothing is lost.
//
// StarPU's were found from its results on the instances of bench/reference and from what is known of it; where
// they are not written down anywhere, that is said.
#pragma once

#include <string_view>

namespace vicinal::memory {

struct Rules {
  // "lru": who needs room takes the least recently used replica, whatever waits for it; but a prefetch
  // none that a task with the policy was promised. Each use has its own place in that order. (Ours lets go first what
  // no submitted task uses, and saves it early; under this rule neither is done.)
  bool lru = false;
  // "clean": before it one of the same size that is saved elsewhere; without such, twice the
  // size goes.
  bool clean = false;
  // "prefetch": copies that were requested when tasks became ready make room, two at a time, those of the
  // most urgent task first. (It then also waits, and does nothing else, until what it has evicted is
  // saved; ours does not.)
  bool prefetch = false;
  // "owner": what a ready task will write belongs to the node from then on: a prefetch makes all others
  // void, and an output gets its room at once, which no prefetch may ever take. Concluded from results.
  bool owner = false;
  // "hint": Runtime::wont_use takes effect when the writers before it have ended, and saves the content. (In place
  // of saving what no submitted task uses.)
  bool hint = false;
  // "pipeline": besides what its workers hold, a node pulls and fetches for one task at a time.
  bool pipeline = false;
  // "peer": a copy comes from where the link is fastest, another accelerator before RAM. (Ours takes RAM first.)
  bool peer = false;
  // "saved": XKaapi's and PaRSEC's. The least recently used replica that is saved elsewhere goes, whatever its size; only
  // without such one that is not, and who needs the room waits for its write-back, and with it all that come after.
  bool saved = false;
  // "unified": not StarPU's, but those of unified memory, whose pages the system moves when they are touched. An
  // accelerator takes one task at a time, when it has nothing to run, and nothing is copied to it before; what the
  // task lacks then comes by page faults, whose cost the machine says (MachineDescription::faults), before it
  // runs. Whole operands come and leave: a fault for each group of pages, an eviction for the least recently used.
  bool unified = false;

  bool any() const { return lru || prefetch || owner || hint || pipeline || peer || unified; }
};

// Names with commas; "starpu": all but "saved" and "unified"; "xkaapi": "saved". "clean", "prefetch", "owner", "saved"
// and "unified" say which victims there are, so they imply "lru". Throws UsageError that lists them.
Rules parse_rules(std::string_view text);

}  // namespace vicinal::memory
