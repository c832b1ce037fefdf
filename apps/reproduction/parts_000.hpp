// What the figures of paper 000 share: "A generic scheduler to foster data locality for GPU and out-of-core
// task-based applications", Gonthier, Marchal, Thibault, 2024.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reproduction/figure.hpp"

namespace vicinal::reproduction {

inline constexpr std::string_view kPriorities000 =
    "Priorities are bottom levels, as the paper says; by place, they are 2 N - 2 step - row - "
    "column as in StarPU's example, which give the order that the paper's figure 8 shows. ";
inline constexpr std::string_view kRules000 =
    "DMDAS, LWS and EAGER evict by StarPU's rules (memory_rules: starpu), AP by PaRSEC's "
    "(saved); DARTS evicts by its own, here as in the paper, and compares costs exactly "
    "(darts:cost=exact). Beside them, (ours), is what Vicinal does by default; no verdict looks "
    "at it. ";
inline constexpr std::string_view kNote000 =
    "Kernel speeds other than gemm are assumptions of the machine file; the cost of choosing, "
    "which the paper counts, is not in the simulated time.";
inline constexpr std::string_view kSizes000 =
    "Of the sizes the paper's text gives one, 5 GB for a memory of 16 GB (caption of figure 10): "
    "these are 0.3, 0.75, 1.5 and 3 times the memory (2 times that of four GPUs). Kernel speeds "
    "other than gemm are assumptions of the machine file; the cost of choosing, which the paper "
    "counts, is not in the simulated time.";

// Of StarPU under its rules for a full memory, of AP under those of PaRSEC. DARTS brings its own.
std::vector<Series> series_000();
Plot performance_000();
Plot transfers_000();
Mark memory_mark();

// One machine of table 1 with so many GPUs, at the sizes of `usual`, in tiles. Quick: the second and the third.
struct Node000 {
  std::string_view name;
  std::string_view machine;
  std::uint64_t tile = 2880;
  std::uint32_t gpus = 1;
  Values usual;
};
Panel panel_000(const Node000& node, std::string_view application);

// Cholesky with the priorities that its generator gives, those of StarPU's example: 2 N - 2 step - row - column. The
// paper says that priorities are bottom levels, but its figure 8 shows the order that these give. So both are played.
Panel by_place(Panel panel);
inline constexpr std::string_view kByPlace = " by place";
std::string with_place(std::string_view panel);  // its name

// Of one panel, whose largest size decides: what a curve loads there for each byte of `per`.
double loads_at_largest(const Results& results, std::string_view panel, std::string_view series,
                        double (*per)(const Measures&));

}  // namespace vicinal::reproduction
