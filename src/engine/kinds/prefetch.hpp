// Copies that the application asks for before a task needs them, in their turn among the tasks.
#pragma once

#include "engine/kinds/kind.hpp"
#include "vicinal/data.hpp"

namespace vicinal::engine {

struct Application;

class Prefetches final : public Kind {
 public:
  explicit Prefetches(Application& application) : application_(application) {}

  // `registered` is a handle of this runtime.
  void submit(Handle registered, NodeId node);
  // The application will not use it: with the rule "hint" it is brought to RAM, if there is something to bring.
  void submit_wont_use(Handle registered);

  void ready(graph::Task& task) override;

 private:
  struct Target final : graph::KindData {
    explicit Target(std::optional<NodeId> wanted) : node(wanted) {}
    std::optional<NodeId> node;  // none: it will not be used
  };
  void submit(Handle registered, std::optional<NodeId> node, const char* call);

  Application& application_;
};

}  // namespace vicinal::engine
