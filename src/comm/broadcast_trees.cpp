#include "comm/broadcast_trees.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>

#include "vicinal/error.hpp"

namespace vicinal::comm {

namespace {

constexpr std::array<std::pair<std::string_view, TreeShape>, 6> kNames{
    {{"off", TreeShape::flat},
     {"flat", TreeShape::flat},
     {"chain", TreeShape::chain},
     {"binary", TreeShape::binary},
     {"binomial", TreeShape::binomial},
     {"delegated", TreeShape::delegated}}};
constexpr std::string_view kAry = "-ary";
constexpr std::uint64_t kMostArity = 1024;

std::vector<Branch> parts(std::size_t recipients, std::size_t most) {
  std::vector<Branch> all;
  const std::size_t number = std::min(std::max<std::size_t>(most, 1), recipients);
  std::size_t at = 0;
  for (std::size_t i = 0; i < number; ++i) {
    const std::size_t length = recipients / number + (i < recipients % number ? 1 : 0);
    all.push_back({at, length - 1});
    at += length;
  }
  return all;
}

// The thesis's: participant 0 sends at step s to participant 2^(h-1-s), of h steps; recipient i of the list is participant
// i + 1.
std::vector<Branch> halves(std::size_t recipients) {
  std::vector<Branch> all;
  std::size_t end = recipients + 1;
  for (std::size_t first = std::bit_ceil(end) / 2; first > 0; first /= 2) {
    if (first >= end) continue;
    all.push_back({first - 1, end - first - 1});
    end = first;
  }
  return all;
}

}  // namespace

std::optional<Tree> tree_of_option(std::string_view text, std::string_view option) {
  if (text == "auto") return std::nullopt;
  for (const auto& [name, shape] : kNames) {
    if (name == text) return Tree{.shape = shape};
  }
  if (text.ends_with(kAry)) {
    std::uint64_t arity = 0;
    const char* const end = text.data() + text.size() - kAry.size();
    const auto [at, error] = std::from_chars(text.data(), end, arity);
    if (error == std::errc() && at == end && arity >= 1 && arity <= kMostArity)
      return Tree{.shape = TreeShape::k_ary, .arity = static_cast<std::uint16_t>(arity)};
  }
  throw UsageError("option " + std::string(option) + ": \"" + std::string(text) +
                   "\" is none of auto, off, flat, chain, binary, binomial, delegated and 4-ary "
                   "(any number from 1 to 1024)");
}

std::vector<Branch> branches(const Tree& tree, std::size_t recipients) {
  switch (tree.shape) {
    case TreeShape::flat:
      return parts(recipients, recipients);
    case TreeShape::chain:
    case TreeShape::delegated:
      return parts(recipients, 1);
    case TreeShape::binary:
      return parts(recipients, 2);
    case TreeShape::k_ary:
      return parts(recipients, tree.arity);
    case TreeShape::binomial:
      return halves(recipients);
  }
  return {};
}

Tree below(const Tree& tree) {
  return tree.shape == TreeShape::delegated ? Tree{.shape = TreeShape::binomial} : tree;
}

namespace {

// Calls visit(place, place of who serves it or none, its turn there from 0, how many that one serves), parents first.
template <typename Visit>
void visit_places(const Tree& tree, std::size_t recipients, const Visit& visit) {
  struct List {
    Tree tree;
    std::size_t first;
    std::size_t count;
    std::optional<std::size_t> from;
  };
  std::vector<List> lists{{tree, 0, recipients, std::nullopt}};
  while (!lists.empty()) {
    const List list = lists.back();
    lists.pop_back();
    const std::vector<Branch> served = branches(list.tree, list.count);
    for (std::size_t turn = 0; turn < served.size(); ++turn) {
      const std::size_t place = list.first + served[turn].head;
      visit(place, list.from, turn, served.size());
      if (served[turn].count > 0)
        lists.push_back({below(list.tree), place + 1, served[turn].count, place});
    }
  }
}

}  // namespace

std::vector<std::size_t> reception_steps(const Tree& tree, std::size_t recipients) {
  std::vector<std::size_t> steps(recipients);
  visit_places(tree, recipients,
               [&](std::size_t place, std::optional<std::size_t> from, std::size_t turn,
                   std::size_t) { steps[place] = (from ? steps[*from] : 0) + turn + 1; });
  return steps;
}

std::vector<std::size_t> places_by_priority(std::span<const Time> arrivals,
                                            std::span<const int> priorities) {
  std::vector<std::size_t> places(priorities.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::vector<std::size_t> recipients = places;
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return arrivals[place]; });
  std::ranges::stable_sort(recipients, std::greater<>{},
                           [&](std::size_t recipient) { return priorities[recipient]; });
  std::vector<std::size_t> at(priorities.size());
  for (std::size_t i = 0; i < places.size(); ++i) at[places[i]] = recipients[i];
  return at;
}

// The first that a rank serves gets its last segment when the rank has sent that on; the others follow, one whole content behind
// the other.
std::vector<Time> arrivals(const Route& route, std::size_t recipients, Bytes bytes,
                           const LinkCost& link) {
  const std::uint64_t segment = std::max<std::uint64_t>(route.segment, 1);
  const std::uint64_t segments = std::max<std::uint64_t>((bytes.value + segment - 1) / segment, 1);
  const auto nanoseconds = [&](std::uint64_t size, std::uint64_t messages) {
    return static_cast<double>(messages) * static_cast<double>(link.overhead.ns) +
           static_cast<double>(size) / link.bytes_per_second * 1e9;
  };
  const double one = nanoseconds(std::min(segment, bytes.value), 1);
  const double all = nanoseconds(bytes.value, segments);
  const auto latency = static_cast<double>(link.latency.ns);
  std::vector<double> comes(recipients);
  visit_places(
      route.tree, recipients,
      [&](std::size_t place, std::optional<std::size_t> from, std::size_t turn, std::size_t) {
        const double first = from ? comes[*from] + one : all;
        comes[place] = first + static_cast<double>(turn) * all + latency;
      });
  std::vector<Time> times;
  times.reserve(recipients);
  for (const double time : comes) times.push_back({static_cast<std::int64_t>(time)});
  return times;
}

Time time_to_last(const Route& route, std::size_t recipients, Bytes bytes, const LinkCost& link) {
  return std::ranges::max(arrivals(route, recipients, bytes, link));
}

Route route_along(const Tree& tree, std::size_t recipients, Bytes bytes, const LinkCost& link) {
  // Where a rank serves several, more segments bring the last recipient nothing but the others, and it, too, once they are served in
  // another order than is assumed. So their mean counts as well.
  const auto last_and_mean = [&](const Route& route) {
    const std::vector<Time> at = arrivals(route, recipients, bytes, link);
    const Time all = std::accumulate(at.begin(), at.end(), Time{});
    return std::ranges::max(at) + Time{all.ns / static_cast<std::int64_t>(at.size())};
  };
  Route best{tree, std::max<std::uint64_t>(bytes.value, 1)};
  const bool forwards = std::ranges::any_of(branches(tree, recipients),
                                            [](const Branch& one) { return one.count > 0; });
  if (!forwards) return best;
  Time least = last_and_mean(best);
  for (std::uint64_t number = 2; number <= kMostSegments; number *= 2) {
    const std::uint64_t segment = (bytes.value + number - 1) / number;
    if (segment < kLeastSegment) break;
    const Route route{tree, segment};
    const Time time = last_and_mean(route);
    if (time >= least) continue;
    least = time;
    best = route;
  }
  return best;
}

Route choose_route(std::size_t recipients, Bytes bytes, const LinkCost& link) {
  Route best = route_along({}, recipients, bytes, link);
  Time least = time_to_last(best, recipients, bytes, link);
  for (const TreeShape shape : {TreeShape::binomial, TreeShape::binary, TreeShape::chain}) {
    const Route route = route_along({.shape = shape}, recipients, bytes, link);
    const Time time = time_to_last(route, recipients, bytes, link);
    if (time >= least) continue;
    least = time;
    best = route;
  }
  return best;
}

}  // namespace vicinal::comm
