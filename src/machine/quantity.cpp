#include "machine/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

struct Unit {
  std::string_view name;  // as written; compared without case
  double factor;
};

constexpr std::array kBandwidths{
    Unit{"B/s", 1},
    Unit{"kB/s", 1e3},
    Unit{"MB/s", 1e6},
    Unit{"GB/s", 1e9},
    Unit{"TB/s", 1e12},
    Unit{"KiB/s", 1024.0},
    Unit{"MiB/s", 1024.0 * 1024},
    Unit{"GiB/s", 1024.0 * 1024 * 1024},
};
constexpr std::array kFlopRates{
    Unit{"Flop/s", 1},    Unit{"kFlop/s", 1e3},  Unit{"MFlop/s", 1e6},
    Unit{"GFlop/s", 1e9}, Unit{"TFlop/s", 1e12}, Unit{"PFlop/s", 1e15},
};
constexpr std::array kTimes{
    Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}, Unit{"min", 60},
};

// Not std::tolower: it depends on the locale.
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string names(std::span<const Unit> units) {
  std::string list;
  for (const auto& unit : units) {
    if (!list.empty()) list += ", ";
    list += unit.name;
  }
  return list;
}

double parse(std::string_view text, std::span<const Unit> units, std::string_view example) {
  const std::string_view trimmed = trim(text);
  double number = 0;
  const auto* const end = trimmed.data() + trimmed.size();
  const auto [stop, error] = std::from_chars(trimmed.data(), end, number);
  const std::string_view rest =
      trim(trimmed.substr(static_cast<std::size_t>(stop - trimmed.data())));
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const Unit& known) { return same(known.name, rest); });
  if (error != std::errc{} || !std::isfinite(number) || unit == units.end()) {
    throw UsageError(
        fmt::format("\"{}\" is not accepted: write a number and one of {}, as in \"{}\"", text,
                    names(units), example));
  }
  return number * unit->factor;
}

}  // namespace

BytesPerSecond parse_bandwidth(std::string_view text) {
  base::refuse_bits(text);
  return {parse(text, kBandwidths, "12 GB/s")};
}

double parse_flop_rate(std::string_view text) {
  return parse(text, kFlopRates, "500 GFlop/s");
}

double parse_seconds(std::string_view text) {
  return parse(text, kTimes, "10 us");
}

}  // namespace vicinal::machine
