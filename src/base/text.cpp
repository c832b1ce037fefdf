#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::base {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return lower(c); });
  return result;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// --- Bytes --------------------------------------------------------------------------------------

struct ByteUnit {
  std::string_view name;  // lower case
  std::uint64_t bytes;
};

constexpr std::array kByteUnits{
    ByteUnit{"", 1},
    ByteUnit{"b", 1},
    ByteUnit{"k", 1ULL << 10},
    ByteUnit{"kib", 1ULL << 10},
    ByteUnit{"kb", 1'000},
    ByteUnit{"m", 1ULL << 20},
    ByteUnit{"mib", 1ULL << 20},
    ByteUnit{"mb", 1'000'000},
    ByteUnit{"g", 1ULL << 30},
    ByteUnit{"gib", 1ULL << 30},
    ByteUnit{"gb", 1'000'000'000},
    ByteUnit{"t", 1ULL << 40},
    ByteUnit{"tib", 1ULL << 40},
    ByteUnit{"tb", 1'000'000'000'000},
};

[[noreturn]] void refuse_bytes(std::string_view text, std::string_view reason) {
  throw UsageError(fmt::format(
      "\"{}\" is not a number of bytes: {}. Write a number, alone or with B, KiB, MiB, GiB, TiB "
      "(powers of 1024; also k, m, g, t) or kB, MB, GB, TB (powers of 1000), as in 4096, 800MiB "
      "or 1.5 GB",
      text, reason));
}

struct BitPrefix {
  std::string_view symbol;  // of bytes
  std::string_view word;
};
constexpr std::array kBitPrefixes{
    BitPrefix{"Ki", "kibi"}, BitPrefix{"Mi", "mebi"}, BitPrefix{"Gi", "gibi"},
    BitPrefix{"Ti", "tebi"}, BitPrefix{"k", "kilo"},  BitPrefix{"M", "mega"},
    BitPrefix{"G", "giga"},  BitPrefix{"T", "tera"},  BitPrefix{"P", "peta"},
    BitPrefix{"", ""},
};

// What follows the prefix in "Gb", "Gb/s", "Gbit", "Gbps".
bool says_bits(std::string_view unit) {
  for (const std::string_view per_second : {"/s", "ps"}) {
    if (lower(unit).ends_with(per_second)) {
      unit.remove_suffix(per_second.size());
      break;
    }
  }
  const std::string word = lower(unit);
  return unit == "b" || word == "bit" || word == "bits";
}

}  // namespace

void refuse_bits(std::string_view text) {
  const std::string_view trimmed = trim(text);
  double number = 0;
  const auto [stop, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc{}) return;
  const std::string_view unit =
      trim(trimmed.substr(static_cast<std::size_t>(stop - trimmed.data())));
  const auto prefix = std::ranges::find_if(kBitPrefixes, [&](const BitPrefix& known) {
    return lower(unit).starts_with(lower(known.symbol)) &&
           says_bits(unit.substr(known.symbol.size()));
  });
  if (prefix == kBitPrefixes.end()) return;
  const bool per_second = lower(unit).ends_with("/s") || lower(unit).ends_with("ps");
  const std::string bytes = fmt::format("{}B{}", prefix->symbol, per_second ? "/s" : "");
  throw UsageError(
      fmt::format("\"{}\" is not accepted: {}bits? write {:.6g} {}; for {}bytes write {:.6g} {}, "
                  "with a large B",
                  text, prefix->word, number / 8, bytes, prefix->word, number, bytes));
}

Bytes parse_bytes(std::string_view text) {
  refuse_bits(text);
  const std::string_view trimmed = trim(text);
  if (trimmed.empty()) refuse_bytes(text, "it is empty");
  if (trimmed.front() == '-') refuse_bytes(text, "it is negative");

  const auto* const begin = trimmed.data();
  const auto* const end = begin + trimmed.size();
  const auto* const point = std::find_if_not(begin, end, is_digit);
  const bool has_fraction = point != end && *point == '.';
  const auto* const number_end = has_fraction ? std::find_if_not(point + 1, end, is_digit) : point;
  const bool has_digits = number_end - begin > (has_fraction ? 1 : 0);
  if (!has_digits) refuse_bytes(text, "it does not begin with a number");

  const std::string unit_name =
      lower(trim({number_end, static_cast<std::size_t>(end - number_end)}));
  const auto* const unit = std::find_if(kByteUnits.begin(), kByteUnits.end(),
                                        [&](const ByteUnit& u) { return u.name == unit_name; });
  if (unit == kByteUnits.end()) refuse_bytes(text, fmt::format("unknown unit \"{}\"", unit_name));
  if (has_fraction && unit->bytes == 1) refuse_bytes(text, "it asks for a fraction of a byte");

  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t whole = 0;  // stays 0 for ".5"
  if (point != begin) {
    const auto parsed = std::from_chars(begin, point, whole);
    if (parsed.ec != std::errc{} || whole > kMost / unit->bytes) refuse_bytes(text, "too large");
  }
  // The fraction is below 1 and a unit below 2^53: a double is exact enough to round to a byte.
  double fraction = 0;
  if (has_fraction && number_end - point > 1) std::from_chars(point, number_end, fraction);
  const auto part =
      static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(unit->bytes)));
  if (part > kMost - whole * unit->bytes) refuse_bytes(text, "too large");
  return Bytes{whole * unit->bytes + part};
}

std::uint64_t parse_count(std::string_view text, std::uint64_t lowest, std::uint64_t highest) {
  const auto refuse = [&](std::string_view reason) {
    return UsageError(fmt::format("\"{}\" is not accepted: {}. Write an integer from {} to {}",
                                  text, reason, lowest, highest));
  };
  std::string_view digits = trim(text);
  if (digits.empty()) throw refuse("it is empty");
  if (digits.size() > 1 && digits[0] == '+' && is_digit(digits[1])) digits.remove_prefix(1);

  // -5 is out of range rather than no integer.
  const bool below = digits.size() > 1 && digits[0] == '-' && is_digit(digits[1]);
  std::uint64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data() + (below ? 1 : 0), end, value);
  if (error == std::errc::result_out_of_range) throw refuse("it does not fit 64 bits");
  if (error != std::errc{} || stop != end) throw refuse("it is not an integer");
  if ((below && value != 0) || value < lowest || value > highest)
    throw refuse("it is out of range");
  return value;
}

double parse_real(std::string_view text) {
  const auto refuse = [&](std::string_view reason) {
    return UsageError(fmt::format(
        "\"{}\" is not accepted: {}. Write a number such as 0.5, -3 or 1e-6", text, reason));
  };
  std::string_view digits = trim(text);
  if (digits.empty()) throw refuse("it is empty");
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);

  double value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::result_out_of_range) throw refuse("it does not fit a double");
  if (error != std::errc{} || stop != end) throw refuse("it is not a number");
  if (!std::isfinite(value)) throw refuse("it is not finite");
  return value;
}

bool parse_bool(std::string_view text) {
  const std::string word = lower(trim(text));
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    if (word == no) return false;
  }
  throw UsageError(fmt::format(
      "\"{}\" is neither true nor false. Write true, yes, on or 1, or false, no, off or 0", text));
}

// --- Values to text -----------------------------------------------------------------------------

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes.value < 1024) return fmt::format("{} B", bytes.value);
  auto value = static_cast<double>(bytes.value);
  std::size_t unit = 0;
  // 1023.5 rather than 1024: four digits must not round up to "1024 KiB".
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string format_duration(Time time) {
  if (time.ns < 0) {
    // Not -time.ns, which overflows for the smallest value.
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return "-" + format_duration(Time{time.ns == -most - 1 ? most : -time.ns});
  }
  if (time.ns < 1000) return fmt::format("{} ns", time.ns);
  const auto ns = static_cast<double>(time.ns);
  // The limits leave room for rounding to four digits: never "1000 us" or "60 s".
  if (ns < 999.95e3) return fmt::format("{:.4g} us", ns / 1e3);
  if (ns < 999.95e6) return fmt::format("{:.4g} ms", ns / 1e6);
  if (ns < 59.995e9) return fmt::format("{:.4g} s", ns / 1e9);
  const std::int64_t seconds = (time.ns / 100'000'000 + 5) / 10;  // rounded to the nearest
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  const std::int64_t minutes = (seconds + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

// --- Misspelt words -----------------------------------------------------------------------------

std::string_view stem(std::string_view name) {
  const std::string_view before = name.substr(0, name.find_first_of("0123456789([{<"));
  const std::size_t last = before.find_last_not_of(" _-.:,/#=");
  return before.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table d[i][j], the distance between the first i letters of a and j of b.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) current[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, previous);
    std::swap(previous, current);
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
  }
  return current[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  const auto plain = [](std::string_view text) {
    std::string result = lower(text);
    std::replace(result.begin(), result.end(), '-', '_');
    return result;
  };
  const std::string wanted = plain(word);
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::string name = plain(candidate);
    const bool begins = wanted.size() >= 3 && name.starts_with(wanted) && name != wanted;
    const std::size_t distance = begins ? 1 : edit_distance(wanted, name);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace vicinal::base
