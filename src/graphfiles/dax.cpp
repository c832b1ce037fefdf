// DAX, the XML in which Pegasus describes workflows (versions 2 and 3; https://pegasus.isi.edu/documentation): jobs with
// the files that they use, and children with their parents.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graph/sound.hpp"
#include "graphfiles/file_text.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphfiles/workflow.hpp"
#include "graphfiles/xml_reader.hpp"

namespace vicinal::graphfiles {

namespace dax {

namespace {

using Number = Workflow::Number;
using Event = XmlReader::Event;

// Children stand behind their parents in no order, but references are resolved when all jobs are known.
struct Reference {
  std::string child;
  std::string parent;
};

class DaxReader {
 public:
  DaxReader(std::string_view text, const std::string& origin, Notes& notes)
      : origin_(origin), notes_(notes), xml_(text, origin), workflow_(origin, "jobs") {}

  graph::Graph read() {
    if (xml_.next() != Event::open || xml_.name() != "adag") {
      xml_.refuse(fmt::format("expected <adag>, found <{}>: of XML only Pegasus' DAX is read",
                              xml_.name()));
    }
    if (const std::string* const name = xml_.attribute("name")) workflow_.set_name(*name);
    for (Event event = xml_.next(); event != Event::end; event = xml_.next()) {
      if (event == Event::open) {
        open_element();
      } else {
        close_element();
      }
    }
    for (const Reference& reference : references_) {
      workflow_.add_edge(job_of(reference.parent), job_of(reference.child));
    }
    tell();
    return workflow_.make_graph();
  }

 private:
  // Where an element stands counts: one of a job, or one of the workflow.
  enum class Inside { workflow, job, child, file };

  void open_element();
  void close_element();
  void open_job();
  void open_uses();
  Number file(const std::string& name);
  void enlarge(Number file, const std::string& size);
  void set_time(const std::string& runtime);
  double number(const std::string& text, double most, std::string_view what) const;
  const std::string& required(std::string_view attribute) const;
  Number job_of(const std::string& id) const;
  void tell() const;

  const std::string& origin_;
  Notes& notes_;
  XmlReader xml_;
  Workflow workflow_;
  Inside inside_ = Inside::workflow;
  std::string key_;    // of the profile, or the metadata, that is open
  std::string child_;  // that is open
  Number file_ = 0;    // that is open
  std::vector<bool> timed_;
  std::unordered_map<std::string, Number> jobs_;
  std::unordered_map<std::string, Number> files_;
  std::vector<Reference> references_;
};

void DaxReader::open_element() {
  const std::string& name = xml_.name();
  const bool outermost = xml_.depth() == 2;
  if (outermost && (name == "job" || name == "dax" || name == "dag")) {
    open_job();
  } else if (outermost && name == "child") {
    child_ = required("ref");
    inside_ = Inside::child;
  } else if (outermost && name == "file") {
    const std::string* const known = xml_.attribute("name");
    if (known == nullptr) return;
    file_ = file(*known);
    inside_ = Inside::file;
  } else if (inside_ == Inside::child && name == "parent") {
    references_.push_back({child_, required("ref")});
  } else if (inside_ == Inside::job && name == "uses") {
    open_uses();
  } else if (name == "profile" || name == "metadata") {
    const std::string* const key = xml_.attribute("key");
    key_ = key == nullptr ? std::string() : *key;
  }
}

void DaxReader::close_element() {
  if (xml_.depth() == 2) inside_ = Inside::workflow;
  if (inside_ == Inside::job && xml_.name() == "profile" && key_ == "runtime")
    set_time(xml_.text());
  if (inside_ == Inside::file && xml_.name() == "metadata" && key_ == "size") {
    enlarge(file_, xml_.text());
  }
}

void DaxReader::open_job() {
  inside_ = Inside::job;
  const std::string& id = required("id");
  if (!jobs_.emplace(id, static_cast<Number>(workflow_.steps())).second) {
    xml_.refuse(fmt::format("the job {} stands twice", in_quotes(id)));
  }
  // A workflow inside of one is a job that names a file.
  const std::string* name = xml_.attribute("name");
  if (name == nullptr) name = xml_.attribute("file");
  const bool has_name = name != nullptr && !name->empty();
  workflow_.add_step(
      {.id = id, .category = has_name ? *name : id, .seconds = seconds_everywhere(0)});
  timed_.push_back(false);
  if (const std::string* const runtime = xml_.attribute("runtime")) set_time(*runtime);
}

// DAX 2 says file, DAX 3 name.
void DaxReader::open_uses() {
  const std::string* name = xml_.attribute("file");
  if (name == nullptr) name = &required("name");
  std::string link = "input";
  if (const std::string* const given = xml_.attribute("link")) {
    link = *given;
    std::ranges::transform(link, link.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  }
  if (link == "none") return;
  AccessMode mode = AccessMode::R;
  if (link == "output") {
    mode = AccessMode::W;
  } else if (link == "inout") {
    mode = AccessMode::RW;
  } else if (link != "input") {
    xml_.refuse(fmt::format("link: expected input, output or inout, found {}", in_quotes(link)));
  }
  const Number used = file(*name);
  if (const std::string* const size = xml_.attribute("size")) enlarge(used, *size);
  workflow_.step(static_cast<Number>(workflow_.steps() - 1)).accesses.push_back({used, mode});
}

Number DaxReader::file(const std::string& name) {
  const auto [found, is_new] = files_.try_emplace(name, static_cast<Number>(workflow_.files()));
  if (is_new) workflow_.add_file(name, {});
  return found->second;
}

// Each job that uses a file says its size: the largest counts.
void DaxReader::enlarge(Number file, const std::string& size) {
  const double most = static_cast<double>(graph::kMostGraphBytes.value);
  const Bytes bytes{static_cast<std::uint64_t>(
      std::ceil(number(size, most, "size: expected a number of bytes")))};
  if (workflow_.bytes_of(file) < bytes) workflow_.set_bytes(file, bytes);
}

void DaxReader::set_time(const std::string& runtime) {
  workflow_.step(static_cast<Number>(workflow_.steps() - 1)).seconds = seconds_everywhere(
      number(runtime, graph::kMostTaskSeconds, "runtime: expected a number of seconds"));
  timed_.back() = true;
}

double DaxReader::number(const std::string& text, double most, std::string_view what) const {
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t last = text.find_last_not_of(" \t\r\n") + 1;
  double value = -1;
  const auto [rest, error] = std::from_chars(text.data() + first, text.data() + last, value);
  if (error == std::errc() && rest == text.data() + last && value >= 0 && value <= most)
    return value;
  xml_.refuse(fmt::format("{} from 0 to {}, found {}", what, most, in_quotes(text)));
}

const std::string& DaxReader::required(std::string_view attribute) const {
  const std::string* const value = xml_.attribute(attribute);
  if (value == nullptr || value->empty()) {
    xml_.refuse(fmt::format("<{}> has no {}", xml_.name(), attribute));
  }
  return *value;
}

Number DaxReader::job_of(const std::string& id) const {
  const auto found = jobs_.find(id);
  if (found != jobs_.end()) return found->second;
  std::vector<std::string_view> candidates;
  for (const auto& [candidate, index] : jobs_) candidates.emplace_back(candidate);
  std::sort(candidates.begin(), candidates.end());  // the same message with every library
  refuse_at(origin_, "children and parents",
            fmt::format("there is no job {}{}", in_quotes(id), did_you_mean(id, candidates)));
}

void DaxReader::tell() const {
  const auto count = std::count(timed_.begin(), timed_.end(), false);
  if (count == 0) return;
  const auto first =
      static_cast<Number>(std::find(timed_.begin(), timed_.end(), false) - timed_.begin());
  std::string id;
  for (const auto& [known, job] : jobs_) {
    if (job == first) id = known;
  }
  notes_.push_back(fmt::format("no runtime is given for {}{}: counted as a nanosecond",
                               in_quotes(id),
                               count == 1 ? "" : fmt::format(" and {} more", count - 1)));
}

}  // namespace

}  // namespace dax

graph::Graph parse_dax(std::string_view text, const std::string& origin, Notes& notes) {
  return dax::DaxReader(text, origin, notes).read();
}

graph::Graph parse_dax(std::string_view text, const std::string& origin) {
  Notes unheard;
  return parse_dax(text, origin, unheard);
}

}  // namespace vicinal::graphfiles
