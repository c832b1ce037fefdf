#include "play/unused_memories.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs/synthetic_graphs.hpp"
#include "machine/machine_model.hpp"

namespace vicinal::play {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

machine::MachineModel with_gpu_memory(std::uint64_t bytes, std::uint32_t cores = 2) {
  machine::MachineChoice choice;
  choice.gpus = 2;
  choice.cpu_workers = cores;
  machine::MachineModel machine = machine::load_machine("idgraf", choice);
  for (NodeDescription& node : machine.description.nodes) {
    if (node.kind == NodeKind::device) node.limit = Bytes{bytes};
  }
  return machine;
}

// A block at the end reads two and writes one, 4 KiB each.
TEST(UnusedMemories, ArgueWithTheSmallestTask) {
  const graph::Graph graph =
      graphs::stencil({.width = 4, .steps = 2, .bytes = Bytes{4000}, .seconds = 1e-3});
  EXPECT_THAT(unused_memories(graph, with_gpu_memory(3 * 4096)), IsEmpty());
  EXPECT_THAT(unused_memories(graph, with_gpu_memory(6)),
              ElementsAre(HasSubstr(
                  "no task fits in the memory of gpu0 (and 1 like it), 6 bytes, so its workers "
                  "stand still: the smallest, sweep, needs 12288 bytes (12 KiB)")));
}

}  // namespace
}  // namespace vicinal::play
