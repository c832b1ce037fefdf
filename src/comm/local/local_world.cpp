#include "comm/local/local_world.hpp"

#include <deque>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "comm/local/local_network.hpp"
#include "vicinal/data.hpp"
#include "vicinal/error.hpp"

namespace vicinal::comm {
namespace {

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<LocalNetwork> network, RankId rank)
      : network_(std::move(network)), rank_(rank) {
    network_->note_transport(rank);
  }
  LocalTransport(const LocalTransport&) = delete;
  LocalTransport& operator=(const LocalTransport&) = delete;
  ~LocalTransport() override { network_->close(rank_); }

  RankId rank() const override { return rank_; }
  std::uint32_t ranks() const override { return network_->ranks(); }

  void post_message(RankId to, std::span<const std::byte> bytes) override {
    network_->post_message(rank_, to, bytes);
  }
  void post_send(RankId to, Channel channel, const std::byte* from, const Layout& layout,
                 PayloadId payload) override {
    network_->post_send(rank_, to, channel, {from, layout}, payload);
  }
  void post_receive(RankId from, Channel channel, std::byte* to, const Layout& layout,
                    PayloadId payload) override {
    network_->post_receive(rank_, from, channel, {to, layout}, payload);
  }
  // What is told may post, cancel, and throw: the rest is kept for the next poll.
  bool poll(TransportEvents& events) override {
    network_->collect(rank_, told_);
    const bool any = !told_.empty();
    while (!told_.empty()) {
      const LocalEvent event = std::move(told_.front());
      told_.pop_front();
      tell(event, events);
    }
    return any;
  }
  void cancel() override {
    network_->close(rank_);
    told_.clear();
  }

 private:
  static void tell(const LocalEvent& event, TransportEvents& events) {
    switch (event.kind) {
      case LocalEvent::Kind::message:
        events.message_arrived(event.rank, event.bytes);
        break;
      case LocalEvent::Kind::payload:
        events.payload_ended(event.payload);
        break;
      case LocalEvent::Kind::loss:
        events.rank_lost(event.rank, event.why);
        break;
    }
  }

  const std::shared_ptr<LocalNetwork> network_;
  const RankId rank_;
  std::deque<LocalEvent> told_;
};

std::shared_ptr<LocalNetwork> made_network(std::uint32_t ranks, const LocalRules& rules) {
  if (ranks == 0 || ranks > LocalWorld::kMostRanks)
    throw UsageError(
        fmt::format("a process cannot hold {} ranks: give 1 to {}", ranks, LocalWorld::kMostRanks));
  return std::make_shared<LocalNetwork>(ranks, rules);
}

}  // namespace

LocalWorld::LocalWorld(std::uint32_t ranks, const LocalRules& rules)
    : network_(made_network(ranks, rules)) {}
LocalWorld::~LocalWorld() = default;

std::uint32_t LocalWorld::ranks() const {
  return network_->ranks();
}
std::unique_ptr<Transport> LocalWorld::transport(RankId rank) {
  return std::make_unique<LocalTransport>(network_, rank);
}
void LocalWorld::stop(RankId rank) {
  network_->stop(rank, true);
}
void LocalWorld::go_on(RankId rank) {
  network_->stop(rank, false);
}
void LocalWorld::kill(RankId rank, const std::string& why) {
  network_->kill(rank, why);
}
LocalTraffic LocalWorld::traffic(RankId from, RankId to) const {
  return network_->traffic(from, to);
}
std::size_t LocalWorld::under_way() const {
  return network_->under_way();
}

}  // namespace vicinal::comm
