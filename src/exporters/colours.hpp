// Colours that can be told apart, for values in the order of their numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vicinal::exporters {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

// The twelve colours "Set3" of ColorBrewer: light, so that black text can be read on them. They repeat.
constexpr Colour colour_of(std::size_t number) {
  constexpr std::array<Colour, 12> colours{{{141, 211, 199},
                                            {255, 255, 179},
                                            {190, 186, 218},
                                            {251, 128, 114},
                                            {128, 177, 211},
                                            {253, 180, 98},
                                            {179, 222, 105},
                                            {252, 205, 229},
                                            {217, 217, 217},
                                            {188, 128, 189},
                                            {204, 235, 197},
                                            {255, 237, 111}}};
  return colours[number % colours.size()];
}

}  // namespace vicinal::exporters
