// Content that the application declares void, in its turn among the tasks: what comes behind must write it anew.
#pragma once

#include "engine/kinds/kind.hpp"
#include "vicinal/data.hpp"

namespace vicinal::engine {

struct Application;

class Invalidations final : public Kind {
 public:
  explicit Invalidations(Application& application) : application_(application) {}

  // Throws UsageError: what bringing together the parts of the handle throws.
  void submit(Handle registered);
  // Its parts, if it has any, have been brought together.
  void submit_settled(Handle registered);

  void ready(graph::Task& task) override;

 private:
  Application& application_;
};

}  // namespace vicinal::engine
