#include "engine/kinds/prefetch.hpp"

#include <memory>

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "graph/dependencies.hpp"

namespace vicinal::engine {

void Prefetches::submit(Handle registered, NodeId node) {
  submit(registered, node, "prefetch");
}

void Prefetches::submit_wont_use(Handle registered) {
  graph::Handle& data = *registered.impl();
  const bool brings =
      application_.engine.data().brings_what_wont_be_used() && graph::has_content(data);
  if (!brings) return application_.engine.data().wont_use(data);
  submit(registered, std::nullopt, "wont_use");
}

void Prefetches::submit(Handle registered, std::optional<NodeId> node, const char* call) {
  graph::Task& task = application_.submissions.make_plain(
      {graph::TaskKind::prefetch, call},
      {*registered.impl(), registered.life(), AccessMode::R, 0, false},
      std::make_unique<Target>(node));
  application_.submissions.submit_plain_settled(task);
}

void Prefetches::ready(graph::Task& task) {
  graph::Handle& data = *task.accesses()[0].handle;
  const std::optional<NodeId> node = static_cast<const Target&>(*task.extension->kind_data).node;
  if (node) {
    application_.engine.data().prefetch(data, *node);
  } else {
    application_.engine.data().wont_use(data);
  }
  application_.engine.end_plain_task(task, Engine::Obtained::order);
}

}  // namespace vicinal::engine
