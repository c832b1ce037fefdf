// glibc 2.36 was the first with this function, which the libstdc++ of a newer system asks for; nothing else in the
// portable programs needs more than 2.35.
#include <cstdint>
#include <sys/random.h>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
  }
  return number;
}
