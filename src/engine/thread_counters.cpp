#include "engine/thread_counters.hpp"

#include "base/asymmetric_fence.hpp"
#include "base/processor.hpp"

namespace vicinal::engine {

ThreadCounters::ThreadCounters(std::size_t workers, const std::function<Time()>& now,
                               bool simulated, trace::Recorder& recorder,
                               const AwaitedTime& awaited)
    : threads_(workers + 2),
      now_(now),
      recorder_(recorder),
      awaited_(awaited),
      simulated_(simulated) {}

void ThreadCounters::start() {
  for (Counters& thread : threads_) {
    thread.idle_since.store(now_().ns, std::memory_order_relaxed);
    thread.idle_ns.store(now_().ns, std::memory_order_relaxed);
  }
}

// --- counts

std::uint64_t ThreadCounters::ended() const {
  std::uint64_t sum = 0;
  for (const Counters& thread : threads_) {
    for (const auto& count : thread.ended) sum += count.load(std::memory_order_acquire);
  }
  return sum;
}

std::uint64_t ThreadCounters::submitted() const {
  std::uint64_t sum = 0;
  for (const Counters& thread : threads_) sum += thread.submitted.load(std::memory_order_acquire);
  return sum;
}

void ThreadCounters::count_bytes(const graph::Task& task, WorkerId worker) {
  std::uint64_t sum = 0;
  for (const graph::Access& access : task.accesses()) sum += access.handle->bytes().value;
  threads_[index(worker)].ended_bytes.fetch_add(sum, std::memory_order_release);
}

Bytes ThreadCounters::ended_bytes() const {
  Bytes sum;
  for (const Counters& thread : threads_) {
    sum += Bytes{thread.ended_bytes.load(std::memory_order_acquire)};
  }
  return sum;
}

// Ends are summed first, and only grow; a submission is taken back only when it is refused, by the thread that
// is still in it. So if the sums agree, all that had been submitted when the second sum began has ended.
bool ThreadCounters::all_ended() const {
  const std::uint64_t ended = this->ended();
  return ended == submitted();
}

std::uint64_t ThreadCounters::tasks_run(WorkerId worker) const {
  const Counters& thread = threads_[worker.value];
  return thread.ended[0].load() + thread.ended[1].load();
}

// What is submitted minus what has ended is never more than was pending at some moment, and never negative, as long as
// nothing is submitted between the two sums of submissions; a thread that submits without a pause gets tired of waiting.
void ThreadCounters::report(Statistics& s) const {
  s.own_tasks_done = own_done_.load(std::memory_order_relaxed);
  for (int tries = 0; tries < 100; ++tries) {
    const std::uint64_t before = submitted();
    s.tasks_done = s.tasks_failed = s.tasks_cancelled = 0;
    for (const Counters& thread : threads_) {
      s.tasks_done += thread.ended[0].load(std::memory_order_acquire);
      s.tasks_failed += thread.ended[1].load(std::memory_order_acquire);
      s.tasks_cancelled += thread.ended[2].load(std::memory_order_acquire);
    }
    s.tasks_submitted = submitted();
    if (s.tasks_submitted == before) return;
  }
}

// --- idle time

void ThreadCounters::begin_idle(WorkerId worker) {
  Counters& own = threads_[worker.value];
  if (own.idle_since.load(std::memory_order_relaxed) != kNotIdle) return;
  const Time now = now_();
  own.idle_since.store(now.ns, std::memory_order_relaxed);
  own.awaited_then.store(awaited_.until(now).ns, std::memory_order_relaxed);
  if (recorder_.on(trace::Category::scheduler)) {
    recorder_.record<trace::Event::worker_slept>(worker.value);
  }
}

[[gnu::noinline]] void ThreadCounters::note_idle(WorkerId worker, std::int64_t since) {
  Counters& own = threads_[worker.value];
  const Time now = now_();
  own.idle_ns.store(own.idle_ns.load(std::memory_order_relaxed) + now.ns - since,
                    std::memory_order_relaxed);
  own.awaiting_ns.store(awaiting(worker, now).ns, std::memory_order_relaxed);
  own.idle_since.store(kNotIdle, std::memory_order_relaxed);
  if (recorder_.on(trace::Category::scheduler)) {
    recorder_.record<trace::Event::worker_woke>(worker.value);
  }
}

Time ThreadCounters::busy(WorkerId worker, Time now) const {
  const Counters& thread = threads_[worker.value];
  const std::int64_t since = thread.idle_since.load(std::memory_order_relaxed);
  const std::int64_t idle = thread.idle_ns.load(std::memory_order_relaxed);
  return {(since == kNotIdle ? now.ns : since) - idle};
}

Time ThreadCounters::awaiting(WorkerId worker, Time now) const {
  const Counters& thread = threads_[worker.value];
  const std::int64_t before = thread.awaiting_ns.load(std::memory_order_relaxed);
  if (!idle(worker)) return {before};
  return {before + awaited_.until(now).ns - thread.awaited_then.load(std::memory_order_relaxed)};
}

// --- names

// A task's name goes with the task, so a report reads a copy: whole, unless the next task begins meanwhile.
[[gnu::noinline]] void ThreadCounters::Counters::keep_name(std::string_view of) {
  std::array<std::uint64_t, 6> words{};
  of.copy(reinterpret_cast<char*>(words.data()), sizeof(words) - 1);
  for (std::size_t i = 0; i < words.size(); ++i) name[i].store(words[i], std::memory_order_relaxed);
}

std::string ThreadCounters::running_name(WorkerId worker) const {
  const Counters& thread = threads_[worker.value];
  const Codelet* const codelet = thread.running.load(std::memory_order_relaxed);
  if (codelet == nullptr) return {};
  std::array<std::uint64_t, 7> words{};  // the last one ends the text
  for (std::size_t i = 0; i < thread.name.size(); ++i) {
    words[i] = thread.name[i].load(std::memory_order_relaxed);
  }
  if (words[0] == 0) return codelet->name;
  return reinterpret_cast<const char*>(words.data());
}

// --- the distance to the submitting thread

std::uint64_t ThreadCounters::submitted_by_application() const {
  return threads_[threads_.size() - 2].submitted.load(std::memory_order_relaxed) +
         threads_.back().submitted.load(std::memory_order_relaxed);
}

// A thread that submits and a worker that runs what was submitted a moment ago meet at every task: at
// the policy's queue, at the handles, at the task. When the worker has waited for some hundreds of
// tasks it goes through them as fast as if nobody submitted. docs/architecture.md has numbers.
void ThreadCounters::let_submitter_run_ahead() const {
  const std::size_t workers = threads_.size() - 2;
  if (simulated_ || workers == 1) return;
  constexpr int kLooks = 5;
  const std::uint64_t first = submitted_by_application();
  std::uint64_t before = first;
  for (int look = 0; look < kLooks; ++look) {
    for (int pauses = 16 << look; pauses > 0; --pauses) base::pause();
    const std::uint64_t now = submitted_by_application();
    if (now == before || now - first >= kDistance) return;
    before = now;
  }
}

// Once per so many tasks: a worker that has caught up with the submitting thread would never run dry,
// but stay right behind it.
void ThreadCounters::look_at_distance(Counters& own) {
  const std::uint64_t now = submitted_by_application();
  const bool goes_on = now != own.submissions_then;
  own.submissions_then = now;
  if (goes_on && submitted() - ended() < kDistance) let_submitter_run_ahead();
}

bool ThreadCounters::look_around(WorkerId worker) {
  Counters& own = threads_[worker.value];
  const bool is_far = own.done() >= own.looked_at + kDistance;
  if (is_far) own.looked_at = own.done();
  const std::uint64_t next = own.looked_at + kDistance;
  const bool is_awaited = own.looks_at.exchange(next, std::memory_order_relaxed) == kEndAwaited;
  if (is_far) look_at_distance(own);
  return is_awaited;
}

// A worker counts an end, then reads the mark, between its tasks; here the mark is set, then the caller counts the ends. The
// fence pays for both sides: one of the two sees the other. Where there is no membarrier an end may be told one task
// later; nobody waits for ever, for a worker without a task tells that in any case. Marks that are there already are only
// read: the lines are the workers'.
void ThreadCounters::await_ends() {
  const std::size_t workers = threads_.size() - 2;
  for (std::size_t i = 0; i < workers; ++i) {
    std::atomic<std::uint64_t>& mark = threads_[i].looks_at;
    if (mark.load(std::memory_order_relaxed) != kEndAwaited)
      mark.store(kEndAwaited, std::memory_order_relaxed);
  }
  base::heavy_fence();
}

}  // namespace vicinal::engine
