#include "machine/contention_text.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "machine/contention_surface.hpp"
#include "machine/shipped.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

constexpr std::uint32_t kMostSockets = 64;
constexpr std::uint32_t kMostNumaNodes = 64;

// As of machines: a file if the name looks like one, or one that is shipped.
ContentionSurface read_surface(const TomlValue& value, const std::string& origin) {
  const std::string name = value.text();
  try {
    if (name.find('/') != std::string::npos || name.ends_with(".csv")) {
      return read_contention_surface(
          name.starts_with('/') ? name : origin.substr(0, origin.rfind('/') + 1) + name);
    }
    std::vector<std::string_view> known;
    for (const auto& shipped : shipped_surfaces()) {
      if (shipped.name == name) {
        return parse_contention_surface(shipped.text, fmt::format("machines/{}.csv", name));
      }
      known.push_back(shipped.name);
    }
    const auto near = base::nearest(name, known);
    value.refuse(fmt::format("there is no surface \"{}\": {}write a file (\"{}.csv\") or one of {}",
                             name,
                             near.empty() ? "" : fmt::format("did you mean \"{}\"? Or ", near),
                             name, fmt::join(known, ", ")));
  } catch (const UsageError& error) {
    if (std::string_view(error.what()).starts_with(origin)) throw;
    value.refuse(error.what());
  }
}

ContentionParameters read_formula(const TomlTable& table) {
  table.allow({"most_beside", "total_beside", "most_alone", "total_alone", "total_at_most_alone",
               "loss_before", "loss_after", "core", "transfer", "least_share"});
  const auto cores = [&](const char* key) {
    return table.value(key).count(1, kMostContendingCores);
  };
  ContentionParameters read;
  read.most_beside = cores("most_beside");
  read.total_beside = table.value("total_beside").bandwidth();
  read.most_alone = cores("most_alone");
  read.total_alone = table.value("total_alone").bandwidth();
  if (read.most_alone < read.most_beside) {
    table.value("most_alone").refuse("it is less than \"most_beside\"");
  }
  if (const auto loss = table.find("loss_before")) read.loss_before = loss->change(0);
  if (const auto loss = table.find("loss_after")) read.loss_after = loss->change();
  const auto total = table.find("total_at_most_alone");
  read.total_at_most_alone =
      total ? total->bandwidth()
            : BytesPerSecond{read.total_beside.value -
                             read.loss_before.value * (read.most_alone - read.most_beside)};
  read.core = table.value("core").bandwidth();
  read.transfer = table.value("transfer").bandwidth();
  read.least_share = table.value("least_share").number(0, 1);
  try {
    (void)predict_contention(read, 0);
  } catch (const UsageError& error) {
    table.refuse(error.what());
  }
  return read;
}

ContentionParameters read_beside_surface(const TomlTable& table) {
  table.allow({"core", "transfer", "total_alone", "least_share"});
  ContentionParameters read;
  read.core = table.value("core").bandwidth();
  read.transfer = table.value("transfer").bandwidth();
  if (const auto total = table.find("total_alone")) read.total_alone = total->bandwidth();
  const auto share = table.find("least_share");
  read.least_share = share ? share->number(0, 1) : 0;
  return read;
}

}  // namespace

ContentionModel read_contention(const TomlTable& table, const std::string& origin) {
  table.allow({"sockets", "numa_nodes_per_socket", "cores_per_socket", "surface",
               "computation_reads", "transfer_reads", "local", "remote"});
  ContentionModel model;
  if (const auto sockets = table.find("sockets")) model.sockets = sockets->count(1, kMostSockets);
  if (const auto nodes = table.find("numa_nodes_per_socket")) {
    model.numa_nodes_per_socket = nodes->count(1, kMostNumaNodes);
  }
  model.cores_per_socket = table.value("cores_per_socket").count(1, kMostContendingCores);
  if (const auto surface = table.find("surface")) {
    model.surface = read_surface(*surface, origin);
  }
  for (const auto& [key, share] :
       {std::pair{"computation_reads", &ContentionSurface::computation_reads},
        std::pair{"transfer_reads", &ContentionSurface::transfer_reads}}) {
    const auto value = table.find(key);
    if (!value) continue;
    if (!model.surface) value->refuse("is of a surface: name one, surface = \"file.csv\"");
    (*model.surface).*share = value->number(0, 1);
  }
  const auto read = [&](const TomlTable& of) {
    return model.surface ? read_beside_surface(of) : read_formula(of);
  };
  const auto local = table.table("local");
  const auto remote = table.table("remote");
  if (!local) table.refuse("lacks [contention.local]");
  model.local = read(*local);
  if (!remote && model.sockets > 1)
    table.refuse("has several sockets and lacks [contention.remote]");
  model.remote = remote ? read(*remote) : model.local;
  return model;
}

std::string contention_tables(const ContentionModel& model) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "[contention]\nsockets = {}\nnuma_nodes_per_socket = {}\ncores_per_socket = {}\n",
                 model.sockets, model.numa_nodes_per_socket, model.cores_per_socket);
  const auto write = [&](const char* name, const ContentionParameters& p) {
    fmt::format_to(out, "\n[contention.{}]\n", name);
    const auto rate = [&](const char* key, BytesPerSecond value) {
      fmt::format_to(out, "{} = \"{:.1f} MB/s\"\n", key, value.value / 1e6);
    };
    fmt::format_to(out, "most_beside = {}\n", p.most_beside);
    rate("total_beside", p.total_beside);
    fmt::format_to(out, "most_alone = {}\n", p.most_alone);
    rate("total_alone", p.total_alone);
    rate("total_at_most_alone", p.total_at_most_alone);
    fmt::format_to(out, "least_share = {:.3f}\n", p.least_share);
    rate("loss_before", p.loss_before);
    rate("loss_after", p.loss_after);
    rate("core", p.core);
    rate("transfer", p.transfer);
  };
  write("local", model.local);
  if (model.sockets > 1) write("remote", model.remote);
  return text;
}

}  // namespace vicinal::machine
