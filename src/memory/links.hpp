// The links of a machine: which way content takes, and which copies wait for a link or are in flight on it.
//
// Each link has a lock of its own, a leaf. A copy (Fetch) belongs to the node that it goes to; what is in the
// queues here changes under the link's lock as well, so that a copy either starts or is taken back.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"
#include "memory/request.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::memory {

struct Source {
  NodeId node;
  std::uint32_t link = 0;  // from there
};

class Links {
 public:
  // `fastest_first`: see Rules::peer.
  explicit Links(const MachineDescription& machine, bool fastest_first = false);

  // The best of the nodes, a bit each, with a link to the node: memory before disk, RAM, then a peer, then the
  // disk, the first among equals; or the one with the fastest link. nullptr: no link from any of them.
  const Source* best(std::uint64_t nodes, NodeId to) const;
  // All nodes with a link to it, the best first.
  std::span<const Source> sources(NodeId to) const { return sources_[to.value]; }
  // nullptr: no link joins them.
  const Source* between(NodeId from, NodeId to) const;
  // Numbers of the links to the node.
  std::span<const std::uint32_t> into(NodeId node) const { return into_[node.value]; }

  // The copy waits for its link: behind those that a task waits for, too, or behind prefetches alone.
  void queue(Fetch& fetch);
  // A task waits for it now. It may have started.
  void hurry(Fetch& fetch);
  // Takes it back. False: it has started.
  bool take_back(Fetch& fetch);
  // The next one that may start, marked as started; nullptr: none. `more`: there is another.
  struct Started {
    Fetch* fetch = nullptr;
    bool more = false;
    bool urgent = false;  // as it started
  };
  Started start_next(std::uint32_t link);
  // One that had started has ended; `copied`: so much has arrived, none if it failed.
  void end(std::uint32_t link, std::optional<Bytes> copied);

  // The prefetches that wait for it.
  base::SureVector<Fetch*> prefetches(std::uint32_t link) const;
  // --- without the lock
  bool any_prefetches(std::uint32_t link) const {
    return links_[link].prefetches_waiting.load(std::memory_order_relaxed) > 0;
  }
  // Copies that wait or are in flight.
  std::size_t load(std::uint32_t link) const {
    return links_[link].load.load(std::memory_order_relaxed);
  }
  bool is_idle(std::uint32_t link) const { return load(link) == 0; }

  // Of each link, and what each node got and gave by them.
  void statistics(Statistics& into) const;
  std::string describe(const MachineDescription& machine) const;

 private:
  struct Link {
    NodeId from;
    NodeId to;
    std::uint32_t most_in_flight = 1;
    mutable base::SpinLock lock;  // guards what follows
    std::uint32_t in_flight = 0;
    base::SureDeque<Fetch*> urgent;
    base::SureDeque<Fetch*> prefetches;
    Bytes bytes;
    std::uint64_t copies = 0;
    // The same for who asks without the lock.
    std::atomic<std::uint32_t> load{0};     // copies that wait or are in flight
    std::atomic<std::uint32_t> waiting{0};  // one number for both: who is hurried never lacks in it
    std::atomic<std::uint32_t> prefetches_waiting{0};
    bool any_waits() const { return waiting.load(std::memory_order_relaxed) != 0; }
    static void count(std::atomic<std::uint32_t>& number, std::uint32_t change) {
      number.store(number.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    }
    // From among the prefetches. False: it has started.
    bool take_prefetch(Fetch& fetch);
  };

  std::vector<Link> links_;
  std::vector<std::vector<std::uint32_t>> into_;  // by destination
  std::vector<std::vector<Source>> sources_;      // by destination: the best first
};

}  // namespace vicinal::memory
