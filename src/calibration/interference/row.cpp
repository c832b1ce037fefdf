#include "calibration/interference/row.hpp"

#include <array>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vicinal::interference {

namespace {

constexpr std::array kOfDifference{
    &Difference::alone,      &Difference::beside,     &Difference::low_alone,
    &Difference::high_alone, &Difference::low_beside, &Difference::high_beside,
    &Difference::change,     &Difference::noise,      &Difference::chance};
constexpr std::array kOfRow{&Row::kernel_bytes, &Row::megahertz_alone, &Row::megahertz_beside,
                            &Row::misses_alone, &Row::misses_beside};
constexpr std::string_view kEnd = "end";

// What the parts of a row are, in the order of the columns.
template <typename R, typename Visit>
void visit_numbers(R& row, const Visit& visit) {
  for (const auto member : kOfRow) visit(row.*member);
  for (const auto member : kOfDifference) visit(row.computation.*member);
  for (const auto member : kOfDifference) visit(row.transfer.*member);
}

}  // namespace

std::string key_of(const Point& point) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{}", point.experiment, point.kernel,
                     point.transfer, point.cores, point.repeats, point.bytes,
                     point.computation_node, point.transfer_node, point.thread_node, point.number);
}

std::string rest_of(const Row& row) {
  std::string rest = row.shares ? "yes" : "no";
  visit_numbers(row, [&](double value) { rest += fmt::format(",{:.6g}", value); });
  return rest + "," + std::string(kEnd);
}

std::string csv_header() {
  std::string header =
      "experiment,kernel,transfer,cores,repeats,bytes,computation_node,transfer_node,thread_node,"
      "number,shares_core,kernel_bytes,mhz_alone,mhz_beside,misses_alone,misses_beside";
  for (const char* const side : {"computation", "transfer"}) {
    for (const char* const what : {"alone", "beside", "low_alone", "high_alone", "low_beside",
                                   "high_beside", "change", "noise", "chance"}) {
      header += fmt::format(",{}_{}", side, what);
    }
  }
  return header + ",end";
}

std::optional<Row> row_of(const Point& point, std::string_view rest) {
  const std::string text(rest);
  if (!text.ends_with("," + std::string(kEnd))) return std::nullopt;
  Row row{.point = point, .shares = text.starts_with("yes,")};
  const char* at = text.c_str() + text.find(',') + 1;
  bool is_whole = true;
  visit_numbers(row, [&](double& value) {
    char* end = nullptr;
    value = std::strtod(at, &end);
    is_whole = is_whole && end != at && *end == ',';
    if (is_whole) at = end + 1;
  });
  return is_whole && at == kEnd ? std::optional(row) : std::nullopt;
}

std::string model_csv(std::span<const Row> rows) {
  std::string text;
  for (const Row& row : rows) {
    if (!row.point.experiment.starts_with("model-")) continue;
    if (!row.computation.is_measured() || !row.transfer.is_measured()) continue;
    const double moved = 1e-6 * row.kernel_bytes * row.point.cores;
    const double transferred = 1e-6 * static_cast<double>(row.point.bytes);
    text += fmt::format("{},{},{},{:.6g},{:.6g},{:.6g},{:.6g}\n", row.point.computation_node,
                        row.point.transfer_node, row.point.cores, moved / row.computation.alone,
                        moved / row.computation.beside, transferred / row.transfer.alone,
                        transferred / row.transfer.beside);
  }
  if (text.empty()) return {};
  return "computation_node,transfer_node,cores,computations_alone,computations_beside,"
         "transfer_alone,transfer_beside\n" +
         text;
}

}  // namespace vicinal::interference
