// The option `broadcast`: a tree, and behind it, to compare with, what other implementations do: "binary:readers=last".
#pragma once

#include <string_view>

#include "comm/deliveries.hpp"

namespace vicinal::comm {

// Settings, with colons between, after Swartvagher 2022 (paper 004, sections 4.3.3 and 4.3.4):
//   priorities=yes    higher ones sooner, in the places of a tree and among all that a rank sends; usual
//   priorities=sends  among all that a rank sends; places are taken in the order of submission
//   priorities=no     nowhere
//   readers=first     content is read when it has come; usual
//   readers=last      when it has been sent on, too
// Throws UsageError: what is said is none of these, or the tree is none.
void set_broadcast(DeliveryRules& rules, std::string_view text);

}  // namespace vicinal::comm
