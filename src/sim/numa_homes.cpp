#include "sim/numa_homes.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::sim {

namespace {

std::optional<std::uint32_t> node_of(std::string_view option, std::string_view text,
                                     std::uint32_t nodes) {
  std::uint32_t node = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (nodes > 0 && node >= nodes) {
    throw UsageError(fmt::format("option {}: the machine has no NUMA node {}; they are 0 to {}",
                                 option, node, nodes - 1));
  }
  return node;
}

[[noreturn]] void refuse_numa(std::string_view option, std::string_view text,
                              std::string_view words) {
  throw UsageError(fmt::format("option {}: \"{}\" is none of {}, or the number of a NUMA node",
                               option, text, words));
}

}  // namespace

NumaRules numa_rules_of(std::string_view placement, std::string_view receive, std::uint32_t nodes) {
  NumaRules rules;
  if (placement == "spread") {
    rules.placement = NumaRules::Placement::spread;
  } else if (placement != "first") {
    const auto node = node_of("numa_placement", placement, nodes);
    if (!node) refuse_numa("numa_placement", placement, "first, spread");
    rules.placement = NumaRules::Placement::node;
    rules.node = *node;
  }
  if (receive == "auto") {
    rules.receive = NumaRules::Receive::chosen;
  } else if (receive == "spread") {
    rules.receive = NumaRules::Receive::spread;
  } else if (receive == "home") {
    rules.receive = NumaRules::Receive::home;
  } else {
    const auto node = node_of("receive_numa", receive, nodes);
    if (!node) refuse_numa("receive_numa", receive, "auto, home, spread");
    rules.receive_node = *node;
  }
  return rules;
}

std::uint32_t NumaHomes::home_of(std::uint64_t datum, std::uint32_t toucher) {
  const auto [home, is_new] = homes_.try_emplace(datum, 0);
  if (is_new) home->second = place(datum, toucher);
  return home->second;
}

std::uint32_t NumaHomes::receive(std::uint64_t datum) {
  switch (rules_.receive) {
    case NumaRules::Receive::home:
      return home_of(datum, 0);
    case NumaRules::Receive::spread:
      return homes_[datum] = static_cast<std::uint32_t>(receives_++ % nodes_);
    case NumaRules::Receive::chosen:
      return homes_[datum] = choice_ ? choice_() : 0;
    case NumaRules::Receive::node:
      break;
  }
  return homes_[datum] = rules_.receive_node;
}

std::uint32_t NumaHomes::place(std::uint64_t datum, std::uint32_t toucher) const {
  switch (rules_.placement) {
    case NumaRules::Placement::spread:
      return static_cast<std::uint32_t>(datum % nodes_);
    case NumaRules::Placement::node:
      return rules_.node;
    case NumaRules::Placement::first:
      break;
  }
  return toucher;
}

}  // namespace vicinal::sim
