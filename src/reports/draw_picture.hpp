// Pictures, drawn by the script share/draw_figure.py, which the library brings, and by matplotlib.
#pragma once

#include <string>

#include "reports/report.hpp"

namespace vicinal::reports {

// Draws what `json` (a file) describes: a picture of a figure into TARGET.svg and TARGET.png; a report or a sweep into
// TARGET, an SVG. What is missing instead, with the remedy; nothing if all went well.
std::string draw_picture(const std::string& json, const std::string& target);
// The same of JSON that is no file, into `target`, an SVG. Throws DeviceError, with the remedy.
void draw_picture_of(const std::string& text, const std::string& target);
// The runs of a report that have ended well: time and bytes beside their bounds. Throws UsageError: `target` is no name of
// an SVG, or there is nothing to draw; DeviceError.
void draw_report(const Report& report, const std::string& target);

}  // namespace vicinal::reports
