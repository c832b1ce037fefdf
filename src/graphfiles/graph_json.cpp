// The reader of our own format: the parser's events go straight into the graph, without a document in
// between, so that a million tasks take a second and little more memory than the graph.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

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

struct Number {
  double real = 0;
  std::optional<std::int64_t> whole;  // if it is a whole number of 64 bits
};

// --- the reader ----------------------------------------------------------------------------------
// Called by nlohmann::json::sax_parse, which keeps what is open in a list, not on the stack.
class Reader {
 public:
  Reader(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

  graph::Graph finish();

  // --- the parser's events; true: go on
  bool null() { return require(Kind::nothing); }
  bool boolean(bool value) {
    require(Kind::flag);
    (field_ == Field::cores_only ? kernel_.cores_only : kernel_.synchronous) = value;
    return true;
  }
  bool number_integer(std::int64_t value) { return number({static_cast<double>(value), value}); }
  bool number_unsigned(std::uint64_t value) {
    Number number_read{static_cast<double>(value), std::nullopt};
    if (value <= std::numeric_limits<std::int64_t>::max()) {
      number_read.whole = static_cast<std::int64_t>(value);
    }
    return number(number_read);
  }
  bool number_float(double value, const std::string& /*text*/) {
    Number number_read{value, std::nullopt};
    constexpr double kExact = 0x1p53;  // "1e6" is a whole number, too
    if (std::fabs(value) <= kExact && std::trunc(value) == value) {
      number_read.whole = static_cast<std::int64_t>(value);
    }
    return number(number_read);
  }
  bool string(const std::string& value);
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
  Kind wanted() const;
  bool require(Kind found) const;
  bool open(Kind kind);
  bool close();
  bool number(const Number& value);
  void access_text(const std::string& value);
  void add_access(AccessMode mode);
  void add_part();
  void add_reductions();
  void require_fields(std::initializer_list<Field> fields) const;
  void resolve(const Names& names, std::string_view what) const;
  std::int64_t whole(const Number& value, std::int64_t lowest, std::int64_t highest) const;
  double real(const Number& value, double highest) const;
  std::string path() const;
  std::string path_of(Place place) const;
  [[noreturn]] void refuse(const std::string& message) const {
    refuse_at(origin_, path(), message);
  }

  bool seen(Field field) const { return (seen_ >> static_cast<unsigned>(field) & 1U) != 0; }

  std::string_view text_;
  const std::string& origin_;
  graph::Graph graph_;
  Names data_;
  Names kernels_;

  Place place_ = Place::file;
  Field field_ = Field::format;  // of the object that is open; what the next value is for
  std::uint32_t seen_ = 0;       // fields of all open objects

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
      return fmt::format("tasks[{}]", graph_.tasks().size());
    case Place::accesses:
      return fmt::format("{}[{}]", path_of(Place::accesses), access_number_);
    case Place::data:
    case Place::kernels:
    case Place::access:
      // The name of a datum or kernel has been read with its key.
      return path_of(place_ == Place::data      ? Place::datum
                     : place_ == Place::kernels ? Place::kernel
                                                : Place::access);
    default:
      break;
  }
  std::string_view name;
  for (const Key& key : kKeys) {
    if (key.field == field_) name = key.name;
  }
  const std::string outer = path_of(place_);
  return outer.empty() ? std::string(name) : fmt::format("{}.{}", outer, name);
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
      break;
  }
  for (const Key& key : kKeys) {
    if (key.field == field_) return key.kind;
  }
  return Kind::nothing;
}

bool Reader::require(Kind found) const {
  const Kind want = wanted();
  if (found != want) {
    refuse(fmt::format("expected {}, found {}", to_string(want), to_string(found)));
  }
  return true;
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
    case Place::datum:
      place_ = Place::reduction;
      reductions_.push_back({.datum = static_cast<std::uint32_t>(graph_.data().size())});
      break;
    case Place::graph:
      place_ = field_ == Field::data      ? Place::data
               : field_ == Field::kernels ? Place::kernels
                                          : Place::tasks;
      break;
    default:
      place_ = place_ == Place::kernel ? Place::seconds : Place::accesses;
      break;
  }
  for (const Key& key : kKeys) {
    if (key.in == place_) seen_ &= ~(1U << static_cast<unsigned>(key.field));
  }
  return true;
}

bool Reader::close() {
  switch (place_) {
    case Place::graph:
      require_fields({Field::tasks});
      break;
    case Place::datum:
      require_fields({Field::bytes});
      if (!part_of_.empty()) add_part();
      graph_.add_datum(datum_fields_, datum_name_);
      break;
    case Place::reduction:
      require_fields({Field::neutral, Field::combine});
      break;
    case Place::kernel:
      graph_.add_kernel(std::move(kernel_));
      break;
    case Place::task:
      require_fields({Field::kernel, Field::accesses});
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

void Reader::require_fields(std::initializer_list<Field> fields) const {
  for (const Key& key : kKeys) {
    for (const Field field : fields) {
      if (key.field != field || seen(field)) continue;
      const std::string place = path_of(place_);
      refuse_at(origin_, place.empty() ? "the graph" : place,
                fmt::format("\"{}\" is missing", key.name));
    }
  }
}

bool Reader::key(const std::string& name) {
  if (place_ == Place::data) {
    if (!data_.define(name, graph_.data().size()))
      refuse_at(origin_, "data", in_quotes(name) + " stands twice");
    datum_fields_ = {};
    part_of_.clear();
    datum_name_ = name;
    return true;
  }
  if (place_ == Place::kernels) {
    if (!kernels_.define(name, graph_.kernels().size())) {
      refuse_at(origin_, "kernels", in_quotes(name) + " stands twice");
    }
    kernel_ = {.name = name};
    return true;
  }
  const auto refuse_key = [this](const std::string& message) {
    const std::string outer = path_of(place_);
    refuse_at(origin_, outer.empty() ? "the graph" : outer, message);
  };
  for (const Key& key : kKeys) {
    if (key.in != place_ || key.name != name) continue;
    if (seen(key.field)) refuse_key(in_quotes(name) + " stands twice");
    seen_ |= 1U << static_cast<unsigned>(key.field);
    field_ = key.field;
    return true;
  }
  refuse_key("unknown key " + in_quotes(name) + did_you_mean(name, names_in(place_)));
  return false;
}

// --- values --------------------------------------------------------------------------------------
std::int64_t Reader::whole(const Number& value, std::int64_t lowest, std::int64_t highest) const {
  if (!value.whole || *value.whole < lowest || *value.whole > highest) {
    refuse(fmt::format("expected a whole number from {} to {}, found {}", lowest, highest,
                       value.real));
  }
  return *value.whole;
}

double Reader::real(const Number& value, double highest) const {
  if (!(value.real >= 0 && value.real <= highest)) {
    refuse(fmt::format("expected a number from 0 to {}, found {}", highest, value.real));
  }
  return value.real;
}

bool Reader::number(const Number& value) {
  require(Kind::number);
  switch (field_) {
    case Field::bytes:
      datum_fields_.bytes.value = static_cast<std::uint64_t>(
          whole(value, 0, static_cast<std::int64_t>(graph::kMostGraphBytes.value)));
      break;
    case Field::flops:
      kernel_.flops = real(value, graph::kMostTaskFlops);
      break;
    case Field::priority:
      task_.priority = static_cast<int>(
          whole(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
      break;
    default: {
      const auto kind =
          static_cast<std::size_t>(field_) - static_cast<std::size_t>(Field::seconds_cpu);
      kernel_.seconds[kind] = real(value, graph::kMostTaskSeconds);
      break;
    }
  }
  return true;
}

bool Reader::string(const std::string& value) {
  require(Kind::text);
  if (place_ == Place::access) {
    access_text(value);
    return true;
  }
  switch (field_) {
    case Field::graph_name:
      graph_.application().name = value;
      break;
    case Field::precision:
      if (value != "float" && value != "double") {
        refuse("expected \"float\" or \"double\", found " + in_quotes(value));
      }
      graph_.application().precision = value;
      break;
    case Field::home:
      if (value != "ram" && value != "disk") {
        refuse("expected \"ram\" or \"disk\", found " + in_quotes(value));
      }
      datum_fields_.home = value == "ram" ? NodeKind::ram : NodeKind::disk;
      break;
    case Field::part_of:
      part_of_ = value;
      break;
    case Field::neutral:
      reductions_.back().neutral = kernels_.number(value, {});
      break;
    case Field::combine:
      reductions_.back().combine = kernels_.number(value, {});
      break;
    case Field::kernel:
      task_.kernel = kernels_.number(value, {.task = graph_.tasks().size()});
      break;
    case Field::task_name:
      task_.name = value;
      break;
    default:
      if (value != "vicinal-graph-1")
        refuse("expected \"vicinal-graph-1\", found " + in_quotes(value));
      break;
  }
  return true;
}

void Reader::access_text(const std::string& value) {
  ++access_parts_;
  if (access_parts_ == 1) {
    datum_ = data_.number(value, {.task = graph_.tasks().size(), .access = access_number_});
  } else if (access_parts_ > 2) {
    refuse("expected [datum, mode]");
  } else {
    constexpr std::array kModes{AccessMode::R,       AccessMode::W,       AccessMode::RW,
                                AccessMode::commute, AccessMode::scratch, AccessMode::reduction};
    const auto mode = std::ranges::find(kModes, value, [](AccessMode m) { return to_string(m); });
    if (mode == kModes.end()) {
      refuse(
          "expected the mode \"R\", \"W\", \"RW\", \"commute\", \"scratch\" or \"reduction\", "
          "found " +
          in_quotes(value));
    }
    add_access(*mode);
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
