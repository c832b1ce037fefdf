// The tables in a database of SQLite, with views of what is asked most.
#if VICINAL_HAVE_SQLITE

#include "exporters/exporters.hpp"
#include "exporters/sqlite_file.hpp"
#include "exporters/tables.hpp"

namespace vicinal::exporters {

namespace {

// docs/exports.md lists them.
constexpr const char* kViews = R"(
CREATE VIEW named_tasks AS
  SELECT task, coalesce(name, codelet || ' ' || task) AS title, codelet, kind, outcome, worker, worker_name,
         started_ns, ended_ns, ended_ns - started_ns AS run_ns, started_ns - ready_ns AS wait_ns
  FROM tasks;

CREATE VIEW idle_intervals AS
  WITH runs AS (
    SELECT worker, task, started_ns,
           coalesce(max(ended_ns) OVER (PARTITION BY worker ORDER BY started_ns, task
                                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS free_ns
    FROM tasks WHERE worker IS NOT NULL AND started_ns IS NOT NULL),
  gaps AS (
    SELECT worker, free_ns AS from_ns, started_ns AS to_ns, task AS before_task FROM runs
    UNION ALL
    SELECT workers.worker, coalesce((SELECT max(coalesce(ended_ns, 9223372036854775807)) FROM tasks
                                     WHERE tasks.worker = workers.worker), 0),
           (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'end_ns'), NULL
    FROM workers)
  SELECT gaps.worker, workers.name AS worker_name, from_ns, to_ns, to_ns - from_ns AS idle_ns, before_task
  FROM gaps JOIN workers ON workers.worker = gaps.worker WHERE to_ns > from_ns;

CREATE VIEW traffic AS
  SELECT "from", from_name, "to", to_name, cause, count(*) AS copies, sum(bytes) AS bytes,
         sum(ended_ns - started_ns) AS busy_ns
  FROM copies WHERE started_ns IS NOT NULL GROUP BY "from", "to", cause;
)";

}  // namespace

void write_sqlite(const Recording& recording, Sink sink) {
  SqliteFile file;
  write_tables(recording, file);
  file.execute(kViews);
  file.write_to(sink);
}

}  // namespace vicinal::exporters

#endif
