// Bytes as text that a page can carry: compressed where zlib was there to build with, then base64.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vicinal::reports {

// "deflate" (with zlib's head and sum) or "plain": what `pack` makes.
std::string_view packing();

// Base64 of the packed bytes, with '=' at its end and without line feeds.
std::string pack(std::string_view bytes);

std::string base64(std::string_view bytes);

}  // namespace vicinal::reports
