// What memory tells of its choices, if somebody listens: victims, prefetches, what is written behind.
//
// Each is told under the lock of the node that it concerns, when it has been made.
#pragma once

#include <functional>
#include <optional>

#include "base/function_ref.hpp"
#include "memory/links.hpp"
#include "memory/replica.hpp"
#include "memory/victim_orders.hpp"
#include "trace/decision.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::memory {

class Decisions {
 public:
  // Both outlive it. Without a listener nothing is told.
  void listen(trace::DecisionListener* listener, const std::function<Time()>& now) {
    listener_ = listener;
    now_ = &now;
  }
  bool heard() const { return listener_ != nullptr && listener_->listens(); }

  // One of those of its class leaves. To be told while it is in that class.
  void victim(VictimOrders& orders, const Replica& victim, Bytes needed,
              VictimOrders::Goes goes) const;
  // The one that was used longest ago leaves, of all that may.
  void last_of_all(VictimOrders& orders, const Replica& victim, Bytes needed,
                   VictimOrders::Goes goes) const;
  // It leaves by another runtime's rules.
  void by_rules(const Replica& victim, Bytes needed) const;

  // A copy to `to` before a task waits for it begins from the best source.
  void prefetch(const Links& links, Replica& to) const;
  // It does not, for that reason. Whoever wants it asks at each look, so it is told when the reason changes.
  void put_off(const Links& links, Replica& to, trace::Reason why) const;
  // It is the first of those that nothing uses, and is copied to its parent.
  void write_behind(VictimOrders& orders, const Replica& saved, VictimOrders::Goes goes) const;

 private:
  bool tell_sources(const Links& links, const Replica& to, trace::Reason why) const;
  trace::Decision decision(trace::Reason why, trace::Among among, NodeId node) const;
  void tell_among(trace::Reason why, VictimOrders& orders, const Replica& chosen,
                  std::optional<Bytes> needed, VictimOrders::Goes goes) const;

  trace::DecisionListener* listener_ = nullptr;
  const std::function<Time()>* now_ = nullptr;
};

}  // namespace vicinal::memory
