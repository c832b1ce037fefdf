#include "reports/page/page.hpp"

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/comparison.hpp"
#include "reports/bounds_report.hpp"
#include "reports/findings_json.hpp"
#include "reports/page/assets.hpp"
#include "reports/page/pack.hpp"
#include "reports/page/run_data.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reports {

namespace {

std::string_view asset(std::string_view name) {
  for (const PageAsset& asset : page_assets()) {
    if (asset.name == name) return asset.text;
  }
  throw UsageError(fmt::format(
      "this vicinal was built without the sources of the page (share/report/{}); build it from a "
      "whole checkout",
      name));
}

// As text between tags, whatever is in it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

// For a script element: a name that holds "</script>" does not end it.
std::string script_text(const Json& json) {
  std::string out;
  for (const char letter : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (letter == '<') {
      out += "\\u003c";
    } else {
      out += letter;
    }
  }
  return out;
}

std::string elements(const std::vector<Section>& sections, std::size_t run) {
  std::string text;
  for (const Section& section : sections) {
    text += fmt::format("<script type=\"text/plain\" data-run=\"{}\" data-section=\"{}\">", run,
                        section.name);
    text += section.text;
    text += "</script>\n";
  }
  return text;
}

Json columns_of(const RunData& data) {
  Json json = Json::object();
  for (const std::vector<Section>* sections : {&data.first, &data.later}) {
    for (const Section& section : *sections) json[section.name] = section.columns;
  }
  return json;
}

std::string title_of(const PageContents& contents) {
  if (contents.recordings.size() == 2) {
    return contents.recordings[0].name + " and " + contents.recordings[1].name;
  }
  if (!contents.recordings.empty()) {
    const analysis::RunFacts& facts = contents.recordings[0].run->facts;
    const std::string what =
        facts.application.empty() ? contents.recordings[0].name : facts.application;
    return facts.policy.empty() ? what : what + ", " + facts.policy;
  }
  if (contents.report != nullptr) return contents.report->application;
  if (contents.bounds != nullptr) return "Bounds of " + contents.bounds->graph;
  return "vicinal";
}

// "{{name}}" in the frame is the value of that name, "{{gantt.js}}" the file.
class Values {
 public:
  void set(std::string name, std::string value) { values_[std::move(name)] = std::move(value); }
  std::string fill(std::string_view text) const {
    std::string out;
    for (std::size_t at = text.find("{{"); at != std::string_view::npos; at = text.find("{{")) {
      const std::size_t end = text.find("}}", at);
      const std::string name(text.substr(at + 2, end - at - 2));
      out += text.substr(0, at);
      const auto value = values_.find(name);
      if (value != values_.end()) {
        out += value->second;
      } else if (name.find('.') != std::string::npos) {
        out += asset(name);
      }
      text.remove_prefix(end + 2);
    }
    out += text;
    return out;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace

void require_page() {
  static_cast<void>(asset("index.html"));
}

std::string page(const PageContents& contents) {
  if (contents.recordings.size() > 2) {
    throw UsageError("a page compares two recordings at most; make a page of each two");
  }
  const std::string_view frame = asset("index.html");
  Json head = {{"format", "vicinal-page-1"}, {"packing", packing()}, {"runs", Json::array()}};
  std::string first;
  std::string later;
  // The program of the page, and where columns begin.
  const std::size_t aside = Values().fill(frame).size() + 100'000;
  const std::size_t most = contents.most_bytes > aside ? contents.most_bytes - aside : 0;
  std::vector<std::unique_ptr<PageRun>> runs;
  for (std::size_t i = 0; i < contents.recordings.size(); ++i) {
    const PageRecording& recording = contents.recordings[i];
    runs.push_back(std::make_unique<PageRun>(*recording.run));
    RunData data = run_data(*runs.back(), most / contents.recordings.size());
    data.head["name"] = recording.name;
    data.head["columns"] = columns_of(data);
    head["runs"].push_back(std::move(data.head));
    first += elements(data.first, i);
    later += elements(data.later, i);
  }
  if (runs.size() == 2) {
    const analysis::Comparison comparison =
        analysis::compared({runs[0]->proper, runs[0]->analyses, contents.recordings[0].name},
                           {runs[1]->proper, runs[1]->analyses, contents.recordings[1].name});
    head["comparison"] = comparison_json(comparison);
  }
  // As docs/report.md has them.
  if (contents.report != nullptr) head["report"] = Json::parse(report_json(*contents.report));
  if (contents.bounds != nullptr) head["bounds"] = Json::parse(bounds_json(*contents.bounds));
  const std::string title = title_of(contents);
  head["title"] = title;
  Values values;
  values.set("title", escaped(title));
  values.set("head", script_text(head));
  values.set("first", std::move(first));
  values.set("later", std::move(later));
  return values.fill(frame);
}

}  // namespace vicinal::reports
