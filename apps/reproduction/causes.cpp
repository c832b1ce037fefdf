// What was tried where a statement does not hold, or in sign only, and what came out. Single simulations, with the
// settings of the figure but for what is named.
#include "reproduction/causes.hpp"

#include <algorithm>
#include <array>

namespace vicinal::reproduction {

namespace {

struct Cause {
  std::string_view figure;
  std::string_view text;
};

constexpr std::array kCauses{
    Cause{"000-6",
          "**AP** loads 0.95 of what 12 GB/s carry, and so stays above 0.9 of the limit. The "
          "paper's table says that the V100's bus has contention; in the machine file only GPUs "
          "that share a bus have it. With 6 GB/s, AP falls to 0.61 of the limit (84 tiles) and "
          "DARTS to 0.97; with 12 GB/s that both directions share, to 0.65 and 0.98."},
    Cause{"000-6",
          "**EAGER where all fits**: one GPU has enough ready tasks. With 5, 8, 10, 15 and 20 "
          "tiles EAGER is 0.4 to 1.4 % behind DMDAS. With four GPUs it is 10, 9 and 4 % behind "
          "at 10, 20 and 40 tiles."},
    Cause{"000-6",
          "**LWS's loads, DMDAS at 60 tiles**: the priorities. By place both statements hold. "
          "Without priorities LWS and EAGER run the same order and load the same (3.41 TiB at 75 "
          "tiles)."},
    Cause{"000-8",
          "The bottom level of an update depends on its column alone, so DMDAS goes column by "
          "column. With the priorities of StarPU's example it follows the antidiagonals."},
    Cause{"000-9",
          "**Blocks** last for 17 steps with the costs of the paper. The paper's number is read "
          "off its picture; nothing else was tried."},
    Cause{"000-10",
          "**AP on the A100**: the link. With 24 GB/s, what PCIe 4.0 gives, in place of the 12 "
          "GB/s of the paper's table, AP and DARTS are within 0.1 % of each other at 60 and 85 "
          "tiles; with 12 GB/s AP has 0.97 and 0.88 of the speed of DARTS, under Vicinal's rules "
          "0.98 and 0.96."},
    Cause{"000-10",
          "**AP on the V100**: the contention of its bus, see 000-6. With 6 GB/s DARTS is 1.16, "
          "1.46 and 1.59 times as fast at 53, 75 and 84 tiles."},
    Cause{"000-11",
          "**The lead of DARTS with four GPUs**: the links between GPUs carry what the others "
          "load more; in the machine file each GPU has one to each other. Without them, at 107 "
          "tiles, DARTS leads DMDAS by 3 % and LWS by 25 %, by place by 12 and 45 %; with them "
          "by 0 and 2, and 1 and 15 %. The sizes count, too: three times the memory with one "
          "GPU, two with four. At twice the memory one V100 has leads of 1.01 over AP, 1.03 over "
          "DMDAS, 1.07 over LWS, 1.64 over EAGER; four have 1.16, 1.00, 1.06, 1.76."},
    Cause{"000-11",
          "**LWS where all fits**: the rule that a node fetches for one task at a time "
          "(pipeline). Without it LWS is 0.04 % ahead of DARTS at 48 tiles and 0.03 % behind at "
          "76. DARTS brings its own eviction and none of StarPU's other rules."},
    Cause{"000-14",
          "**Bus and bound**: their ratio depends on machine and matrix alone. With buses of 14 "
          "GB/s instead of 22 it is 11.4; then DARTS loads 3.3 times the bound and 3.4 times "
          "less than the buses carry, at 0.99 of the limit. The paper measured 22 GB/s, so its "
          "bound has a smaller constant or another memory. DARTS loads less here than there."},
    Cause{"000-15",
          "**The lead with four GPUs**: the links between them, as in 000-11. Without them, on "
          "four V100 at 88 tiles, DARTS is 1.40 times as fast as DMDAS and 1.63 times as fast as "
          "LWS; with one GPU it leads by 1.29 to 2.24 as it is."},
    Cause{"000-16",
          "**LWS** loads 0.28 of what the disk carries, so no model of disk or link slows it. "
          "StarPU's rules, as far as they apply, give 0.99 of the limit, too (260 GB for 197); a "
          "look-ahead of 1, 2 and 4 gives 0.99, 0.99 and 0.95. Its order must differ from the "
          "paper's. Not tried: stealing several tasks at once."},
    Cause{"001-3",
          "**Rules of StarPU**: today's in full are not the paper's. With copies as soon as "
          "tasks are ready DMDAR loads 13.8 GiB for 32 x 32 blocks and makes 2,923 GFlop/s; "
          "StarPU itself makes 2,541 so and 7,059 without them. With clean blocks of the same "
          "size first (clean,hint) HFP is 140 % faster than EAGER and 3.7 % than DMDAR; without "
          "saving tiles of C (lru) it is 70 % faster than EAGER and 11 % slower than DMDAR."},
    Cause{"001-3",
          "**The link** decides most numbers. Text and machine have 6 GB/s. With 8 GB/s HFP "
          "reaches 0.96 to 0.99 of the limit; with 12 GB/s, the bus that the paper does not "
          "divide in simulation, 0.98 to 0.99, and is faster than EAGER by 45.5 %, than with "
          "flips alone by 1.1 %, than DMDAR by 4.9 %."},
    Cause{"001-3",
          "**The look-ahead**: with 2, 8 and 16 tasks HFP is faster than DMDAR by -1.1, 43.0 and "
          "43.2 %, than EAGER by 91 to 114 %."},
    Cause{"001-3",
          "**MST and RCM** go along the rows here and load as EAGER does from 885 MB on; the "
          "paper has them at half of EAGER's distance. No rule that was tried parts them from "
          "EAGER."},
    Cause{"001-4",
          "**Loads of RCM and DMDAR**: the shape of the matrices matters. With 30 x 30 tiles of "
          "C and an inner size of four tiles RCM loads 0.84 and DMDAR 1.48 times what the bus "
          "carries, but then HFP is slower than RCM. With a link of 12 GB/s DMDAR is below the "
          "bus (0.85), RCM at 2.32 times it. Look-aheads of 2, 8 and 16 leave RCM at 4.4 to 5.0 "
          "times and DMDAR at 2.2 to 3.6. With clean tiles first (clean,hint) they are at 4.63 "
          "and 2.31."},
    Cause{"001-4",
          "**Belady's rule alone, flips alone**: the link. Belady's rule alone is ahead of Ready "
          "and flips by 7.9 % at 6 GB/s, 5.5 % at 8, and 1.2 % at 12: what counts is loads, and "
          "it loads less. Flips alone lose 7.7, 6.3 and 3.9 %."},
    Cause{"001-4",
          "**More loads and yet faster**: at 12 GB/s HFP without Belady's rule is 1.07 times as "
          "fast as DMDAR with 1.05 times its loads, as the paper says; RCM loads more than HFP "
          "at each link and look-ahead that was tried."},
    Cause{"002-1",
          "**Automatic strategies**: reuse alone puts most tiles on one GPU, as section 5.3 of "
          "the paper itself says of POTRF. Random placement of few tiles is uneven by chance: of "
          "8 x 8 tiles one GPU got 12 instead of 8, which alone gives 0.67. With links of 96 "
          "GB/s it stays at 0.67, 0.82, 0.96 and 0.98 of the default at 8, 16, 32 and 48 tiles."},
    Cause{"002-1",
          "**The directed placement on POTRF** gains no more than 9 % in any model that was "
          "tried, and loses up to 12 %. Tried were, at five sizes: 60 and 24 GB/s between GPUs, "
          "none between them, 12 GB/s from RAM, two GPUs on one domain of 24 GB/s, 50 GB/s for "
          "all GPUs together, 100 us for each copy, trsm as fast as gemm, priorities given or "
          "none, a look-ahead of one, tiles of 1024. It loads a third less than the default, but "
          "kernels hide the copies."},
    Cause{"002-1",
          "**The directed placement on GEMM** gains from the way out of RAM. With two GPUs on "
          "one domain of 24 GB/s it is 1.40, 1.39 and 1.08 times as fast at 8, 16 and 24 tiles; "
          "with 50 GB/s for all GPUs together 1.41 times up to 32 tiles. At 6 tiles it is 1.41 "
          "times, at 4 there is nothing to gain."},
    Cause{"002-2",
          "**GEMM**: at 12 and 24 tiles on four nodes all but random are at 0.73 to 0.96 of what "
          "all GPUs busy give, though the default copies 1.2 to 1.4 times as much into GPUs: "
          "kernels hide the copies. On 16 nodes all but random are at 0.37 with 24 tiles. The "
          "mapping by rows of "
          "tiles alone is uneven where GPUs do not divide the rows of a rank: of 36 tiles on 16 "
          "nodes a rank has nine rows for six GPUs, and its speed is 0.89 of the default's."},
    Cause{"002-2",
          "**POTRF**: on four nodes it leads by 7 to 8 %. On 16 nodes matrices of up to "
          "64 tiles, 45760 tasks for 96 GPUs, give GPUs work for 0.37 of the time under all "
          "placements but reuse alone, though the default copies 1.5 times as much into GPUs. "
          "Not tried: faster networks, larger matrices on 16 nodes, other tiles."},
    Cause{"002-2",
          "**Reuse alone** misses its mark at one size, 32 tiles on 16 nodes, where nothing is "
          "fast: 0.83 of the default. At 64 tiles it is 0.49."},
    Cause{"002-3",
          "**An order of magnitude**: there the NICs hang on the accelerators, and content for the "
          "host crosses to it and back, over links that the machine file does not have: its NIC "
          "writes into RAM at full speed (22.5 GB/s), and a link of 36 GB/s leads from there to "
          "each GCD. So content is on its GCD at most 1.6 times as late as in RAM, and policies "
          "hide most of that: they copy what a task reads as soon as the task is ready. Random "
          "placement copies 1.1 to 1.2 times as much into GPUs. Not tried: a model of NICs on "
          "accelerators."},
    Cause{"003-2",
          "**Peaks of H2**: cores that steal updates. An update takes a core 240 ms and a GPU 7 "
          "ms, and who waits for it idles. If cores take nothing but the parts of panels, H2 "
          "makes 2293 GFlop/s (paper 1790) and the default 2279, in single precision 4850 and "
          "4859: too much, and without H2's lead. The paper does not say which tasks its cores "
          "may steal."},
    Cause{"003-2",
          "**Other things** move H2 less: it makes 1511 with cores twice as fast at panels, 1520 "
          "with slower ones, 1532 without copies between GPUs, 1525 with links of 100 GB/s, 1474 "
          "and 1465 with other seeds, 1303 if the heuristics are asked for tasks that GPUs "
          "release alone (XKaapi's code). Priorities change nothing. Nothing is written back "
          "with eight GPUs, so XKaapi's rules and ours are one there."},
    Cause{"003-3",
          "**H1 from four to six GPUs**: panels on cores. GPUs take cores away, and six GPUs "
          "leave six of them. With five seeds H1 gains -4 to +2 %, at five GPUs +0 to +10 %. "
          "With panels twice as fast it gains 12 %. With links of 3 GB/s it gains 0 and 3 % (two "
          "seeds)."},
    Cause{"003-3",
          "**SGETRF**: assumed kernels. With 6 instead of 9 GFlop/s for a panel on a core the "
          "peak is 1456 GFlop/s (paper 1240), with 4.5 it is 1248, with 260 instead of 384 for "
          "an update on a GPU 1321. DGETRF is met as it is."},
    Cause{"003-4",
          "**The default is too fast**: the links. With 2.5 GB/s for 6 it makes 1043 GFlop/s "
          "(paper 969), without overlap 865 (808), and H2 without overlap 1224 (1240): three of "
          "the four numbers within 10 %. With 3 and 2 GB/s they are 1078, 946, 1236 and 869, "
          "775, 1110."},
    Cause{"003-4",
          "**The gain of overlap with H2** stays small: 150 GFlop/s at 6 GB/s, 190 at 3, 112 at "
          "2.5, 187 at 2. If cores steal no updates it is 391 at 6 GB/s and 429 at 3, but then "
          "the default is nearly as fast as H2 (2279 and 1863). No setting gave both a gain of "
          "550 and a lead of H2 over the default of 1.85."},
    Cause{"003-5",
          "**At 4096** H2 leads by pushing tasks that cores and the application release. "
          "XKaapi's code asks the heuristics for tasks that GPUs release alone; so all three "
          "make 21.4 GFlop/s (LU: 19.0), as equal as the paper says, but H2 makes 1303 instead "
          "of 1530 at 40960."},
};

}  // namespace

std::vector<std::string_view> causes_of(std::string_view figure) {
  std::vector<std::string_view> texts;
  for (const Cause& cause : kCauses) {
    if (cause.figure == figure) texts.push_back(cause.text);
  }
  return texts;
}

}  // namespace vicinal::reproduction
