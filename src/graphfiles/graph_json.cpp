// The reader of our own format: the parser's events go straight into the graph, without a document in
// between, so that a million tasks take a second and little more memory than the graph.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <climits>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graph/sound.hpp"
#include "graphfiles/file_text.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphfiles/graph_json_grammar.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

using namespace graph_json;

// A value that holds no others.
struct Value {
  double real = 0;
  std::optional<std::int64_t> whole = {};  // if it is a whole number of 64 bits
  std::string text = {};
  bool flag = false;
};

// Called by nlohmann::json::sax_parse, which keeps what is open in a list, not on the stack.
class Reader {
 public:
  Reader(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

  graph::Graph finish();

  // --- the parser's events; true: go on
  bool null() { return take(Kind::nothing, {}); }
  bool boolean(bool value) { return take(Kind::flag, {.flag = value}); }
  bool number_integer(std::int64_t value) {
    return take(Kind::number, {.real = static_cast<double>(value), .whole = value});
  }
  bool number_unsigned(std::uint64_t value) {
    Value number{.real = static_cast<double>(value)};
    if (std::in_range<std::int64_t>(value)) number.whole = static_cast<std::int64_t>(value);
    return take(Kind::number, number);
  }
  bool number_float(double value, const std::string& /*text*/) {
    Value number{.real = value};
    constexpr double kExact = 0x1p53;  // "1e6" is a whole number, too
    if (std::fabs(value) <= kExact && std::trunc(value) == value) {
      number.whole = static_cast<std::int64_t>(value);
    }
    return take(Kind::number, number);
  }
  bool string(std::string& value) { return take(Kind::text, {.text = std::move(value)}); }
  bool binary(const nlohmann::json::binary_t& /*value*/) { return false; }  // not in JSON
  bool start_object(std::size_t /*size*/) { return open(Kind::object); }
  bool start_array(std::size_t /*size*/) { return open(Kind::array); }
  bool key(const std::string& name);
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& /*last*/,
                   const nlohmann::json::exception& what) {
    refuse_syntax(origin_, text_, position, what);
  }

 private:
  // What may stand in an object: a value, or what the parser then is inside of.
  struct Key {
    Place in;
    std::string_view name;
    Kind kind;
    bool required;
    void (*set)(Reader& reader, const Value& value);
    Place inside = Place::file;
  };
  static std::span<const Key> keys();
  template <ProcessorKind kKind>
  static void set_seconds(Reader& reader, const Value& value) {
    reader.kernel_.seconds[static_cast<std::size_t>(kKind)] =
        reader.real(value, graph::kMostTaskSeconds);
  }
  static NodeKind kind_of_home(std::string_view home) {
    return home == "ram" ? NodeKind::ram : NodeKind::disk;
  }
  auto& application() { return graph_.application(); }
  void set_kernel(const std::string& name) {
    task_.kernel = kernels_.number(name, {.task = graph_.tasks().size()});
  }
  Bytes bytes(const Value& value) const {
    constexpr auto kMost = static_cast<std::int64_t>(graph::kMostGraphBytes.value);
    return {static_cast<std::uint64_t>(whole(value, 0, kMost))};
  }

  Kind wanted() const;
  void require(Kind found) const;
  bool take(Kind kind, const Value& value);
  bool open(Kind kind);
  bool close();
  void define(Names& names, const std::string& name, std::size_t index) const;
  void access_text(const std::string& value);
  void add_access(AccessMode mode);
  void add_part();
  void add_reductions();
  void resolve(const Names& names, std::string_view what) const;
  std::int64_t whole(const Value& value, std::int64_t lowest, std::int64_t highest) const;
  double real(const Value& value, double highest) const;
  std::string_view one_of(std::string_view text, std::span<const std::string_view> choices,
                          std::string_view what = "") const;
  std::string path() const;
  std::string path_of(Place place) const;
  [[noreturn]] void refuse(const std::string& message) const {
    refuse_at(origin_, path(), message);
  }
  // Of the object that is open.
  [[noreturn]] void refuse_object(const std::string& message) const {
    const std::string place = path_of(place_);
    refuse_at(origin_, place.empty() ? "the graph" : place, message);
  }

  bool seen(const Key& key) const { return (seen_ & bit(key)) != 0; }
  static std::uint32_t bit(const Key& key) { return 1U << (&key - keys().data()); }

  std::string_view text_;
  const std::string& origin_;
  graph::Graph graph_;
  Names data_;
  Names kernels_;

  Place place_ = Place::file;
  const Key* key_ = nullptr;  // of the object that is open; what the next value is for
  std::uint32_t seen_ = 0;    // keys of all open objects

  // What is being read. A task's kernel and data are numbers of their names.
  std::string datum_name_;
  graph::Graph::Datum datum_fields_;
  std::string part_of_;                              // empty: it is no part
  std::vector<graph::Graph::Partition> partitions_;  // the last may grow
  std::vector<graph::Graph::Reduction> reductions_;  // the kernels are numbers of their names
  graph::Graph::Kernel kernel_;
  struct {
    std::uint32_t kernel = 0;
    int priority = 0;
    std::string name;
    std::vector<graph::Graph::Access> accesses;
  } task_;
  // The access being read: [name, mode], and how many accesses the task has had, merged or not.
  std::uint32_t datum_ = 0;
  std::size_t access_parts_ = 0;
  std::size_t access_number_ = 0;
  // Of each datum, the last access of the graph that names it: of this task if late enough.
  std::vector<std::uint64_t> last_access_;
};

// --- the grammar ---------------------------------------------------------------------------------
std::span<const Reader::Key> Reader::keys() {
  using R = Reader;
  using V = Value;
  static constexpr std::string_view kFormats[] = {"vicinal-graph-1"};
  static constexpr std::string_view kPrecisions[] = {"float", "double"};
  static constexpr std::string_view kHomes[] = {"ram", "disk"};
  static constexpr Key kKeys[] = {
      {Place::graph, "format", Kind::text, false,
       [](R& r, const V& v) { r.one_of(v.text, kFormats); }},
      {Place::graph, "name", Kind::text, false,
       [](R& r, const V& v) { r.application().name = v.text; }},
      {Place::graph, "precision", Kind::text, false,
       [](R& r, const V& v) { r.application().precision = r.one_of(v.text, kPrecisions); }},
      {Place::graph, "data", Kind::object, false, nullptr, Place::data},
      {Place::graph, "kernels", Kind::object, false, nullptr, Place::kernels},
      {Place::graph, "tasks", Kind::array, true, nullptr, Place::tasks},
      {Place::datum, "bytes", Kind::number, true,
       [](R& r, const V& v) { r.datum_fields_.bytes = r.bytes(v); }},
      {Place::datum, "home", Kind::text, false,
       [](R& r, const V& v) { r.datum_fields_.home = kind_of_home(r.one_of(v.text, kHomes)); }},
      {Place::datum, "part_of", Kind::text, false, [](R& r, const V& v) { r.part_of_ = v.text; }},
      {Place::datum, "reduction", Kind::object, false, nullptr, Place::reduction},
      {Place::reduction, "neutral", Kind::text, true,
       [](R& r, const V& v) { r.reductions_.back().neutral = r.kernels_.number(v.text, {}); }},
      {Place::reduction, "combine", Kind::text, true,
       [](R& r, const V& v) { r.reductions_.back().combine = r.kernels_.number(v.text, {}); }},
      {Place::kernel, "seconds", Kind::object, false, nullptr, Place::seconds},
      {Place::kernel, "flops", Kind::number, false,
       [](R& r, const V& v) { r.kernel_.flops = r.real(v, graph::kMostTaskFlops); }},
      {Place::kernel, "synchronous", Kind::flag, false,
       [](R& r, const V& v) { r.kernel_.synchronous = v.flag; }},
      {Place::kernel, "cores_only", Kind::flag, false,
       [](R& r, const V& v) { r.kernel_.cores_only = v.flag; }},
      {Place::seconds, "cpu", Kind::number, false, set_seconds<ProcessorKind::cpu>},
      {Place::seconds, "emulated", Kind::number, false, set_seconds<ProcessorKind::emulated>},
      {Place::seconds, "gpu", Kind::number, false, set_seconds<ProcessorKind::gpu>},
      {Place::seconds, "opencl", Kind::number, false, set_seconds<ProcessorKind::opencl>},
      {Place::seconds, "cuda", Kind::number, false, set_seconds<ProcessorKind::cuda>},
      {Place::task, "kernel", Kind::text, true, [](R& r, const V& v) { r.set_kernel(v.text); }},
      {Place::task, "accesses", Kind::array, true, nullptr, Place::accesses},
      {Place::task, "priority", Kind::number, false,
       [](R& r, const V& v) { r.task_.priority = static_cast<int>(r.whole(v, INT_MIN, INT_MAX)); }},
      {Place::task, "name", Kind::text, false, [](R& r, const V& v) { r.task_.name = v.text; }},
  };
  return kKeys;
}

bool Reader::key(const std::string& name) {
  if (place_ == Place::data) {
    define(data_, name, graph_.data().size());
    datum_fields_ = {};
    part_of_.clear();
    datum_name_ = name;
    return true;
  }
  if (place_ == Place::kernels) {
    define(kernels_, name, graph_.kernels().size());
    kernel_ = {.name = name};
    return true;
  }
  std::vector<std::string_view> names;
  for (const Key& key : keys()) {
    if (key.in != place_) continue;
    if (key.name == name) {
      if (seen(key)) refuse_object(in_quotes(name) + " stands twice");
      seen_ |= bit(key);
      key_ = &key;
      return true;
    }
    names.push_back(key.name);
  }
  refuse_object("unknown key " + in_quotes(name) + did_you_mean(name, names));
}

void Reader::define(Names& names, const std::string& name, std::size_t index) const {
  if (!names.define(name, index)) refuse_object(in_quotes(name) + " stands twice");
}

// --- places --------------------------------------------------------------------------------------
std::string Reader::path_of(Place place) const {
  switch (place) {
    case Place::file:
    case Place::graph:
      return "";
    case Place::data:
      return "data";
    case Place::datum:
      return fmt::format("data[{}]", in_quotes(datum_name_));
    case Place::reduction:
      return path_of(Place::datum) + ".reduction";
    case Place::kernels:
      return "kernels";
    case Place::kernel:
      return fmt::format("kernels[{}]", in_quotes(kernel_.name));
    case Place::seconds:
      return path_of(Place::kernel) + ".seconds";
    case Place::tasks:
      return "tasks";
    case Place::task:
      return fmt::format("tasks[{}]", graph_.tasks().size());
    case Place::accesses:
      return path_of(Place::task) + ".accesses";
    case Place::access:
      return fmt::format("{}[{}]", path_of(Place::accesses), access_number_);
  }
  return "";
}

// Of the value that comes next.
std::string Reader::path() const {
  switch (place_) {
    case Place::file:
      return "the file";
    case Place::tasks:
      return path_of(Place::task);
    case Place::accesses:
    case Place::access:
      return path_of(Place::access);
    case Place::data:  // the name of a datum or kernel has been read with its key
      return path_of(Place::datum);
    case Place::kernels:
      return path_of(Place::kernel);
    default:
      break;
  }
  const std::string outer = path_of(place_);
  return outer.empty() ? std::string(key_->name) : fmt::format("{}.{}", outer, key_->name);
}

Kind Reader::wanted() const {
  switch (place_) {
    case Place::file:
    case Place::data:
    case Place::kernels:
    case Place::tasks:
      return Kind::object;
    case Place::accesses:
      return Kind::array;
    case Place::access:
      return Kind::text;
    default:
      return key_->kind;
  }
}

void Reader::require(Kind found) const {
  const Kind want = wanted();
  if (found != want) {
    refuse(fmt::format("expected {}, found {}", to_string(want), to_string(found)));
  }
}

bool Reader::open(Kind kind) {
  require(kind);
  switch (place_) {
    case Place::file:
      place_ = Place::graph;
      break;
    case Place::data:
      place_ = Place::datum;
      break;
    case Place::kernels:
      place_ = Place::kernel;
      break;
    case Place::tasks:
      place_ = Place::task;
      task_ = {};
      access_number_ = 0;
      break;
    case Place::accesses:
      place_ = Place::access;
      access_parts_ = 0;
      break;
    default:
      place_ = key_->inside;
      if (place_ != Place::reduction) break;
      reductions_.push_back({.datum = static_cast<std::uint32_t>(graph_.data().size())});
      break;
  }
  for (const Key& key : keys()) {
    if (key.in == place_) seen_ &= ~bit(key);
  }
  return true;
}

bool Reader::close() {
  for (const Key& key : keys()) {
    if (key.in == place_ && key.required && !seen(key)) {
      refuse_object(fmt::format("\"{}\" is missing", key.name));
    }
  }
  switch (place_) {
    case Place::datum:
      if (!part_of_.empty()) add_part();
      graph_.add_datum(datum_fields_, datum_name_);
      break;
    case Place::kernel:
      graph_.add_kernel(std::move(kernel_));
      break;
    case Place::task:
      graph_.add_task(task_.kernel, task_.accesses, task_.priority, task_.name);
      break;
    case Place::access:
      if (access_parts_ != 2) refuse("expected [datum, mode]");
      ++access_number_;
      break;
    default:
      break;
  }
  place_ = outside_of(place_);
  return true;
}

// The datum that is about to be added: its whole stands before it, and the parts of one whole stand together.
void Reader::add_part() {
  const std::string place = fmt::format("data[{}].part_of", in_quotes(datum_name_));
  const std::optional<std::uint32_t> whole = data_.defined_as(part_of_);
  const auto number = static_cast<std::uint32_t>(graph_.data().size());
  if (!whole || *whole == number) {
    refuse_at(origin_, place,
              fmt::format("there is no datum {} before it{}", in_quotes(part_of_),
                          did_you_mean(part_of_, data_.defined())));
  }
  graph::Graph::Partition* const last = partitions_.empty() ? nullptr : &partitions_.back();
  if (last != nullptr && last->whole == *whole && last->first + last->count == number) {
    ++last->count;
  } else {
    partitions_.push_back({.whole = *whole, .first = number, .count = 1});
  }
}

// --- values --------------------------------------------------------------------------------------
bool Reader::take(Kind kind, const Value& value) {
  require(kind);
  if (place_ == Place::access) {
    access_text(value.text);
  } else {
    key_->set(*this, value);
  }
  return true;
}

std::int64_t Reader::whole(const Value& value, std::int64_t lowest, std::int64_t highest) const {
  if (!value.whole || *value.whole < lowest || *value.whole > highest) {
    refuse(fmt::format("expected a whole number from {} to {}, found {}", lowest, highest,
                       value.real));
  }
  return *value.whole;
}

double Reader::real(const Value& value, double highest) const {
  if (!(value.real >= 0 && value.real <= highest)) {
    refuse(fmt::format("expected a number from 0 to {}, found {}", highest, value.real));
  }
  return value.real;
}

// The text, which is one of these. `what`: what they are, with a space behind it.
std::string_view Reader::one_of(std::string_view text, std::span<const std::string_view> choices,
                                std::string_view what) const {
  if (const auto at = std::ranges::find(choices, text); at != choices.end()) return *at;
  std::string list = in_quotes(choices.front());
  for (std::size_t i = 1; i < choices.size(); ++i) {
    list += (i + 1 == choices.size() ? " or " : ", ") + in_quotes(choices[i]);
  }
  refuse(fmt::format("expected {}{}, found {}", what, list, in_quotes(text)));
}

void Reader::access_text(const std::string& value) {
  static constexpr std::array kModes{AccessMode::R,       AccessMode::W,
                                     AccessMode::RW,      AccessMode::commute,
                                     AccessMode::scratch, AccessMode::reduction};
  static constexpr auto kName = [](AccessMode mode) { return to_string(mode); };
  static constexpr auto kNames = [] {
    std::array<std::string_view, kModes.size()> names;
    std::ranges::transform(kModes, names.begin(), kName);
    return names;
  }();
  ++access_parts_;
  if (access_parts_ == 1) {
    datum_ = data_.number(value, {.task = graph_.tasks().size(), .access = access_number_});
  } else if (access_parts_ > 2) {
    refuse("expected [datum, mode]");
  } else {
    add_access(*std::ranges::find(kModes, one_of(value, kNames, "the mode "), kName));
  }
}

void Reader::add_access(AccessMode mode) {
  if (last_access_.size() < data_.count()) {
    last_access_.resize(data_.count(), std::numeric_limits<std::uint64_t>::max());
  }
  std::uint64_t& last = last_access_[datum_];
  const std::uint64_t first = graph_.accesses().size();
  if (last >= first && last - first < task_.accesses.size()) {
    AccessMode& named_before = task_.accesses[last - first].mode;
    if (named_before != mode &&
        (named_before == AccessMode::scratch || mode == AccessMode::scratch))
      refuse("a task names a datum as scratch, and again in another mode");
    if (named_before == AccessMode::reduction || mode == AccessMode::reduction)
      refuse("a task names a datum twice, and reduces into it; name it once");
    named_before = strongest(named_before, mode);
    return;
  }
  if (task_.accesses.size() == graph::kMostAccesses) {
    refuse(fmt::format("a task has {} accesses at most", graph::kMostAccesses));
  }
  last = first + task_.accesses.size();
  task_.accesses.push_back({datum_, mode});
}

// --- the end -------------------------------------------------------------------------------------
void Reader::resolve(const Names& names, std::string_view what) const {
  const auto undefined = names.first_undefined();
  if (!undefined) return;
  const std::string& name = names.name(*undefined);
  const Names::Use use = names.first_use(*undefined);
  const std::string place = &names == &data_
                                ? fmt::format("tasks[{}].accesses[{}]", use.task, use.access)
                                : fmt::format("tasks[{}].kernel", use.task);
  refuse_at(origin_, place,
            fmt::format("there is no {} {}{}", what, in_quotes(name),
                        did_you_mean(name, names.defined())));
}

// Before names of kernels are looked up for tasks: of those that none defines the message says where they stand.
void Reader::add_reductions() {
  for (const graph::Graph::Reduction& read : reductions_) {
    const auto index_of = [&](std::uint32_t number, std::string_view key) {
      const std::uint32_t index = kernels_.indices()[number];
      if (index != Names::kUndefined) return index;
      const std::string& name = kernels_.name(number);
      refuse_at(origin_,
                fmt::format("data[{}].reduction.{}", in_quotes(graph_.data_name(read.datum)), key),
                fmt::format("there is no kernel {}{}", in_quotes(name),
                            did_you_mean(name, kernels_.defined())));
    };
    graph_.add_reduction({.datum = read.datum,
                          .neutral = index_of(read.neutral, "neutral"),
                          .combine = index_of(read.combine, "combine")});
  }
}

graph::Graph Reader::finish() {
  add_reductions();
  resolve(kernels_, "kernel");
  resolve(data_, "datum");
  for (const graph::Graph::Partition& partition : partitions_) graph_.add_partition(partition);
  graph_.renumber(kernels_.indices(), data_.indices());
  require_sound(graph_, origin_);
  return std::move(graph_);
}

}  // namespace

graph::Graph parse_graph_json(std::string_view text, const std::string& origin) {
  Reader reader(text, origin);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return reader.finish();
}

}  // namespace vicinal::graphfiles
