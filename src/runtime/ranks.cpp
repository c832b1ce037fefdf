#include "runtime/ranks.hpp"

#include <optional>

#include "comm/broadcast_option.hpp"
#include "comm/launch.hpp"
#include "comm/measured_link.hpp"
#include "vicinal/options.hpp"

namespace vicinal {

namespace {
// Of a failed run with who computes and does not look.
constexpr Time kPatience{3'000'000'000};
}  // namespace

RankId Ranks::rank() const {
  return progress_ ? progress_->progress->rank() : RankId{0};
}

std::uint32_t Ranks::count() const {
  return progress_ ? progress_->progress->ranks() : 1;
}

std::uint32_t Ranks::on_this_host() const {
  return count() > 1 ? comm::ranks_on_this_host() : 1;
}

Ranks Ranks::launched(const Options& options) {
  const comm::Launch launch = comm::find_launch(options.mpi);
  if (launch.mpi == comm::Mpi::none) return {};
  comm::ExchangeRules rules;
  comm::set_broadcast(rules.deliveries, options.broadcast);
  const std::optional<comm::LinkCost> link = comm::link_of_option(options.rank_link);
  rules.deliveries.link = link.value_or(comm::LinkCost{});
  rules.deliveries.learns_link = !link;
  rules.silence = Time{static_cast<std::int64_t>(options.rank_timeout * 1e9)};
  return Ranks(std::make_shared<internals::RanksImpl>(
      [launch] { return comm::make_transport(launch); }, rules, kPatience));
}

}  // namespace vicinal
