// The picture of a figure, by the script share/vicinal/draw_figure.py and matplotlib.
#pragma once

#include <string>

namespace vicinal::cli {

// Draws what `json` (a file) describes into STEM.svg and STEM.png. What is missing instead, with the remedy; nothing
// if all went well.
std::string draw_picture(const std::string& json, const std::string& stem);

}  // namespace vicinal::cli
