// Processors that a runtime binds its workers to, of all runtimes on the host: none is bound to by two.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vicinal::drivers {

// A claim is an abstract socket address that names the processor: it goes with the process, however that ends.
class ProcessorClaims {
 public:
  ProcessorClaims() = default;
  // The first `count` candidates that nobody else has claimed; none if there are fewer. Where the system makes no
  // sockets the first candidates, unclaimed.
  ProcessorClaims(std::span<const std::uint32_t> candidates, std::uint32_t count);
  ~ProcessorClaims() { let_go(); }
  ProcessorClaims(ProcessorClaims&& other) noexcept;
  ProcessorClaims& operator=(ProcessorClaims&& other) noexcept;

  const std::vector<std::uint32_t>& processors() const { return processors_; }

 private:
  void let_go();

  std::vector<std::uint32_t> processors_;
  std::vector<int> sockets_;
};

}  // namespace vicinal::drivers
