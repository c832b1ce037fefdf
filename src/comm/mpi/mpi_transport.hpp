// The transport over MPI, of version 3.1.
#pragma once

#include <memory>

#include "comm/mpi/losses.hpp"
#include "comm/mpi/messages.hpp"
#include "comm/mpi/payloads.hpp"
#include "comm/mpi/session.hpp"
#include "comm/mpi_module.hpp"
#include "comm/transport.hpp"

namespace vicinal::comm {

class MpiTransport final : public Transport {
 public:
  // Throws std::runtime_error, which names the remedy.
  explicit MpiTransport(const MpiSettings& settings);
  // Waits for all ranks to end theirs, `ending_seconds` at most, then ends MPI. Where one does not come, MPI is left as it
  // is: to end it would wait for ever. The launcher takes the process for failed then.
  ~MpiTransport() override;

  RankId rank() const override { return rank_; }
  std::uint32_t ranks() const override { return ranks_; }
  void post_message(RankId to, std::span<const std::byte> bytes) override;
  void post_send(RankId to, Channel channel, const std::byte* from, const Layout& layout,
                 PayloadId payload) override;
  void post_receive(RankId from, Channel channel, std::byte* to, const Layout& layout,
                    PayloadId payload) override;
  bool poll(TransportEvents& events) override;
  void cancel() override;

 private:
  // Whether all ranks have come to their ends within so long.
  bool all_end(double seconds);

  MpiSettings settings_;
  Session session_;
  RankId rank_;
  std::uint32_t ranks_;
  Losses losses_;
  std::unique_ptr<Messages> messages_;
  Payloads payloads_;
  std::uint64_t polls_ = 0;
  bool cancelled_ = false;
};

}  // namespace vicinal::comm
