// An exchange of one rank whose driver writes down what it is told, for sequences of events that are worked by hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "comm/exchange.hpp"
#include "gtest/gtest.h"

namespace vicinal::comm {

using Lines = std::vector<std::string>;

inline std::string name_of_kind(MessageKind kind) {
  constexpr const char* kNames[] = {"hello",     "announced",  "credit",   "content",    "consumed",
                                    "alive",     "sequence",   "diverged", "stalled",    "asks",
                                    "report",    "failed",     "finished", "asks_alive", "left",
                                    "asks_time", "tells_time", "accepted", "declined"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Writes down what it is told: "announced>1 d7", "bring 3", ...
class Told final : public ExchangeActions {
 public:
  void post_message(RankId to, std::span<const std::byte> bytes) override {
    ParsedMessage message;
    ASSERT_TRUE(parse(bytes, message));
    std::string line = name_of_kind(message.header.kind) + ">" + std::to_string(to.value);
    if (message.header.datum != 0) line += " d" + std::to_string(message.header.datum);
    ParsedTree parsed;
    const bool is_of_tree = message.header.kind == MessageKind::announced ||
                            message.header.kind == MessageKind::content ||
                            message.header.kind == MessageKind::declined;
    if (is_of_tree && parse(message.rest, parsed) && !parsed.recipients.empty()) {
      line += " {";
      for (const Recipient& one : parsed.recipients) {
        line += (line.back() == '{' ? "" : " ") + std::to_string(one.rank);
      }
      line += "}";
    }
    lines_.push_back(line);
    posted.emplace_back(to, MessageBytes(bytes.begin(), bytes.end()));
  }
  void bring(TransferId id) override { add("bring", id); }
  void make_room(TransferId id) override { add("room", id); }
  void put_down(TransferId id) override { add("put_down", id); }
  void send(PayloadId payload, TransferId id, RankId to, Channel channel, Piece piece) override {
    post(payload, id, "send " + std::to_string(id.value) + ">" + std::to_string(to.value), channel,
         piece);
  }
  void receive(PayloadId payload, TransferId id, RankId from, Channel channel,
               Piece piece) override {
    post(payload, id, "receive " + std::to_string(id.value) + "<" + std::to_string(from.value),
         channel, piece);
  }
  void began(const Hop& /*hop*/) override { ++hops_begun; }
  void ended(const Hop& hop) override {
    ++hops_ended;
    hops.push_back(hop);
  }
  void share(TransferId id) override { add("share", id); }
  void read(TransferId id, std::span<std::byte> content) override {
    std::ranges::fill(content, std::byte{42});
    add("read", id);
  }
  void write(TransferId id, std::span<const std::byte> content) override {
    EXPECT_TRUE(std::ranges::all_of(content, [](std::byte byte) { return byte == std::byte{42}; }));
    add("write", id, " of " + std::to_string(content.size()));
  }
  void end(TransferId id) override { add("end", id); }
  void run_failed(const std::string& text) override { failure = text; }
  std::string name_of(DatumId datum) override { return "d" + std::to_string(datum.value); }
  std::string status() override { return "it had run 5 tasks"; }
  std::string report() override { return own_report; }
  void tell_stall(const std::string& text) override { stall = text; }
  Time clock() override { return time; }
  void clock_compared(const ClockComparison& comparison) override {
    compared.push_back(comparison);
  }

  Lines take() { return std::exchange(lines_, {}); }

  // Of those of the transfer the payload that was posted first, and not taken.
  PayloadId take_payload(std::uint64_t id) {
    const auto found = std::ranges::find(payloads, TransferId{id}, &Posted::id);
    if (found == payloads.end()) throw std::logic_error("no payload of " + std::to_string(id));
    const PayloadId payload = found->payload;
    payloads.erase(found);
    return payload;
  }

  struct Posted {
    PayloadId payload;
    TransferId id;
  };
  std::vector<Posted> payloads;
  std::vector<Hop> hops;
  int hops_begun = 0;
  int hops_ended = 0;
  std::vector<std::pair<RankId, MessageBytes>> posted;
  std::string failure;
  std::string stall;
  Time time;
  std::vector<ClockComparison> compared;
  std::string own_report = "a worker runs nothing\n";

 private:
  void add(const char* what, TransferId id, const std::string& more = {}) {
    lines_.push_back(std::string(what) + " " + std::to_string(id.value) + more);
  }
  // "send 3>2 on 9"; of a part " 100+50".
  void post(PayloadId payload, TransferId id, const std::string& what, Channel channel,
            Piece piece) {
    payloads.push_back({payload, id});
    lines_.push_back(what + " on " + std::to_string(channel.value) +
                     (piece.offset > 0 ? " from " + std::to_string(piece.offset) : ""));
  }
  Lines lines_;
};

inline ExchangeRules few() {
  ExchangeRules rules;
  rules.deliveries.most_sends = 1;
  rules.deliveries.most_receives = 2;
  rules.deliveries.most_small = 8192;
  rules.clocks.rounds = 0;
  return rules;
}

class OfOneRank : public ::testing::Test {
 protected:
  // Rank 1 of so many, whose hellos are said.
  void begin(const ExchangeRules& rules = few(), std::uint32_t ranks = 3) {
    exchange = std::make_unique<Exchange>(RankId{1}, ranks, rules, told);
    exchange->start({}, 77, false, 0);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (rank != 1) hear(rank, {.kind = MessageKind::hello, .value = 77});
    }
    told.take();
  }
  void hear(std::uint32_t from, const MessageHeader& header, std::string_view text = {}) {
    exchange->message_arrived({from}, to_bytes(header, text));
  }
  static ReadyTransfer to(std::uint64_t id, std::uint32_t datum, std::uint32_t rank,
                          std::uint64_t bytes, int priority = 0, std::uint32_t version = 1) {
    return {{id}, {{datum}, version, RankId{1}, RankId{rank}}, {bytes}, priority};
  }
  // From this rank, the first of them with access.
  void send_all(const std::vector<ReadyTransfer>& group) {
    exchange->send_ready(group, group.front().id);
  }
  void send(std::uint64_t id, std::uint32_t datum, std::uint32_t rank, std::uint64_t bytes,
            int priority = 0, std::uint32_t version = 1) {
    send_all({to(id, datum, rank, bytes, priority, version)});
  }
  void receive(std::uint64_t id, std::uint32_t datum, std::uint32_t from, std::uint64_t bytes,
               std::uint32_t version = 1) {
    exchange->receive_ready({{id}, {{datum}, version, RankId{from}, RankId{1}}, {bytes}, 0});
  }
  // What lies behind the header of a message of a broadcast.
  struct Tells {
    std::uint32_t root = 0;
    TreeShape shape = TreeShape::binomial;
    std::uint64_t segment = 1'000'000'000;
    std::vector<Recipient> recipients = {};
    std::string rest = {};
  };
  void hear_of_tree(std::uint32_t from, const MessageHeader& header, const Tells& tells) {
    MessageBytes bytes = to_bytes(header,
                                  {.root = tells.root,
                                   .segment = tells.segment,
                                   .shape = static_cast<std::uint8_t>(tells.shape)},
                                  tells.recipients, tells.rest.size());
    std::memcpy(bytes.data() + bytes.size() - tells.rest.size(), tells.rest.data(),
                tells.rest.size());
    exchange->message_arrived({from}, bytes);
  }
  void announce(std::uint32_t datum, std::uint32_t from, std::uint64_t bytes,
                std::uint32_t version = 1) {
    hear_of_tree(
        from, {.kind = MessageKind::announced, .datum = datum, .version = version, .value = bytes},
        {.root = from});
  }
  // For a version that rank 1 has begun.
  void credit(std::uint32_t from, std::uint32_t datum, std::uint16_t channel,
              std::uint32_t version = 1) {
    hear_of_tree(
        from, {.kind = MessageKind::credit, .channel = channel, .datum = datum, .version = version},
        {.root = 1});
  }
  void in_ram(std::uint64_t id) { exchange->deliveries().in_ram({id}); }
  void has_room(std::uint64_t id) { exchange->deliveries().has_room({id}); }
  void payload_ended(std::uint64_t id) {
    exchange->deliveries().payload_ended(told.take_payload(id));
  }
  static Time seconds(double number) { return {static_cast<std::int64_t>(number * 1e9)}; }

  Told told;
  std::unique_ptr<Exchange> exchange;
};

}  // namespace vicinal::comm
