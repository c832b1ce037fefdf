// Which task of a graph is the last to use a datum, and which data nobody wants after that.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.hpp"

namespace vicinal::graph {

// The last task that names it, per datum; 0 where none does.
std::vector<std::size_t> last_uses(const Graph& graph);

// Data that tasks make for others: they have no home, tasks write them as a whole (W) or read them, and the last one
// reads. After it their content is void. What a task changes (RW) may be a result that others read, too; so may what
// tasks reduce into. Nor is anything temporary that is in parts, or a part.
std::vector<bool> temporaries_of(const Graph& graph);

}  // namespace vicinal::graph
