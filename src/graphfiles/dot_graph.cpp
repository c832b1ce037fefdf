// Directed graphs in DOT, the language of Graphviz: nodes are tasks, edges dependencies, and attributes of programs that
// schedule such graphs say what a task takes and what an edge carries. docs/graph-file.md has the table.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "graph/sound.hpp"
#include "graphfiles/dot_lexer.hpp"
#include "graphfiles/file_text.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphfiles/workflow.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace dot {

namespace {

using Number = Workflow::Number;
using Token = DotLexer::Token;
using Kind = DotLexer::Kind;

constexpr std::size_t kMostDepth = 100;         // of braces
constexpr std::size_t kMostEdges = 20'000'000;  // {a b} -> {c d} are four
constexpr std::size_t kLongestValue = 200;      // of an attribute
constexpr std::size_t kLongestCategory = 100;

// The first of them that a node, or an edge, has counts.
constexpr std::array<std::string_view, 7> kTimeKeys{"seconds",  "time", "runtime", "exec_time",
                                                    "duration", "cost", "weight"};
constexpr std::array<std::string_view, 2> kOperationKeys{"flops", "size"};
constexpr std::array<std::string_view, 5> kByteKeys{"bytes", "size", "data", "cost", "weight"};

// Those given, with their places for messages.
struct Attributes {
  std::map<std::string, Token, std::less<>> given;
  template <std::size_t count>
  const std::pair<const std::string, Token>* first_of(
      const std::array<std::string_view, count>& keys) const {
    for (const std::string_view key : keys) {
      const auto found = given.find(key);
      if (found != given.end()) return &*found;
    }
    return nullptr;
  }
  void set(const Attributes& others) {
    for (const auto& [key, value] : others.given) given.insert_or_assign(key, value);
  }
};

// What holds from a place on in a pair of braces, and the nodes named there.
struct Scope {
  Attributes nodes;
  Attributes edges;
  std::vector<Number> named = {};
};

class DotReader {
 public:
  DotReader(std::string_view text, const std::string& origin)
      : origin_(origin), lexer_(text, origin), workflow_(origin, "nodes") {}

  graph::Graph read() {
    read_head();
    Scope scope;
    read_statements(scope, 1);
    expect('}', "the graph's end");
    // What stands behind it is another graph, of which Graphviz would make another picture.
    if (lexer_.now().kind != Kind::end) {
      lexer_.refuse(lexer_.now(), "the graph has ended: a file holds one");
    }
    for (const auto& [ends, attributes] : strict_edges_) add_edge(ends, attributes);
    for (Number n = 0; n < nodes_.size(); ++n) describe(n);
    return workflow_.make_graph();
  }

 private:
  void read_head();
  void expect(char punctuation, std::string_view what);
  std::string expect_id(std::string_view what);
  void read_statements(Scope& scope, std::size_t depth);
  void read_statement(Scope& scope, std::size_t depth);
  std::vector<Number> read_end(Scope& scope, std::size_t depth);
  std::vector<Number> read_subgraph(Scope& scope, std::size_t depth);
  void read_edges(Scope& scope, std::size_t depth, std::vector<Number> from);
  Attributes read_attributes();
  Number node(const std::string& id, Scope& scope);
  void add_edges(const std::vector<Number>& from, const std::vector<Number>& to,
                 const Attributes& attributes);
  void add_edge(std::pair<Number, Number> ends, const Attributes& attributes);
  void describe(Number number);
  double real(const std::pair<const std::string, Token>& attribute, double most,
              std::string_view what) const;
  Bytes bytes(const std::pair<const std::string, Token>& attribute) const;

  const std::string& origin_;
  DotLexer lexer_;
  Workflow workflow_;
  bool strict_ = false;
  std::vector<Attributes> nodes_;
  std::unordered_map<std::string, Number> ids_;
  std::unordered_map<std::string, std::vector<Number>> subgraphs_;
  std::map<std::pair<Number, Number>, Attributes> strict_edges_;  // one between two nodes
  std::map<std::pair<Number, Number>, std::size_t> carrying_;     // edges that have bytes
  std::size_t edges_ = 0;
};

// --- reading -------------------------------------------------------------------------------------
void DotReader::read_head() {
  if (lexer_.now().is("strict")) {
    strict_ = true;
    lexer_.take();
  }
  const Token kind = lexer_.take();
  if (kind.is("graph")) {
    lexer_.refuse(
        kind,
        "an undirected graph does not say which task comes first: write digraph, and -> for --");
  }
  if (!kind.is("digraph")) lexer_.refuse(kind, "expected digraph");
  if (lexer_.now().kind == Kind::id) workflow_.set_name(lexer_.take().text);
  expect('{', "the graph's beginning");
}

void DotReader::expect(char punctuation, std::string_view what) {
  const Token token = lexer_.take();
  if (token.is(punctuation)) return;
  lexer_.refuse(token,
                token.kind == Kind::end
                    ? fmt::format("the file ends, and {} is missing: {}", what, punctuation)
                    : fmt::format("expected {}, found {}", punctuation, in_quotes(token.text)));
}

std::string DotReader::expect_id(std::string_view what) {
  Token token = lexer_.take();
  if (token.kind == Kind::id || token.kind == Kind::html) return std::move(token.text);
  lexer_.refuse(token, token.kind == Kind::end
                           ? fmt::format("the file ends where {} is expected", what)
                           : fmt::format("expected {}, found {}", what, in_quotes(token.text)));
}

void DotReader::read_statements(Scope& scope, std::size_t depth) {
  if (depth > kMostDepth) {
    lexer_.refuse(lexer_.now(), fmt::format("more than {} braces inside each other", kMostDepth));
  }
  while (lexer_.now().kind != Kind::end && !lexer_.now().is('}')) {
    if (lexer_.now().is(';') || lexer_.now().is(',')) {
      lexer_.take();
    } else {
      read_statement(scope, depth);
    }
  }
}

void DotReader::read_statement(Scope& scope, std::size_t depth) {
  const Token& first = lexer_.now();
  if (first.is("graph") || first.is("node") || first.is("edge")) {
    const Token what = lexer_.take();
    if (!lexer_.now().is('['))
      lexer_.refuse(lexer_.now(), fmt::format("expected [ behind {}", what.text));
    const Attributes attributes = read_attributes();
    if (what.text == "node") scope.nodes.set(attributes);
    if (what.text == "edge") scope.edges.set(attributes);
    return;
  }
  if (first.is("subgraph") || first.is('{')) {
    std::vector<Number> from = read_end(scope, depth);
    if (lexer_.now().kind == Kind::arrow || lexer_.now().kind == Kind::line) {
      read_edges(scope, depth, std::move(from));
    }
    return;
  }
  const Token name = lexer_.take();
  if (name.kind != Kind::id && name.kind != Kind::html) {
    lexer_.refuse(name,
                  fmt::format("expected a node, an edge or }}, found {}", in_quotes(name.text)));
  }
  if (lexer_.now().is('=')) {  // an attribute of the graph
    lexer_.take();
    expect_id("a value");
    return;
  }
  const Number one = node(name.text, scope);
  while (lexer_.now().is(':')) {  // a port
    lexer_.take();
    expect_id("a port");
  }
  if (lexer_.now().kind == Kind::arrow || lexer_.now().kind == Kind::line) {
    read_edges(scope, depth, {one});
  } else if (lexer_.now().is('[')) {
    nodes_[one].set(read_attributes());
  }
}

// One end of an edge: a node, or all nodes of a subgraph.
std::vector<Number> DotReader::read_end(Scope& scope, std::size_t depth) {
  if (lexer_.now().is("subgraph") || lexer_.now().is('{')) return read_subgraph(scope, depth);
  const Number one = node(expect_id("a node"), scope);
  while (lexer_.now().is(':')) {
    lexer_.take();
    expect_id("a port");
  }
  return {one};
}

std::vector<Number> DotReader::read_subgraph(Scope& scope, std::size_t depth) {
  std::string id;
  if (lexer_.now().is("subgraph")) {
    lexer_.take();
    if (lexer_.now().kind == Kind::id) id = lexer_.take().text;
    if (!lexer_.now().is('{')) return subgraphs_[id];  // one that was described before
  }
  expect('{', "a subgraph's beginning");
  Scope inner{.nodes = scope.nodes, .edges = scope.edges};
  read_statements(inner, depth + 1);
  expect('}', "a subgraph's end");
  std::sort(inner.named.begin(), inner.named.end());
  inner.named.erase(std::unique(inner.named.begin(), inner.named.end()), inner.named.end());
  scope.named.insert(scope.named.end(), inner.named.begin(), inner.named.end());
  if (!id.empty()) subgraphs_[id] = inner.named;
  return std::move(inner.named);
}

// a -> b -> {c d} [size=5]
void DotReader::read_edges(Scope& scope, std::size_t depth, std::vector<Number> from) {
  std::vector<std::vector<Number>> ends{std::move(from)};
  while (lexer_.now().kind == Kind::arrow || lexer_.now().kind == Kind::line) {
    const Token arrow = lexer_.take();
    if (arrow.kind == Kind::line) {
      lexer_.refuse(arrow, "-- does not say which task comes first: write ->");
    }
    ends.push_back(read_end(scope, depth));
  }
  Attributes attributes = scope.edges;
  if (lexer_.now().is('[')) attributes.set(read_attributes());
  for (std::size_t e = 0; e + 1 < ends.size(); ++e) add_edges(ends[e], ends[e + 1], attributes);
}

// [a=1, b="x"; c] [d=2]; those that nobody asks for are passed over.
Attributes DotReader::read_attributes() {
  const auto asked = [](std::string_view key) {
    const auto in = [key](const auto& keys) { return std::ranges::find(keys, key) != keys.end(); };
    return key == "label" || key == "kernel" || key == "priority" || in(kTimeKeys) ||
           in(kOperationKeys) || in(kByteKeys);
  };
  Attributes attributes;
  while (lexer_.now().is('[')) {
    lexer_.take();
    while (!lexer_.now().is(']')) {
      const std::string key = expect_id("an attribute or ]");
      Token value{.kind = Kind::id, .text = "true", .position = lexer_.now().position};
      if (lexer_.now().is('=')) {
        lexer_.take();
        value = lexer_.now();
        expect_id("a value");
      }
      // Each node that a default holds for has a copy: a book in it would be printed too often.
      if (value.text.size() > kLongestValue) value.text.resize(kLongestValue);
      if (asked(key)) attributes.given.insert_or_assign(key, std::move(value));
      if (lexer_.now().is(',') || lexer_.now().is(';')) lexer_.take();
    }
    lexer_.take();
  }
  return attributes;
}

Number DotReader::node(const std::string& id, Scope& scope) {
  const auto [found, is_new] = ids_.try_emplace(id, static_cast<Number>(nodes_.size()));
  if (is_new) {
    workflow_.add_step({.id = id, .category = {}});
    nodes_.push_back(scope.nodes);
  }
  scope.named.push_back(found->second);
  return found->second;
}

// --- what it means -------------------------------------------------------------------------------
void DotReader::add_edges(const std::vector<Number>& from, const std::vector<Number>& to,
                          const Attributes& attributes) {
  edges_ += from.size() * to.size();
  if (edges_ > kMostEdges) {
    lexer_.refuse(lexer_.now(), fmt::format("the graph has more than {} edges", kMostEdges));
  }
  for (const Number before : from) {
    for (const Number after : to) {
      if (strict_) {
        strict_edges_[{before, after}].set(attributes);
      } else {
        add_edge({before, after}, attributes);
      }
    }
  }
}

// What an edge carries is a datum, which its tail writes and its head reads.
void DotReader::add_edge(std::pair<Number, Number> ends, const Attributes& attributes) {
  const auto [before, after] = ends;
  workflow_.add_edge(before, after);
  const auto* const size = attributes.first_of(kByteKeys);
  const Bytes carried = size == nullptr ? Bytes{} : bytes(*size);
  if (carried.value == 0) return;
  const std::size_t count = ++carrying_[ends];
  const std::string name =
      fmt::format("{} -> {}{}", workflow_.step(before).id, workflow_.step(after).id,
                  count == 1 ? std::string() : fmt::format(" #{}", count));
  const Number datum = workflow_.add_file(name, carried);
  workflow_.step(before).accesses.push_back({datum, AccessMode::W});
  workflow_.step(after).accesses.push_back({datum, AccessMode::R});
}

void DotReader::describe(Number number) {
  const Attributes& attributes = nodes_[number];
  Workflow::Step& step = workflow_.step(number);
  const auto text_of = [&](std::string_view key) {
    const auto found = attributes.given.find(key);
    const bool is_text = found != attributes.given.end() && found->second.kind == Kind::id;
    return is_text ? found->second.text : std::string();
  };
  std::string category = text_of("kernel");
  if (category.empty()) {
    // Of a label the first line: "\n", "\l" and "\r" end one, and "\N" is the node's name.
    std::string label = text_of("label");
    label = label.substr(0, std::min(label.find('\n'), label.find('\\')));
    category = category_of(label.empty() ? step.id : label);
  }
  step.category = category.substr(0, kLongestCategory);
  if (const auto* const time = attributes.first_of(kTimeKeys); time != nullptr) {
    step.seconds = seconds_everywhere(real(*time, graph::kMostTaskSeconds, "seconds"));
  }
  if (const auto* const operations = attributes.first_of(kOperationKeys); operations != nullptr) {
    step.flops = real(*operations, graph::kMostTaskFlops, "operations");
    // 0 would mean that they are not known.
    if (step.flops == 0 && step.seconds == Workflow::Seconds{})
      step.seconds = seconds_everywhere(0);
  }
  if (const auto priority = attributes.given.find("priority"); priority != attributes.given.end()) {
    const double value = real(*priority, 2147483647, "urgency");
    step.priority = static_cast<int>(value);
  }
}

double DotReader::real(const std::pair<const std::string, Token>& attribute, double most,
                       std::string_view what) const {
  const auto& [key, value] = attribute;
  double number = -1;
  const char* const end = value.text.data() + value.text.size();
  const auto [rest, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc() && rest == end && number >= 0 && number <= most) return number;
  lexer_.refuse(value, fmt::format("{}: expected a number of {} from 0 to {}, found {}", key, what,
                                   most, in_quotes(value.text)));
}

// "4096", "1.5e6", and "4 MiB" too.
Bytes DotReader::bytes(const std::pair<const std::string, Token>& attribute) const {
  const auto& [key, value] = attribute;
  const bool has_unit =
      !value.text.empty() && std::isalpha(static_cast<unsigned char>(value.text.back())) != 0;
  if (has_unit) {
    try {
      return base::parse_bytes(value.text);
    } catch (const UsageError& error) {
      lexer_.refuse(value, fmt::format("{}: {}", key, error.what()));
    }
  }
  if (value.text.starts_with('-') && key == "size")
    return {};  // so SimGrid writes that nothing is carried
  const double most = static_cast<double>(graph::kMostGraphBytes.value);
  return {static_cast<std::uint64_t>(std::ceil(real(attribute, most, "bytes")))};
}

}  // namespace

}  // namespace dot

graph::Graph parse_dot(std::string_view text, const std::string& origin) {
  return dot::DotReader(text, origin).read();
}

}  // namespace vicinal::graphfiles
