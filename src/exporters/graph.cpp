// The graph of tasks as a file that `vicinal simulate --graph` plays.
#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string_view>

#include "analysis/recorded_graph.hpp"
#include "exporters/exporters.hpp"
#include "graphfiles/graph_file.hpp"
#include "trace/reader.hpp"

namespace vicinal::exporters {

namespace {

// Hands on what is written to a stream, in pieces.
class SinkBuffer final : public std::streambuf {
 public:
  explicit SinkBuffer(Sink sink) : sink_(sink) { setp(piece_, piece_ + sizeof(piece_)); }
  void finish() {
    if (pptr() != pbase()) sink_({pbase(), static_cast<std::size_t>(pptr() - pbase())});
    setp(piece_, piece_ + sizeof(piece_));
  }

 private:
  int_type overflow(int_type byte) override {
    finish();
    return traits_type::eq_int_type(byte, traits_type::eof())
               ? traits_type::not_eof(byte)
               : sputc(traits_type::to_char_type(byte));
  }

  Sink sink_;
  char piece_[1 << 16];
};

}  // namespace

void write_graph(const Recording& recording, Sink sink) {
  const graph::Graph graph = analysis::graph_of(
      recording.run, recording.file == nullptr ? "the recording" : recording.file->path(),
      recording.times);
  SinkBuffer buffer(sink);
  std::ostream out(&buffer);
  out.exceptions(std::ostream::badbit);  // what the sink throws goes through
  graphfiles::write_graph_json(graph, out);
  buffer.finish();
}

}  // namespace vicinal::exporters
