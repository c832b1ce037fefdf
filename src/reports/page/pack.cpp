#include "reports/page/pack.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

#if VICINAL_HAVE_ZLIB
#include <zlib.h>
#endif

namespace vicinal::reports {

namespace {

#if VICINAL_HAVE_ZLIB
std::string compressed(std::string_view bytes) {
  auto size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  // Level 6: level 9 takes much longer and saves little.
  const int status =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 6);
  if (status != Z_OK) throw std::bad_alloc();  // there is room, and the level is known
  out.resize(size);
  return out;
}
#endif

}  // namespace

std::string_view packing() {
#if VICINAL_HAVE_ZLIB
  return "deflate";
#else
  return "plain";
#endif
}

std::string pack(std::string_view bytes) {
#if VICINAL_HAVE_ZLIB
  return base64(compressed(bytes));
#else
  return base64(bytes);
#endif
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8 | (k < here ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= here ? kDigits[word >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace vicinal::reports
