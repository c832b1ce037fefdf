#include "contention_picture.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vicinal::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kPredicted{"computations alone", "computations beside", "transfer alone",
                                "transfer beside"};
constexpr std::array kMeasured{"measured: computations alone", "measured: computations beside",
                               "measured: transfer alone", "measured: transfer beside"};

struct Curves {
  Json x = Json::array();
  std::array<Json, 4> y = {Json::array(), Json::array(), Json::array(), Json::array()};

  void add(std::uint32_t cores, const std::array<BytesPerSecond, 4>& rates) {
    x.push_back(cores);
    for (std::size_t i = 0; i < rates.size(); ++i) y[i].push_back(rates[i].value / 1e9);
  }
  void write(const std::array<const char*, 4>& names, Json& curves) const {
    if (x.empty()) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      curves.push_back({{"series", names[i]}, {"x", x}, {"y", y[i]}});
    }
  }
};

Json panel_of(const ContentionPicture& picture, std::uint32_t computation_node,
              std::uint32_t transfer_node) {
  Curves predicted;
  const BytesPerSecond alone =
      predict_contention(picture.model, 0, computation_node, transfer_node).transfer;
  for (std::uint32_t cores = 1; cores <= picture.model.cores_per_socket; ++cores) {
    const ContentionShares shares =
        predict_contention(picture.model, cores, computation_node, transfer_node);
    predicted.add(cores, {shares.alone, shares.computations, alone, shares.transfer});
  }
  Curves measured;
  for (const auto& placed : picture.sweep) {
    if (placed.computation_node != computation_node || placed.transfer_node != transfer_node) {
      continue;
    }
    const ContentionSample& sample = placed.sample;
    measured.add(sample.cores, {sample.computations_alone, sample.computations_beside,
                                sample.transfer_alone, sample.transfer_beside});
  }
  Json curves = Json::array();
  predicted.write(kPredicted, curves);
  measured.write(kMeasured, curves);
  return {
      {"name", fmt::format("computations on {}, transfer on {}", computation_node, transfer_node)},
      {"x_label", "cores that compute"},
      {"curves", std::move(curves)},
      {"limits", Json::array()},
      {"marks", Json::array()}};
}

}  // namespace

std::string picture_json(const ContentionPicture& picture) {
  Json series = Json::array();
  for (const char* const name : kPredicted) series.push_back(name);
  if (!picture.sweep.empty()) {
    for (const char* const name : kMeasured) series.push_back(name);
  }
  Json plots = Json::array();
  for (const std::uint32_t transfer : picture.transfer_nodes) {
    Json panels = Json::array();
    for (const std::uint32_t computation : picture.computation_nodes) {
      panels.push_back(panel_of(picture, computation, transfer));
    }
    plots.push_back({{"name", "bandwidth"}, {"unit", "GB/s"}, {"panels", std::move(panels)}});
  }
  // A file's name may hold anything.
  return Json{{"title", picture.title}, {"series", std::move(series)}, {"plots", std::move(plots)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace vicinal::cli
