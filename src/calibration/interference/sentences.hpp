// What an experiment shows, in a sentence: a pure function of what was measured and of the machine.
#pragma once

#include <span>
#include <string>

#include "calibration/interference/experiments.hpp"
#include "calibration/interference/row.hpp"

namespace vicinal::interference {

// Rows of other experiments are not looked at. A change counts along an axis from where on all points to its end show it in
// the same direction (of intensity: from its beginning on): so tested from the end, with all earlier points left alone once one
// does not, a curve has the chance of a single test of telling what is not there.
std::string sentence_of(const Experiment& experiment, std::span<const Row> rows,
                        const MachineFacts& machine);

// "two thirds (66 %)", "12 %"; of a change over what there was.
std::string share_words(double share);

// For share/draw_figure.py: curves alone (plain) and side by side (dashed). Empty: there is nothing to draw.
std::string picture_json(const Experiment& experiment, std::span<const Row> rows);

}  // namespace vicinal::interference
