#include "memory/links.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "base/warm.hpp"
#include "memory/replica.hpp"

namespace vicinal::memory {

Links::Links(const MachineDescription& machine, bool fastest_first)
    : links_(machine.links.size()), into_(machine.nodes.size()), sources_(machine.nodes.size()) {
  const auto rank = [&](const Source& source) {
    const NodeKind kind = machine.nodes[source.node.value].kind;
    return kind == NodeKind::ram ? 0 : kind == NodeKind::device ? 1 : 2;
  };
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    const LinkDescription& description = machine.links[l];
    Link& link = links_[l];
    link.from = description.from;
    link.to = description.to;
    link.most_in_flight = description.copies_in_flight;
    into_[link.to.value].push_back(l);
    if (link.from == link.to) continue;
    // The last link between two nodes is the one that is used.
    std::vector<Source>& sources = sources_[link.to.value];
    const auto same = std::ranges::find(sources, link.from, &Source::node);
    if (same != sources.end()) {
      same->link = l;
    } else {
      sources.push_back({link.from, l});
    }
  }
  for (std::vector<Source>& sources : sources_) {
    std::ranges::sort(sources, {}, [&](const Source& source) {
      const double rate = fastest_first ? machine.links[source.link].bandwidth.value : 0;
      return std::tuple(-rate, rank(source), source.node.value);
    });
  }
}

const Source* Links::best(std::uint64_t nodes, NodeId to) const {
  for (const Source& source : sources_[to.value]) {
    if ((nodes & bit(source.node)) != 0) return &source;
  }
  return nullptr;
}

const Source* Links::between(NodeId from, NodeId to) const {
  const auto& sources = sources_[to.value];
  const auto found = std::ranges::find(sources, from, &Source::node);
  return found != sources.end() ? &*found : nullptr;
}

bool Links::Link::take_prefetch(Fetch& fetch) {
  const auto at = std::ranges::find(prefetches, &fetch);
  if (at == prefetches.end()) return false;
  prefetches.erase(at);
  count(prefetches_waiting, -1U);
  return true;
}

void Links::queue(Fetch& fetch) {
  Link& link = links_[fetch.link];
  const std::lock_guard lock(link.lock);
  (fetch.urgent ? link.urgent : link.prefetches).push_back(&fetch);
  if (!fetch.urgent) Link::count(link.prefetches_waiting, 1);
  Link::count(link.waiting, 1);
  Link::count(link.load, 1);
}

void Links::hurry(Fetch& fetch) {
  Link& link = links_[fetch.link];
  const std::lock_guard lock(link.lock);
  fetch.urgent = true;
  if (link.take_prefetch(fetch)) link.urgent.push_back(&fetch);
}

bool Links::take_back(Fetch& fetch) {
  Link& link = links_[fetch.link];
  const std::lock_guard lock(link.lock);
  if (!link.take_prefetch(fetch)) return false;
  Link::count(link.waiting, -1U);
  Link::count(link.load, -1U);
  return true;
}

Links::Started Links::start_next(std::uint32_t number) {
  Link& link = links_[number];
  if (!link.any_waits()) return {};  // who puts one there looks himself
  const std::lock_guard lock(link.lock);
  if (link.in_flight == link.most_in_flight || !link.any_waits()) return {};
  const bool urgent = !link.urgent.empty();
  auto& queue = urgent ? link.urgent : link.prefetches;
  if (!urgent) Link::count(link.prefetches_waiting, -1U);
  Link::count(link.waiting, -1U);
  Fetch& fetch = *queue.front();
  queue.pop_front();
  ++link.in_flight;
  fetch.started.store(true, std::memory_order_relaxed);
  if (!queue.empty()) {  // it is looked at next
    const Fetch& next = *queue.front();
    base::warm(&replica_of(*next.handle, next.from), sizeof(Replica));
    base::warm(&replica_of(*next.handle, next.to), sizeof(Replica));
  }
  return {&fetch, link.in_flight < link.most_in_flight && link.any_waits(), urgent};
}

void Links::end(std::uint32_t number, std::optional<Bytes> copied) {
  Link& link = links_[number];
  const std::lock_guard lock(link.lock);
  --link.in_flight;
  Link::count(link.load, -1U);
  if (!copied) return;
  link.bytes += *copied;
  ++link.copies;
}

base::SureVector<Fetch*> Links::prefetches(std::uint32_t number) const {
  const Link& link = links_[number];
  const std::lock_guard lock(link.lock);
  return {link.prefetches.begin(), link.prefetches.end()};
}

void Links::statistics(Statistics& into) const {
  into.links.clear();
  for (const Link& link : links_) {
    const std::lock_guard lock(link.lock);
    into.links.push_back({link.from, link.to, link.bytes, link.copies});
    into.nodes[link.from.value].bytes_out += link.bytes;
    into.nodes[link.to.value].bytes_in += link.bytes;
  }
}

std::string Links::describe(const MachineDescription& machine) const {
  std::string text;
  for (const Link& link : links_) {
    const std::lock_guard lock(link.lock);
    const std::size_t queued = link.urgent.size() + link.prefetches.size();
    if (link.in_flight + queued == 0) continue;
    text += "link " + machine.nodes[link.from.value].name + " -> " +
            machine.nodes[link.to.value].name + ": " + std::to_string(link.in_flight) +
            " copies in flight, " + std::to_string(queued) + " queued\n";
  }
  return text;
}

}  // namespace vicinal::memory
