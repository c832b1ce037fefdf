#include "graphfiles/graph_file.hpp"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/regular_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

// Larger than any graph that a computer can hold as one, and small enough that a wrong name does no harm.
constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

std::string content_of(const std::string& path) {
  try {
    return base::RegularFile(path).text(kMostBytes);
  } catch (const base::RegularFile::Refused& refused) {
    throw UsageError(
        fmt::format("cannot read the graph file \"{}\": {}; {}", path, refused.why,
                    refused.remedy.empty() ? "give one of docs/graph-file.md" : refused.remedy));
  }
}

// Stops at the first key of the outermost object that only one of the formats has.
class FormatSeeker {
 public:
  bool wfformat() const { return wfformat_; }

  bool null() { return true; }
  bool boolean(bool /*value*/) { return true; }
  bool number_integer(std::int64_t /*value*/) { return true; }
  bool number_unsigned(std::uint64_t /*value*/) { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) { return true; }
  bool string(const std::string& /*value*/) { return true; }
  bool binary(const nlohmann::json::binary_t& /*value*/) { return true; }
  bool start_object(std::size_t /*size*/) { return ++depth_ > 0; }
  bool start_array(std::size_t /*size*/) { return depth_++ > 0; }
  bool end_object() { return --depth_ > 0; }
  bool end_array() { return --depth_ > 0; }
  bool key(const std::string& name) {
    if (depth_ > 1) return true;
    wfformat_ = name == "workflow" || name == "schemaVersion";
    const bool ours = name == "format" || name == "precision" || name == "data" ||
                      name == "kernels" || name == "tasks";
    return !wfformat_ && !ours;
  }
  // What is wrong with it the reader of the format will say.
  bool parse_error(std::size_t /*position*/, const std::string& /*last*/,
                   const nlohmann::json::exception& /*what*/) {
    return false;
  }

 private:
  std::size_t depth_ = 0;
  bool wfformat_ = false;
};

}  // namespace

graph::Graph parse_graph(std::string_view text, const std::string& origin) {
  FormatSeeker seeker;
  nlohmann::json::sax_parse(text.begin(), text.end(), &seeker);
  return seeker.wfformat() ? parse_wfformat(text, origin) : parse_graph_json(text, origin);
}

graph::Graph read_graph(const std::string& path) {
  return parse_graph(content_of(path), path);
}

}  // namespace vicinal::graphfiles
