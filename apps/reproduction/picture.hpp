// What a figure's picture shows, as JSON: read by share/draw_figure.py, which knows nothing of papers.
#pragma once

#include <string>

#include "reproduction/figure.hpp"
#include "reproduction/results.hpp"

namespace vicinal::reproduction {

// {"title", "series": [label], "plots": [{"name", "unit", "panels": [{"name", "x_label", "marks": [{"label", "x",
// "colour"}], "curves": [{"series", "x": [], "y": []}], "limits": [{"label", "style", "x": [], "y": []}]}]}]}, or of an
// order {"title", "order": {"size", "capacity", "colour", "steps", "views": [{"name", "cells": [by step: [[row, column,
// place]]]}]}}. Ends with a line feed.
std::string picture_json(const Figure& figure, const Results& results);

}  // namespace vicinal::reproduction
