// The picture of a figure, by the script share/vicinal/draw_figure.py and matplotlib.
#pragma once

#include <string>

namespace vicinal::cli {

// Draws what `json` (a file) describes: a picture of a figure into TARGET.svg and TARGET.png, a report into TARGET, an
// SVG. What is missing instead, with the remedy; nothing if all went well.
std::string draw_picture(const std::string& json, const std::string& target);
// The same of JSON that is no file, into `target`, the SVG of --plot. Throws DeviceError, with the remedy.
void draw_picture_of(const std::string& text, const std::string& target);

}  // namespace vicinal::cli
