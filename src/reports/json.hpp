// JSON whose members stay in the order in which they were written.
#pragma once

#include <nlohmann/json.hpp>

namespace vicinal::reports {

using Json = nlohmann::ordered_json;

}  // namespace vicinal::reports
