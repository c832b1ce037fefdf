#include "comm/simulated/simulated_ranks.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace vicinal::comm {

struct SimulatedRanks::Event {
  enum class Kind : std::uint8_t { message, payload } kind = Kind::message;
  RankId from = {};
  std::vector<std::byte> bytes = {};
  PayloadId payload = {};
};

class SimulatedRanks::RankTransport final : public Transport {
 public:
  RankTransport(SimulatedRanks& all, RankId rank) : all_(all), rank_(rank) {}
  RankId rank() const override { return rank_; }
  std::uint32_t ranks() const override { return all_.count(); }
  void post_message(RankId to, std::span<const std::byte> bytes) override {
    all_.post_message(rank_, to, bytes);
  }
  void post_send(RankId to, Channel channel, const std::byte* /*from*/, const Layout& layout,
                 PayloadId payload) override {
    const std::uint32_t numa_node =
        memory_ ? memory_->homes().home_of(content_, 0) : sim::HostNetwork::kNoNuma;
    all_.post_send(rank_, to, channel, layout.bytes(), payload, numa_node);
  }
  void post_receive(RankId from, Channel channel, std::byte* /*to*/, const Layout& /*layout*/,
                    PayloadId payload) override {
    const std::uint32_t numa_node =
        memory_ ? memory_->homes().receive(content_) : sim::HostNetwork::kNoNuma;
    all_.posted_[{from.value, rank_.value, channel.value}] = {payload, numa_node};
  }
  bool poll(TransportEvents& events) override {
    if (told_.empty()) return false;
    for (const Event& event : std::exchange(told_, {})) {
      if (event.kind == Event::Kind::message) {
        events.message_arrived(event.from, event.bytes);
      } else if (!is_closed_) {
        events.payload_ended(event.payload);
      }
    }
    return true;
  }
  void cancel() override { is_closed_ = true; }
  void tell(Event event) { told_.push_back(std::move(event)); }
  void use_memory(std::shared_ptr<sim::HostMemory> memory) {
    memory_ = memory;
    all_.network_.use_memory(rank_.value, std::move(memory));
  }
  // Of the payload that is posted next.
  void name_content(HandleId content) { content_ = content.value; }

 private:
  SimulatedRanks& all_;
  const RankId rank_;
  std::deque<Event> told_;
  bool is_closed_ = false;
  std::shared_ptr<sim::HostMemory> memory_;
  std::uint64_t content_ = 0;
};

class SimulatedRanks::RankProgress final : public Progress, private sim::Actor {
 public:
  RankProgress(SimulatedRanks& all, const ExchangeRules& rules,
               std::unique_ptr<RankTransport> transport)
      : Progress(rules),
        all_(all),
        world_(all.world_),
        place_(world_.enter(*this)),
        its_transport_(*transport) {
    use(std::move(transport));
  }
  ~RankProgress() override { world_.leave(place_); }
  void wake() override { world_.rouse(place_); }
  trace::SharedRecording* shared_recording() override { return &all_.recording_; }
  void use_memory(const std::shared_ptr<sim::HostMemory>& memory) override {
    its_transport_.use_memory(memory);
  }

 private:
  void await(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_so) override {
    while (!is_so()) {
      lock.unlock();
      const bool any = turn();
      lock.lock();
      if (!any && !is_so())
        throw std::logic_error("a simulated rank waits outside of simulated time");
    }
  }
  Time now() const override { return world_.now(); }
  void posts(const graph::Handle& content) override { its_transport_.name_content(content.id); }
  bool act() override {
    const bool any = turn();
    if (!any) look_ahead();
    return any;
  }
  void happened(std::uint64_t /*token*/) override {
    wakes_at_.reset();
    wake();
  }
  void flow_ended(std::uint64_t /*token*/) override {}
  // What is to happen in time if nothing else does.
  void look_ahead() {
    const std::optional<Time> next = exchange_ ? exchange_->deliveries().next() : std::nullopt;
    if (!next || (wakes_at_ && *wakes_at_ <= *next)) return;
    wakes_at_ = *next;
    world_.schedule(place_, *next, 0);
  }

  SimulatedRanks& all_;
  sim::World& world_;
  const sim::World::Place place_;
  RankTransport& its_transport_;
  std::optional<Time> wakes_at_;
};

struct SimulatedRanks::Rank {
  RankTransport* transport = nullptr;  // the progress'
  std::unique_ptr<RankProgress> progress;
  void tell(Event event) const {
    transport->tell(std::move(event));
    progress->wake();
  }
};

SimulatedRanks::SimulatedRanks(sim::World& world, const machine::NetworkModel& network,
                               std::uint32_t ranks, const DeliveryRules& rules)
    : world_(world), recording_(ranks), network_(world, network, *this) {
  if (ranks > network.hosts) {
    throw std::invalid_argument("there are " + std::to_string(network.hosts) + " hosts for " +
                                std::to_string(ranks) + " ranks");
  }
  ranks_.resize(ranks);
  ExchangeRules of_all{.deliveries = rules, .clocks = {.rounds = 0}};
  of_all.is_simulated = true;
  for (std::uint32_t number = 0; number < ranks; ++number) {
    auto transport = std::make_unique<RankTransport>(*this, RankId{number});
    auto rank = std::make_unique<Rank>();
    rank->transport = transport.get();
    rank->progress = std::make_unique<RankProgress>(*this, of_all, std::move(transport));
    ranks_[number] = std::move(rank);
  }
}

SimulatedRanks::~SimulatedRanks() = default;

Progress& SimulatedRanks::progress(RankId rank) {
  return *ranks_.at(rank.value)->progress;
}

void SimulatedRanks::post_message(RankId from, RankId to, std::span<const std::byte> bytes) {
  const std::uint64_t id = next_++;
  messages_.try_emplace(id, Message{.from = from, .to = to, .bytes = {bytes.begin(), bytes.end()}});
  in_order_[pair(from, to)].push_back(id);
  network_.send({.id = id, .from = from.value, .to = to.value, .bytes = Bytes{bytes.size()}});
}

void SimulatedRanks::post_send(RankId from, RankId to, Channel channel, Bytes bytes,
                               PayloadId payload, std::uint32_t numa_node) {
  const auto receive = posted_.find({from.value, to.value, channel.value});
  if (receive == posted_.end()) throw std::logic_error("a payload finds no receive");
  const std::uint64_t id = next_++;
  messages_.try_emplace(id, Message{.from = from,
                                    .to = to,
                                    .sent = payload,
                                    .received = receive->second.payload,
                                    .is_payload = true});
  network_.send({.id = id,
                 .from = from.value,
                 .to = to.value,
                 .bytes = bytes,
                 .in_order = true,
                 .from_numa = numa_node,
                 .to_numa = receive->second.numa_node});
  posted_.erase(receive);
}

void SimulatedRanks::message_left(std::uint64_t id) {
  const Message& message = messages_.at(id);
  if (!message.is_payload) return;
  ranks_[message.from.value]->tell({.kind = Event::Kind::payload, .payload = message.sent});
}

void SimulatedRanks::message_arrived(std::uint64_t id) {
  Message& message = messages_.at(id);
  const Rank& to = *ranks_[message.to.value];
  if (message.is_payload) {
    to.tell({.kind = Event::Kind::payload, .payload = message.received});
    messages_.erase(id);
    return;
  }
  message.has_come = true;
  std::deque<std::uint64_t>& in_order = in_order_.at(pair(message.from, message.to));
  while (!in_order.empty()) {
    const auto first = messages_.find(in_order.front());
    if (!first->second.has_come) return;
    to.tell({.kind = Event::Kind::message,
             .from = first->second.from,
             .bytes = std::move(first->second.bytes)});
    messages_.erase(first);
    in_order.pop_front();
  }
}

}  // namespace vicinal::comm
