// Processors and binding where the system refuses to say or to bind.
#include "drivers/cpu/binding.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace vicinal::drivers {
namespace {

// Of the calling thread and for as long as it lives. False: the system has no such filters, or does not allow them.
bool refuse_system_call(std::uint32_t number) {
  constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, kAllow),
  }};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// hwloc would ask again and again.
TEST(Binding, WhereTheAffinityMaskIsRefusedEachProcessorCountsAndNoneIsNamed) {
  bool filtered = false;
  std::vector<std::uint32_t> allowed{7};
  std::uint32_t usable = 0;
  std::thread([&] {
    filtered = refuse_system_call(__NR_sched_getaffinity);
    if (!filtered) return;
    allowed = allowed_processors();
    usable = usable_processors();
  }).join();
  if (!filtered) GTEST_SKIP() << "no filter of system calls";
  EXPECT_TRUE(allowed.empty());
  EXPECT_GE(usable, 1U);
  EXPECT_EQ(usable_processors(), allowed_processors().size());
}

TEST(Binding, WhereItIsRefusedTheThreadRunsWhereItIsPut) {
  bool filtered = false;
  bool bound = true;
  const std::vector<std::uint32_t> allowed = allowed_processors();
  std::thread([&] {
    filtered = refuse_system_call(__NR_sched_setaffinity);
    bound = bind_this_thread(allowed.front());
  }).join();
  if (!filtered) GTEST_SKIP() << "no filter of system calls";
  EXPECT_FALSE(bound);
}

TEST(Binding, AThreadMayHaveSeveralProcessors) {
  const std::vector<std::uint32_t> allowed = allowed_processors();
  std::thread([&] {
    if (!bind_this_thread(allowed)) return;
    EXPECT_EQ(allowed_processors(), allowed);
    EXPECT_FALSE(bind_this_thread(std::vector<std::uint32_t>{}));
  }).join();
}

TEST(Binding, OpenMpTakesTheThreadsThatItIsGivenInOneThreadAlone) {
  void* const library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) GTEST_SKIP() << "no OpenMP";
  const auto most = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
  const int before = most();
  int here = 0;
  std::thread([&] {
    set_openmp_threads(before + 3);
    here = most();
  }).join();
  EXPECT_EQ(here, before + 3);
  EXPECT_EQ(most(), before);
}

}  // namespace
}  // namespace vicinal::drivers
