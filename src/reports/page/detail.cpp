// The sections of a run that have a row per task, copy or datum.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "reports/page/run_data.hpp"
#include "reports/page/tile_name.hpp"

namespace vicinal::reports {

namespace {

using analysis::AccessOfTask;
using analysis::CopyOfRun;
using analysis::DatumOfRun;
using analysis::kNobody;
using analysis::RecordedRun;
using analysis::RoomChange;
using analysis::TaskOfRun;

// 0: nobody.
std::uint64_t flags_of(const TaskOfRun& task) {
  return static_cast<std::uint64_t>(task.kind) | static_cast<std::uint64_t>(task.outcome) << 3 |
         (task.moved ? 32U : 0U);
}

// When tasks become ready, as far as their accesses tell: at the end of the last task that conflicts with them. In units
// of the view; share/report/run.js computes the same.
std::vector<std::int64_t> expected_ready(const RunView& view) {
  std::vector<std::int64_t> expected(view.run.tasks.size(), 0);
  std::vector<std::int64_t> written(view.run.data.size(), 0);
  std::vector<std::int64_t> used(view.run.data.size(), 0);
  for (std::size_t t = 0; t < expected.size(); ++t) {
    const auto accesses = view.run.accesses_of(view.run.tasks[t]);
    for (const AccessOfTask& access : accesses) {
      if (access.datum >= used.size()) continue;
      const bool reads_only = access.mode == AccessMode::R;
      expected[t] = std::max(expected[t], (reads_only ? written : used)[access.datum]);
    }
    const std::int64_t ended = view.ticks(view.run.tasks[t].ended);
    for (const AccessOfTask& access : accesses) {
      if (access.datum >= used.size()) continue;
      used[access.datum] = std::max(used[access.datum], ended);
      if (access.mode != AccessMode::R) {
        written[access.datum] = std::max(written[access.datum], ended);
      }
    }
  }
  return expected;
}

std::uint64_t flags_of(const CopyOfRun& copy) {
  return static_cast<std::uint64_t>(copy.cause) | (copy.urgent ? 8U : 0U) |
         (copy.failed ? 16U : 0U);
}

}  // namespace

Section tasks_section(const RunView& view, bool with_accesses) {
  const std::vector<TaskOfRun>& tasks = view.run.tasks;
  Columns table("tasks");
  const auto column = [&](std::string_view name, const auto& value) {
    table.plain(name, tasks.size(), [&](std::size_t i) { return value(tasks[i]); });
  };
  column("codelet", [&](const TaskOfRun& task) {
    return task.name < view.codelet_of_name.size() ? one_more(view.codelet_of_name[task.name]) : 0;
  });
  column("worker", [](const TaskOfRun& task) { return one_more(task.worker); });
  column("releasing", [](const TaskOfRun& task) { return one_more(task.releasing); });
  column("flags", [](const TaskOfRun& task) { return flags_of(task); });
  table.deltas("priority", tasks.size(), [&](std::size_t i) { return tasks[i].priority; });
  const auto moment = [&](Columns::Moments& chain, std::string_view name,
                          std::int64_t TaskOfRun::*time) {
    chain.add(name, [&](std::size_t i) { return view.ticks(tasks[i].*time); });
  };
  Columns::Moments submissions(table, tasks.size());
  moment(submissions, "submitted", &TaskOfRun::submitted);
  // From the end back: what is before a task runs is often of no length.
  Columns::Moments moments(table, tasks.size());
  moment(moments, "ended", &TaskOfRun::ended);
  moment(moments, "started", &TaskOfRun::started);
  moment(moments, "operands", &TaskOfRun::operands);
  moment(moments, "granted", &TaskOfRun::granted);
  moment(moments, "wanted", &TaskOfRun::wanted);
  moment(moments, "scheduled", &TaskOfRun::scheduled);
  if (with_accesses) {
    const std::vector<std::int64_t> expected = expected_ready(view);
    table.plain("ready_after", tasks.size(), [&](std::size_t i) -> std::uint64_t {
      const std::int64_t ready = view.ticks(tasks[i].ready);
      return ready < 0 ? 0 : Columns::zigzag(ready - expected[i]) + 1;
    });
  } else {
    moment(moments, "ready", &TaskOfRun::ready);
  }
  return table.section();
}

Section copies_section(const RunView& view) {
  const std::vector<CopyOfRun>& copies = view.run.copies;
  const std::vector<DatumOfRun>& data = view.run.data;
  Columns table("copies");
  const auto column = [&](std::string_view name, const auto& value) {
    table.plain(name, copies.size(), [&](std::size_t i) { return value(copies[i]); });
  };
  column("link", [&](const CopyOfRun& copy) { return one_more(view.link_of(copy)); });
  column("flags", [](const CopyOfRun& copy) { return flags_of(copy); });
  table.deltas("datum", copies.size(),
               [&](std::size_t i) { return static_cast<std::int64_t>(one_more(copies[i].datum)); });
  // Most copy the whole datum.
  column("bytes", [&](const CopyOfRun& copy) -> std::uint64_t {
    return copy.datum < data.size() && data[copy.datum].bytes == copy.bytes ? 0 : copy.bytes + 1;
  });
  Columns::Moments moments(table, copies.size());
  // The start first: the copies are in its order.
  moments.add("started", [&](std::size_t i) { return view.ticks(copies[i].started); });
  moments.add("wanted", [&](std::size_t i) { return view.ticks(copies[i].wanted); });
  moments.add("ended", [&](std::size_t i) { return view.ticks(copies[i].ended); });
  return table.section();
}

Section task_names_section(const RunView& view) {
  const RecordedRun& run = view.run;
  Columns table("task_names");
  table.texts("name", run.tasks.size(), [&](std::size_t i) -> std::string_view {
    const std::uint32_t name = run.tasks[i].own_name;
    return name < run.names.size() ? std::string_view(run.names[name]) : std::string_view();
  });
  return table.section();
}

Section data_section(const RunView& view) {
  const std::vector<DatumOfRun>& data = view.run.data;
  const TileNames tiles(view.run);
  Columns table("data");
  table.texts("name", data.size(), [&](std::size_t i) { return std::string_view(data[i].name); });
  const auto column = [&](std::string_view name, const auto& value) {
    table.deltas(name, data.size(), [&](std::size_t i) {
      return static_cast<std::int64_t>(value(static_cast<std::uint32_t>(i)));
    });
  };
  column("bytes", [&](std::uint32_t i) { return data[i].bytes; });
  column("home", [&](std::uint32_t i) { return one_more(data[i].home); });
  column("part_of", [&](std::uint32_t i) { return one_more(data[i].part_of); });
  column("matrix", [&](std::uint32_t i) { return one_more(tiles.place(i).matrix); });
  column("row", [&](std::uint32_t i) { return tiles.place(i).row; });
  column("column", [&](std::uint32_t i) { return tiles.place(i).column; });
  return table.section();
}

Section accesses_section(const RunView& view) {
  const RecordedRun& run = view.run;
  Columns table("accesses");
  table.plain("count", run.tasks.size(), [&](std::size_t i) { return run.tasks[i].access_count; });
  // In the order of the tasks. Operands at the same place of tasks that follow each other are often near each other.
  std::vector<AccessOfTask> all;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> last;
  for (const TaskOfRun& task : run.tasks) {
    const auto accesses = run.accesses_of(task);
    if (last.size() < accesses.size()) last.resize(accesses.size(), 0);
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      all.push_back(accesses[k]);
      const auto datum = static_cast<std::int64_t>(one_more(accesses[k].datum));
      steps.push_back(datum - last[k]);
      last[k] = datum;
    }
  }
  table.plain("mode", all.size(),
              [&](std::size_t i) { return static_cast<std::uint64_t>(all[i].mode); });
  table.plain("step", steps.size(), [&](std::size_t i) { return Columns::zigzag(steps[i]); });
  return table.section();
}

Section evictions_section(const RunView& view) {
  std::vector<const RoomChange*> evictions;
  for (const RoomChange& change : view.run.room) {
    if (change.kind == RoomChange::Kind::evicted) evictions.push_back(&change);
  }
  Columns table("evictions");
  table.deltas("time", evictions.size(),
               [&](std::size_t i) { return view.ticks(evictions[i]->time); });
  table.plain("node", evictions.size(),
              [&](std::size_t i) { return one_more(evictions[i]->node); });
  table.deltas("datum", evictions.size(), [&](std::size_t i) {
    return static_cast<std::int64_t>(one_more(evictions[i]->datum));
  });
  table.plain("saved_first", evictions.size(),
              [&](std::size_t i) { return evictions[i]->saved_first ? 1 : 0; });
  return table.section();
}

}  // namespace vicinal::reports
