// Content that passes between a handle and its parts, which lie inside it: what is elsewhere comes to RAM, where it is
// the content of both.
#pragma once

#include "engine/kinds/kind.hpp"

namespace vicinal::engine {

class Engine;

class Repartitions final : public Kind {
 public:
  explicit Repartitions(Engine& engine) : engine_(engine) {}

  // What a task of this kind needs; may find no memory.
  static std::unique_ptr<graph::KindData> make_data();

  void ready(graph::Task& task) override;
  void held(graph::Task& task, const std::exception_ptr& error) override;

 private:
  struct Data;
  Engine& engine_;
};

}  // namespace vicinal::engine
