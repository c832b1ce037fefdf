// Units carried by types: bytes, integer nanoseconds (in real and in simulated time), rates.
#pragma once

#include <compare>
#include <cstdint>

namespace vicinal {

// A size in memory.
struct Bytes {
  std::uint64_t value = 0;  // their number
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  constexpr Bytes& operator+=(Bytes other) {
    value += other.value;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.value * n}; }
};

// 1 KiB is 1024 bytes.
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {n << 10};
}
// 1 MiB is 1024 KiB.
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {n << 20};
}
// 1 GiB is 1024 MiB.
constexpr Bytes operator""_GiB(unsigned long long n) {
  return {n << 30};
}

// A point in time or a duration, in nanoseconds.
struct Time {
  std::int64_t ns = 0;  // nanoseconds
  friend constexpr auto operator<=>(Time, Time) = default;
  constexpr Time& operator+=(Time other) {
    ns += other.ns;
    return *this;
  }
  friend constexpr Time operator+(Time a, Time b) { return {a.ns + b.ns}; }
  friend constexpr Time operator-(Time a, Time b) { return {a.ns - b.ns}; }
  // For people and for rates: rounded.
  constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
  // `s` seconds, rounded down to a nanosecond; within the range of `ns`.
  static constexpr Time from_seconds(double s) { return {static_cast<std::int64_t>(s * 1e9)}; }
};

// A bandwidth.
struct BytesPerSecond {
  double value = 0;  // bytes per second
  friend constexpr auto operator<=>(BytesPerSecond, BytesPerSecond) = default;
};

// 36 years: eight of them can be added.
inline constexpr Time kLongestDuration{std::int64_t{1} << 60};

// How long `bytes` take at `rate`, rounded up to a nanosecond, at most kLongestDuration; 0 for an unlimited rate
// (value 0).
constexpr Time duration(Bytes bytes, BytesPerSecond rate) {
  if (rate.value <= 0) return {0};
  const double ns = static_cast<double>(bytes.value) / rate.value * 1e9;
  if (ns >= static_cast<double>(kLongestDuration.ns)) return kLongestDuration;
  const auto whole = static_cast<std::int64_t>(ns);
  return {whole + (static_cast<double>(whole) < ns ? 1 : 0)};
}

}  // namespace vicinal
