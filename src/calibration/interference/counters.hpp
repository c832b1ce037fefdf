// Misses of the last cache, of this process, where the system lets them be read.
#pragma once

#include <cstdint>
#include <string>

namespace vicinal::interference {

class Counters {
 public:
  Counters();  // counts the calling thread and those that it starts later
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  const std::string& why_not() const { return why_not_; }  // empty: they are read
  void begin();
  double misses() const;  // since then; 0: not known

 private:
  std::uint64_t now() const;
  int file_ = -1;
  std::uint64_t begun_ = 0;
  std::string why_not_;
};

}  // namespace vicinal::interference
