#include "bounds/rank_traffic.hpp"

#include <utility>

namespace vicinal::bounds {

namespace {

// The ranks that read a version: a set that grows as the walk goes back to earlier versions of a row or of a column,
// which more tasks read.
class Readers {
 public:
  explicit Readers(std::uint32_t ranks) : is_in_(ranks, 0) {}
  void clear() {
    for (const RankId rank : ranks_) is_in_[rank.value] = 0;
    ranks_.clear();
  }
  void add(RankId rank) {
    if (is_in_[rank.value] != 0) return;
    is_in_[rank.value] = 1;
    ranks_.push_back(rank);
  }
  const std::vector<RankId>& ranks() const { return ranks_; }

 private:
  std::vector<char> is_in_;
  std::vector<RankId> ranks_;
};

void add_to(Sent& sum, Bytes bytes) {
  ++sum.tiles;
  sum.bytes += bytes;
}

class TrafficWalk {
 public:
  TrafficWalk(Bytes element, std::uint32_t ranks)
      : element_(element), count_(ranks), readers_(ranks) {
    traffic_.sent.resize(ranks);
    traffic_.received.resize(ranks);
  }
  void begin_readers() { readers_.clear(); }
  void add_reader(const Distribution& owners, std::uint64_t row, std::uint64_t column) {
    readers_.add(owners.owner(row, column, count_));
  }
  // A version of a tile of so many elements.
  void send(const Distribution& owners, std::uint64_t row, std::uint64_t column,
            std::uint64_t elements) {
    const RankId owner = owners.owner(row, column, count_);
    const Bytes bytes = element_ * elements;
    for (const RankId reader : readers_.ranks()) {
      if (reader == owner) continue;
      add_to(traffic_.sent[owner.value], bytes);
      add_to(traffic_.received[reader.value], bytes);
    }
  }
  RankTraffic take() { return std::move(traffic_); }

 private:
  const Bytes element_;
  const std::uint32_t count_;
  Readers readers_;
  RankTraffic traffic_;
};

}  // namespace

Sent RankTraffic::total() const {
  Sent sum;
  for (const Sent& of_rank : sent) {
    sum.tiles += of_rank.tiles;
    sum.bytes += of_rank.bytes;
  }
  return sum;
}

RankTraffic cholesky_traffic(TiledLength n, Bytes element, const Distribution& owners,
                             std::uint32_t ranks) {
  TrafficWalk walk(element, ranks);
  for (std::uint64_t i = 0; i < n.tiles(); ++i) {
    walk.begin_readers();
    for (std::uint64_t j = i + 1; j < n.tiles(); ++j) walk.add_reader(owners, j, i);
    walk.send(owners, i, i, n.of(i) * n.of(i));
    for (std::uint64_t k = i; k-- > 0;) {
      walk.add_reader(owners, i, k + 1);
      walk.send(owners, i, k, n.of(i) * n.of(k));
    }
  }
  return walk.take();
}

RankTraffic lu_traffic(TiledLength n, Bytes element, const Distribution& owners,
                       std::uint32_t ranks) {
  TrafficWalk walk(element, ranks);
  for (std::uint64_t i = 0; i < n.tiles(); ++i) {
    // Row i: L.
    walk.begin_readers();
    for (std::uint64_t j = i + 1; j < n.tiles(); ++j) walk.add_reader(owners, i, j);
    for (std::uint64_t k = i; k-- > 0;) {
      walk.add_reader(owners, i, k + 1);
      walk.send(owners, i, k, n.of(i) * n.of(k));
    }
    // Column i: U.
    walk.begin_readers();
    for (std::uint64_t j = i + 1; j < n.tiles(); ++j) walk.add_reader(owners, j, i);
    for (std::uint64_t k = i; k-- > 0;) {
      walk.add_reader(owners, k + 1, i);
      walk.send(owners, k, i, n.of(k) * n.of(i));
    }
    walk.begin_readers();
    for (std::uint64_t j = i + 1; j < n.tiles(); ++j) {
      walk.add_reader(owners, i, j);
      walk.add_reader(owners, j, i);
    }
    walk.send(owners, i, i, n.of(i) * n.of(i));
  }
  return walk.take();
}

RankTraffic product_traffic(const ProductLengths& lengths, Bytes element,
                            const ProductOwners& owners, std::uint32_t ranks) {
  const TiledLength& m = lengths.rows;
  const TiledLength& n = lengths.columns;
  const TiledLength& inner = lengths.inner;
  TrafficWalk walk(element, ranks);
  for (std::uint64_t i = 0; i < m.tiles(); ++i) {
    walk.begin_readers();
    for (std::uint64_t j = 0; j < n.tiles(); ++j) walk.add_reader(owners.c, i, j);
    for (std::uint64_t k = 0; k < inner.tiles(); ++k) {
      walk.send(owners.a, i, k, m.of(i) * inner.of(k));
    }
  }
  for (std::uint64_t j = 0; j < n.tiles(); ++j) {
    walk.begin_readers();
    for (std::uint64_t i = 0; i < m.tiles(); ++i) walk.add_reader(owners.c, i, j);
    for (std::uint64_t k = 0; k < inner.tiles(); ++k) {
      walk.send(owners.b, k, j, inner.of(k) * n.of(j));
    }
  }
  return walk.take();
}

}  // namespace vicinal::bounds
