// What a recording holds: one table of all events, their fields and units. The recorder, the reader, the exporters
// and docs/trace.md go by it; the file of a recording carries it, so that a reader needs no table of its own.
//
// An event is a row of words of 8 bytes:
//
//   word 0   when: ticks of the recording's clock
//   word 1   bits 0..15 the event, 16..31 how many words in all, 32..63 the first field
//   word 2.. a word for each further field, then the tail, if the event has one
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace vicinal::trace {

// What is recorded can be chosen by category.
enum class Category : std::uint8_t {
  always,  // what the others cannot be read without
  tasks,
  transfers,
  memory,
  scheduler,
  submission,
  decisions,
  application,
};

// A set of categories, a bit each.
using Categories = std::uint32_t;
constexpr Categories bit(Category category) {
  return Categories{1} << static_cast<unsigned>(category);
}
inline constexpr Categories kAllCategories = 0xff;

enum class Event : std::uint16_t {
  // always
  name_given,
  thread_named,
  events_lost,
  fact,
  // tasks
  task_started,
  task_ended,
  processor_time,
  // transfers
  copy_wanted,
  copy_started,
  copy_ended,
  // memory
  room_taken,
  room_freed,
  evicted,
  kept,
  became_void,
  operands_wanted,
  room_granted,
  operands_ready,
  // scheduler
  task_ready,
  task_scheduled,
  task_moved,
  worker_slept,
  worker_woke,
  // submission
  handle_registered,
  handle_unregistered,
  task_submitted,
  task_named,
  task_after,
  task_inside,
  codelet,
  reduction_set,
  // decisions
  decision,
  // application
  mark,
  region_began,
  region_ended,
  // of several ranks
  rank_known,
  clock_compared,
  message_began,
  message_ended,
  of_rank,
};

enum class FieldType : std::uint8_t {
  number,
  integer,  // signed
  name,     // the number of a name_given
  task,     // the value of a TaskId
  handle,
  node,
  worker,  // 0xffffffff: none, a thread of the application
  copy,
  bytes,
  choice,  // a number that stands for one of Field::choices
};

struct Field {
  std::string_view name;
  FieldType type = FieldType::number;
  std::string_view sentence;
  std::string_view choices = {};  // "done|failed": number 0, 1
};

// What lies behind the fields.
enum class Tail : std::uint8_t {
  none,
  text,      // UTF-8, with zeros up to a whole word
  accesses,  // a word each: the handle's number shifted left by 4, and the access mode
  scores,    // of a decision: see decision_words.hpp
};

inline constexpr std::size_t kMostFields = 8;

struct EventEntry {
  Event event{};
  Category category{};
  std::string_view name;
  std::string_view sentence;
  std::array<Field, kMostFields> fields{};  // those without a name are none; the first has 32 bits
  Tail tail = Tail::none;

  constexpr std::size_t field_count() const {
    std::size_t count = 0;
    while (count < kMostFields && !fields[count].name.empty()) ++count;
    return count;
  }
};

struct CategoryEntry {
  Category category{};
  std::string_view name;
  std::string_view sentence;
};

namespace table {

inline constexpr std::string_view kModes = "reduction|R|W|RW||||commute|||scratch";
inline constexpr std::string_view kCauses =
    "task|prefetch|eviction|write-behind|application|through RAM|arrival";

inline constexpr Field kTask{"task", FieldType::task, "the task"};
inline constexpr Field kHandle{"handle", FieldType::handle, "the datum"};
inline constexpr Field kNode{"node", FieldType::node, "the memory node"};
inline constexpr Field kWorker{"worker", FieldType::worker, "the worker"};

// In the order of the enumeration.
inline constexpr EventEntry kEvents[] = {
    {Event::name_given,
     Category::always,
     "name given",
     "A number that stands for a text from here on.",
     {Field{"name", FieldType::name, "the number"}},
     Tail::text},
    {Event::thread_named,
     Category::always,
     "thread named",
     "What the thread does whose events follow.",
     {Field{"worker", FieldType::worker, "the worker that it is"}},
     Tail::text},
    {Event::events_lost,
     Category::always,
     "events lost",
     "The thread had no room for events before this one.",
     {Field{"count", FieldType::number, "how many"}},
     Tail::none},
    {Event::fact,
     Category::always,
     "fact",
     "Something that is known of the run: its name, a line feed, what is known.",
     {Field{"unused", FieldType::number, "0"}},
     Tail::text},

    {Event::task_started,
     Category::tasks,
     "task started",
     "The worker begins with the task; an accelerator puts it on its queue.",
     {kWorker, kTask, Field{"name", FieldType::name, "of the codelet"}},
     Tail::none},
    {Event::task_ended,
     Category::tasks,
     "task ended",
     "It has ended, and what it wrote is valid.",
     {kWorker, kTask, Field{"outcome", FieldType::choice, "how", "done|failed|cancelled"},
      Field{"run", FieldType::number, "run time in ns that the device tells; 0: none"}},
     Tail::none},
    {Event::processor_time,
     Category::tasks,
     "processor time",
     "What the thread of a worker has had of its core, once a millisecond beside its tasks.",
     {kWorker, Field{"ns", FieldType::number, "since the thread began"}},
     Tail::none},

    {Event::copy_wanted,
     Category::transfers,
     "copy wanted",
     "A copy of the datum is to come to the node; it may wait for its link.",
     {Field{"to", FieldType::node, "where to"}, kHandle,
      Field{"cause", FieldType::choice, "why", kCauses}},
     Tail::none},
    {Event::copy_started,
     Category::transfers,
     "copy started",
     "The copy begins.",
     {Field{"to", FieldType::node, "where to"}, kHandle,
      Field{"from", FieldType::node, "where from"},
      Field{"copy", FieldType::copy, "its number among all"},
      Field{"bytes", FieldType::bytes, "that are copied"},
      Field{"cause", FieldType::choice, "why", kCauses},
      Field{"urgent", FieldType::number, "1: somebody waits for it"}},
     Tail::none},
    {Event::copy_ended,
     Category::transfers,
     "copy ended",
     "The copy has ended.",
     {Field{"to", FieldType::node, "where to"},
      Field{"copy", FieldType::copy, "the number that it began with"},
      Field{"failed", FieldType::number, "1: it has failed"}},
     Tail::none},

    {Event::room_taken,
     Category::memory,
     "room taken",
     "The datum gets room on the node.",
     {kNode, kHandle, Field{"used", FieldType::bytes, "that replicas take there from now on"}},
     Tail::none},
    {Event::room_freed,
     Category::memory,
     "room freed",
     "Its room is free again.",
     {kNode, kHandle, Field{"used", FieldType::bytes, "that replicas take there from now on"}},
     Tail::none},
    {Event::evicted,
     Category::memory,
     "evicted",
     "The datum is chosen to leave the node; its room is free when its content is safe.",
     {kNode, kHandle,
      Field{"saved first", FieldType::number,
            "1: the content is nowhere else, and is copied away"}},
     Tail::none},
    {Event::kept,
     Category::memory,
     "kept",
     "The datum that was to leave the node stays: somebody wants it there.",
     {kNode, kHandle},
     Tail::none},
    {Event::became_void,
     Category::memory,
     "became void",
     "The content on the node is out of date: it was written elsewhere.",
     {kNode, kHandle},
     Tail::none},
    {Event::operands_wanted,
     Category::memory,
     "operands wanted",
     "The task can start next on the node, and waits for room or for copies of its operands.",
     {kNode, kTask},
     Tail::none},
    {Event::room_granted,
     Category::memory,
     "room granted",
     "All its operands have room there.",
     {kNode, kTask},
     Tail::none},
    {Event::operands_ready,
     Category::memory,
     "operands ready",
     "All its operands are there, or cannot come.",
     {kNode, kTask, Field{"failed", FieldType::number, "1: they cannot come"}},
     Tail::none},

    {Event::task_ready,
     Category::scheduler,
     "task ready",
     "All that the task depends on has ended; the policy is given it.",
     {Field{"releasing", FieldType::worker, "the worker whose task was the last of these"}, kTask},
     Tail::none},
    {Event::task_scheduled,
     Category::scheduler,
     "task scheduled",
     "The policy gives the task to the worker, or to the workers of its memory node.",
     {kWorker, kTask},
     Tail::none},
    {Event::task_moved,
     Category::scheduler,
     "task moved",
     "A worker that has none is given one of another memory node.",
     {kWorker, kTask},
     Tail::none},
    {Event::worker_slept,
     Category::scheduler,
     "worker slept",
     "The worker has nothing to do.",
     {kWorker},
     Tail::none},
    {Event::worker_woke,
     Category::scheduler,
     "worker woke",
     "It has a task again.",
     {kWorker},
     Tail::none},

    {Event::handle_registered,
     Category::submission,
     "handle registered",
     "A piece of data. Its name follows.",
     {Field{"home", FieldType::node, "where its home is; 0xffffffff: it has none"}, kHandle,
      Field{"bytes", FieldType::bytes, "of its content"},
      Field{"part of", FieldType::handle, "the handle that it is a part of; 0: of none"}},
     Tail::text},
    {Event::handle_unregistered,
     Category::submission,
     "handle unregistered",
     "Nobody uses it any more.",
     {Field{"unused", FieldType::number, "0"}, kHandle},
     Tail::none},
    {Event::task_submitted,
     Category::submission,
     "task submitted",
     "A task, and what it accesses, in the order of its operands.",
     {Field{"priority", FieldType::integer, "the greater, the sooner"}, kTask,
      Field{"name", FieldType::name, "of the codelet, or of what the application asks for"},
      Field{"kind", FieldType::choice, "which",
            "task|acquire|prefetch|invalidate|repartition|combine|send|receive"}},
     Tail::accesses},
    {Event::task_named,
     Category::submission,
     "task named",
     "It has a name of its own.",
     {Field{"unused", FieldType::number, "0"}, kTask},
     Tail::text},
    {Event::task_after,
     Category::submission,
     "task after",
     "A dependency that does not follow from accesses.",
     {Field{"unused", FieldType::number, "0"}, kTask,
      Field{"before", FieldType::task, "the task that ends before it begins"}},
     Tail::none},
    {Event::task_inside,
     Category::submission,
     "task inside",
     "A recursive task, which is divided, has submitted it, to work on parts of its operands.",
     {Field{"unused", FieldType::number, "0"}, kTask,
      Field{"outer", FieldType::task, "the task that is divided"}},
     Tail::none},
    {Event::codelet,
     Category::submission,
     "codelet",
     "What the application says of a codelet: operations of one task, and its time in ns by kind "
     "of "
     "processor; 0: not known.",
     {Field{"name", FieldType::name, "of the codelet"},
      Field{"flops", FieldType::number, "of one task"},
      Field{"synchronous", FieldType::number,
            "1: the thread of an accelerator launches nothing else meanwhile"},
      Field{"cpu", FieldType::number, "its time there"},
      Field{"emulated", FieldType::number, "likewise"}, Field{"gpu", FieldType::number, "likewise"},
      Field{"opencl", FieldType::number, "likewise"}, Field{"cuda", FieldType::number, "likewise"}},
     Tail::none},
    {Event::reduction_set,
     Category::submission,
     "reduction set",
     "Tasks may reduce into the datum. Private copies are registered as parts of it.",
     {Field{"neutral", FieldType::name, "of the codelet that sets the neutral element"}, kHandle,
      Field{"combine", FieldType::name, "of the codelet that combines"}},
     Tail::none},

    {Event::decision,
     Category::decisions,
     "decision",
     "A choice: who could have won, by which scores, and who did. docs/decisions.md has the rules.",
     {Field{"rule", FieldType::number, "a line of the rules in the head of the file"},
      Field{"among", FieldType::choice, "what the candidates are", "tasks|handles|nodes|workers"},
      Field{"task", FieldType::task, "what it is about; all ones: no task"},
      Field{"handle", FieldType::handle, "likewise"}, Field{"node", FieldType::node, "likewise"},
      Field{"worker", FieldType::worker, "likewise"},
      Field{"bytes", FieldType::bytes, "likewise: the room that is needed"},
      Field{"winner", FieldType::number, "which of the candidates; all ones: none"}},
     Tail::scores},

    {Event::mark,
     Category::application,
     "mark",
     "A moment that the application names.",
     {Field{"unused", FieldType::number, "0"}},
     Tail::text},
    {Event::region_began,
     Category::application,
     "region began",
     "From here to its end is what the application says.",
     {Field{"unused", FieldType::number, "0"},
      Field{"region", FieldType::number, "a number of it"}},
     Tail::text},
    {Event::region_ended,
     Category::application,
     "region ended",
     "Its end.",
     {Field{"unused", FieldType::number, "0"}, Field{"region", FieldType::number, "its number"}},
     Tail::none},

    {Event::rank_known,
     Category::always,
     "rank known",
     "The run is one of several ranks, each of which records into a file of its own.",
     {Field{"rank", FieldType::number, "that this file is of, from 0"},
      Field{"ranks", FieldType::number, "in all"},
      Field{"run", FieldType::number, "the same number in all files of the run"}},
     Tail::none},
    {Event::clock_compared,
     Category::always,
     "clock compared",
     "The raw monotonic clock of this rank was compared with that of rank 0.",
     {Field{"unused", FieldType::number, "0"},
      Field{"at", FieldType::integer, "when, in ns of this rank's clock"},
      Field{"offset", FieldType::integer,
            "in ns: this rank's clock and the offset are rank 0's clock"},
      Field{"error", FieldType::number, "in ns, by which the offset is wrong at most"}},
     Tail::none},
    {Event::message_began,
     Category::transfers,
     "message began",
     "A version of a datum leaves this rank, or room for it is there and it may come.",
     {Field{"rank", FieldType::number, "the other one"}, kHandle,
      Field{"direction", FieldType::choice, "which", "sent|received"},
      Field{"datum", FieldType::number, "the same number on all ranks"},
      Field{"number", FieldType::number, "of the messages of the datum between the two, from 1"},
      Field{"bytes", FieldType::bytes, "of its content"}},
     Tail::none},
    {Event::message_ended,
     Category::transfers,
     "message ended",
     "It has left, or it is here.",
     {Field{"rank", FieldType::number, "the other one"}, kHandle,
      Field{"direction", FieldType::choice, "which", "sent|received"},
      Field{"datum", FieldType::number, "the same number on all ranks"},
      Field{"number", FieldType::number, "of the messages of the datum between the two, from 1"}},
     Tail::none},
    {Event::of_rank,
     Category::always,
     "of rank",
     "What the thread records from here on is of this rank: all simulated ranks record into one "
     "file.",
     {Field{"rank", FieldType::number, "from 0"}},
     Tail::none},
};

inline constexpr CategoryEntry kCategories[] = {
    {Category::always, "always", "names, and what was lost"},
    {Category::tasks, "tasks", "start and end of each task"},
    {Category::transfers, "transfers", "copies between memory nodes"},
    {Category::memory, "memory", "room, evictions, and what tasks wait for"},
    {Category::scheduler, "scheduler", "from ready to a worker; idle workers"},
    {Category::submission, "submission", "data, and tasks with what they access"},
    {Category::decisions, "decisions", "every choice with its candidates and their scores"},
    {Category::application, "application", "marks and regions of the application's own"},
};

}  // namespace table

constexpr const EventEntry& entry(Event event) {
  return table::kEvents[static_cast<std::size_t>(event)];
}
constexpr std::span<const EventEntry> events() {
  return table::kEvents;
}
constexpr std::span<const CategoryEntry> categories() {
  return table::kCategories;
}

inline constexpr std::uint64_t kNone = ~std::uint64_t{0};  // of a field that has nothing to say

// "tasks,memory"; "all". Throws UsageError: an unknown word; the nearest is offered.
Categories parse_categories(std::string_view text);

}  // namespace vicinal::trace
