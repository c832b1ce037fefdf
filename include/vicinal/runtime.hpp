// The runtime: register data, submit tasks, wait. See docs/user-guide.md.
//
//   vicinal::Runtime runtime({.workers = 4, .policy = "lws"});
//   auto x = runtime.register_buffer(values.data(), vicinal::Bytes{values.size() * sizeof(double)}, "x");
//   runtime.submit({.codelet = &scale, .operands = {RW(x)}, .parameters = 2.0});
//   runtime.wait();
//
// Any thread may submit. Tasks depend on each other through the handles they access, as if they
// ran in the order of their submission; two threads that submit at once get one order for all handles.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vicinal/codelet.hpp"
#include "vicinal/data.hpp"
#include "vicinal/error.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/options.hpp"
#include "vicinal/partition.hpp"
#include "vicinal/progress.hpp"
#include "vicinal/ranks.hpp"
#include "vicinal/simulated_world.hpp"
#include "vicinal/statistics.hpp"
#include "vicinal/task.hpp"
#include "vicinal/trace.hpp"
#include "vicinal/typed_data.hpp"
#include "vicinal/typed_parts.hpp"
#include "vicinal/typed_task.hpp"

namespace vicinal {

namespace internals {
class GroupCount;
class RuntimeImpl;
struct Acquisition;
struct Opener;
}  // namespace internals

// Tasks that can be waited for together. A group may go before its tasks have ended; then nobody waits for it.
class Group {
 public:
  // Without tasks.
  Group();
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  std::size_t pending() const;  // tasks submitted and not ended
  // Whether all tasks submitted so far have ended.
  bool ready() const { return pending() == 0; }

 private:
  friend struct internals::Opener;
  internals::GroupCount* count_;
};

// Whether the content goes to the data's home.
enum class WriteBack : bool { no, yes };

// A handle held by the application, in RAM; released at the end of the scope. An Acquired that outlives its
// Runtime keeps the data of the handle, and writes them home at its end.
class Acquired {
 public:
  Acquired(Acquired&&) noexcept;
  Acquired& operator=(Acquired&&) = delete;
  ~Acquired();
  // Address and shape of the data in RAM.
  const OperandView& view() const { return view_; }
  // The address.
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(view_.address);
  }

 private:
  friend class Runtime;
  Acquired() = default;
  void view_nothing(const Layout& layout);
  std::shared_ptr<internals::RuntimeImpl> runtime_;
  internals::Acquisition* acquisition_ = nullptr;
  OperandView view_;
  std::shared_ptr<void> nothing_;  // what is seen of data that a simulated machine has
};

class Runtime;

namespace internals {
// A registration that goes with this, when the tasks that use it have ended.
class OwnedHandle {
 public:
  explicit OwnedHandle(std::weak_ptr<internals::RuntimeImpl> runtime)
      : runtime_(std::move(runtime)) {}
  ~OwnedHandle();
  OwnedHandle(const OwnedHandle&) = delete;
  OwnedHandle& operator=(const OwnedHandle&) = delete;
  // Null: the runtime is gone.
  std::shared_ptr<internals::RuntimeImpl> runtime() const { return runtime_.lock(); }
  Handle handle() const { return handle_; }

 private:
  friend class vicinal::Runtime;
  std::weak_ptr<internals::RuntimeImpl> runtime_;
  Handle handle_;
};
}  // namespace internals

namespace internals {
// Down to nanoseconds, within what Time can hold. Of what is no number: nothing.
template <typename Number, typename Period>
constexpr Time time_of(std::chrono::duration<Number, Period> duration) {
  using Nanoseconds = std::chrono::duration<long double, std::nano>;
  const long double ns = std::chrono::duration_cast<Nanoseconds>(duration).count();
  if (!(ns > 0)) return Time{0};
  return ns < static_cast<long double>(kLongestDuration.ns) ? Time{static_cast<std::int64_t>(ns)}
                                                            : kLongestDuration;
}
}  // namespace internals

template <typename T, std::size_t rank>
class Held;
template <typename T>
class Result;

// A runtime: registered data, tasks, and the workers that run them. The `name` of a registration or a task stands in
// messages, reports and recordings. Each function throws UsageError for a handle that is not registered with this
// runtime.
class Runtime {
 public:
  // Starts workers, or simulates the machine of Options::machine. Throws UsageError for an option or a machine that
  // cannot be, CapacityError if the system does not give the threads or the memory.
  explicit Runtime(const Options& options = Options::from_environment());
  // The runtime of one of several ranks, which run the same program and make the same calls in the same order: see
  // ranks.hpp. Returns when all have begun. Throws RankError if one is lost, or runs another program.
  Runtime(const Options& options, const Ranks& ranks);
  // The same runtime on the machine `simulated`: kernels do not run, tasks take the time that they are expected to,
  // copies the bandwidth of their link; waiting advances simulated time. One thread at a time. A read gives the
  // application's own memory as it was registered, or zeros.
  Runtime(const MachineDescription& simulated, const Options& options);
  // The same in a world that other runtimes may share; time goes on for all of them. The time of a submission is this
  // runtime's own: see simulated_world.hpp.
  Runtime(const MachineDescription& simulated, const Options& options, const SimulatedWorld& world);
  // The same as one of several ranks of a simulated cluster: see simulated_cluster.hpp.
  Runtime(const MachineDescription& simulated, const Options& options, const SimulatedWorld& world,
          const Ranks& ranks);
  // Waits for all tasks; call wait() first, which throws what went wrong: an error that no call has thrown is printed,
  // and ends the program by std::terminate (option undelivered_errors). Does not write back handles that were not
  // unregistered, except those homed in the user's own buffers and files. Called by exit inside a task it waits for
  // nothing.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // --- data -------------------------------------------------------------------------------
  // The application's own memory, `size` bytes from `data` on: its home is where it lies, outside the memory limit. The
  // memory must live until the handle is unregistered or the runtime ends; `released` is called then. Throws UsageError
  // if `data` is null or the memory overlaps a registered buffer.
  Handle register_buffer(void* data, Bytes size, std::string name = {}, Released released = {});
  // The same of a tile of this shape, column-major, whose first element `data` points to.
  Handle register_tile(void* data, TileShape shape, std::string name = {}, Released released = {});
  // The same for memory of an accelerator, by its address there, as __cuda_array_interface__ and cudaMalloc give it: on
  // a CUDA device, an emulated accelerator, or any node of a simulated machine. Its content lies there from the start
  // and is written back there by `unregister` and by the end of the runtime. What the application does with the
  // memory on streams of its own must have ended before the call. Throws UsageError: no such node, a node whose
  // addresses are the runtime's own (a disk, OpenCL), null, or memory that overlaps a registered buffer of the node.
  Handle register_buffer(NodeId node, void* address, Bytes size, std::string name = {},
                         Released released = {});
  // Data of this size or shape that start uninitialised; the runtime allocates them where they are first written. Throws
  // UsageError for more than kLargestData.
  Handle register_empty(Bytes size, std::string name = {});
  Handle register_empty(TileShape shape, std::string name = {});
  // A region of a file, of this size or shape. Bytes that are not in the file yet must be written before they are read,
  // or the region be registered with `create`; see FileRegion. A handle is read through the disk node, and written back
  // to the file at the latest when it is unregistered. The 4 KiB aligned part goes through O_DIRECT. Throws UsageError
  // without the option disk, for a tile with gaps between its columns, or if a read-only file ends before the region;
  // DeviceError if the file cannot be opened.
  Handle register_file(const FileRegion& region, Bytes size, std::string name = {});
  Handle register_file(const FileRegion& region, TileShape shape, std::string name = {});

  // The same of data that this rank owns; the other ranks ignore `data` and `region`, which lie on the owner. Without an
  // owner data belong to the ranks in turn. Throws UsageError also if there is no such rank.
  Handle register_buffer(RankId owner, void* data, Bytes size, std::string name = {},
                         Released released = {});
  // A tile of the owner's memory.
  Handle register_tile(RankId owner, void* data, TileShape shape, std::string name = {},
                       Released released = {});
  // Data that nobody has written, of this size or shape.
  Handle register_empty(RankId owner, Bytes size, std::string name = {});
  // The same.
  Handle register_empty(RankId owner, TileShape shape, std::string name = {});
  // A region of a file that the owner reads and writes.
  Handle register_file(RankId owner, const FileRegion& region, TileShape shape,
                       std::string name = {});
  // The rank that owns the data; none: there are no other ranks, or the data are this rank's own.
  std::optional<RankId> owner(Handle handle) const;

  // On a simulated machine only: data of this size whose content lies on `home` at the start: RAM or an accelerator
  // (outside its limit, like a buffer of the application), or the disk. Throws UsageError on a real machine, or for a
  // node that is not there.
  Handle register_simulated(Bytes size, NodeId home = kRam, std::string name = {});
  Handle register_simulated(RankId owner, Bytes size, NodeId home = kRam, std::string name = {});

  // Waits until no task uses the handle, writes the content back to the home (buffer or file) if `write_back` says so,
  // and forgets the handle. From the call on, tasks that name the handle are refused, also tasks that running tasks
  // submit. Throws UsageError inside a task; PoisonedError, once the handle is forgotten, if its writer failed.
  void unregister(Handle handle, WriteBack write_back = WriteBack::yes);
  // After the tasks submitted so far: the handle's content is lost; the next access must write.
  void invalidate(Handle handle);
  // On several ranks, with the option broadcast_finding = bags: so many ranks beside the owner read the content that the
  // tasks submitted so far leave; to be called before the tasks that read it. When as many of these sends have been
  // submitted the bag closes, and further ones go alone (paper 004, section 4.3.1). 0: any number. It changes no result.
  void announce_readers(Handle handle, std::uint32_t ranks);
  // The handle in the parts that `divide` lists, each a handle, for the `access` given; see partition.hpp. Nothing is
  // moved and nobody waits; also inside a task. No other thread may submit a task that names the handle meanwhile.
  // Throws UsageError for parts that overlap each other or go beyond the whole, and for parts that overlap an earlier
  // partition of the handle, unless both are read-only.
  Parts partition(Handle whole, const Divide& divide, PartAccess access = PartAccess::writable);
  // After the tasks submitted so far: the whole has the content, and the parts are no more. Does not wait.
  // unregister of the whole does it, too. Throws UsageError if there is no such partition.
  void unpartition(const Parts& parts);
  // From now on tasks may reduce into the handle, see Reduce: they run in any order and at once, each into a private
  // copy of its worker. The copies are combined into the handle's content, or into the neutral element,
  // before the next access that is no reduction; on several ranks see ranks.hpp. The result must not depend on the order
  // of such tasks. Throws UsageError: no codelet, it is given a second time, or the handle is in parts, or a part, or only
  // to be read; CapacityError: two of the handle's size fit on no memory whose workers combine.
  void set_reduction(Handle handle, const Reduction& reduction);
  // Combines the handle's private copies when the tasks submitted so far have ended, rather than before the next access.
  // Does not wait; nothing happens if there is nothing to combine.
  void combine(Handle handle);
  // A hint: no task will use the handle soon. It is evicted after data that no submitted task uses, before all others.
  void wont_use(Handle handle);
  // Advice for the policies "directed", "owner" and "load": tasks that write the handle are to run on this memory node,
  // if a worker there can; likewise its first readers, where the policy follows reads too. The advice counts for tasks
  // that become ready from now on, until other advice, or none, is given; and for what such tasks receive of other ranks
  // (option receive_placement). Any thread. Throws UsageError if there is no
  // such node.
  void advise(Handle handle, std::optional<NodeId> node);
  // After the tasks submitted so far: brings a copy of the handle's content to the node if there is room. Throws
  // UsageError if there is no such node.
  void prefetch(Handle handle, NodeId node);

  // Pins `size` bytes of the application's memory from `data` on, where data are registered or will be. Copies between
  // pinned memory and CUDA devices go several times faster, and do not pass a buffer (cuMemHostRegister). Pinning takes
  // about as long as writing to the memory, which then cannot be paged out, until `unpin`, which comes after the data
  // there are unregistered, or the end of the runtime. Without such devices, or with the option pin_memory off:
  // nothing. Throws UsageError if the memory is null or overlaps pinned memory; DeviceError if the system refuses.
  void pin(void* data, Bytes size);
  // Undoes the `pin` of this address `data`. Throws UsageError if nothing was pinned there.
  void unpin(void* data);

  // --- tasks ------------------------------------------------------------------------------
  // Takes the task of `spec`, which starts when the accesses before it have ended. Waits while the submission window is
  // full, running tasks meanwhile; never when called inside a task. Throws UsageError (no codelet, foreign handle, reads
  // data nobody wrote), CapacityError (the operands can never fit on a node that could run the task).
  TaskId submit(const TaskSpec& spec);

  // Wait for everything submitted, for the tasks of a group, or until the handle may be read. The calling thread runs
  // tasks meanwhile, if it may (Options::submitter_works). Throws the first error since the last wait, after all that
  // can end has ended; a second wait returns. Throws UsageError inside a task of this runtime, or if the tasks need
  // data that this very thread has acquired. Acquired data that no submitted task needs are not waited for.
  void wait();
  void wait(Group& group);
  void wait(Handle handle);
  // The same for so long at most, of the runtime's clock (simulated time in a simulation), and for the rest of a task
  // that this thread has begun to run. Returns false if the wait has not come to its end. A duration of 0 or less only
  // looks, and runs nothing. Throws the same errors as the wait that has come to its end; data acquired by this thread
  // are no error.
  template <typename Number, typename Period>
  bool wait_for(std::chrono::duration<Number, Period> duration);
  template <typename Number, typename Period>
  bool wait_for(Group& group, std::chrono::duration<Number, Period> duration);
  template <typename Number, typename Period>
  bool wait_for(Handle handle, std::chrono::duration<Number, Period> duration);
  template <typename T, std::size_t rank, typename Number, typename Period>
  bool wait_for(Data<T, rank> data, std::chrono::duration<Number, Period> duration);
  // Whether a wait would return, or throw, at once. A handle is ready when all submitted tasks that write or reduce into
  // it have ended, well or not. Any thread, also inside a task; runs nothing and waits for nothing.
  bool ready(Group& group);
  bool ready(Handle handle);
  template <typename T, std::size_t rank>
  bool ready(Data<T, rank> data);
  // Cancels tasks that have not started, also tasks submitted from now on, until a wait() has
  // seen all of them end. Their results are poisoned. Work that was done stays: sums of reductions are combined
  // and parts joined also then. Any thread, also inside a task.
  void cancel();
  // The same for the tasks of the group alone, until a wait for it or for everything has seen all of them end. Other
  // tasks go on, but for readers of poisoned data.
  void cancel(Group& group);

  // Waits until the handle may be accessed in RAM in this `mode` (R, W or RW), and holds it there. Queues like a task.
  // Throws UsageError for a foreign handle, data that nobody has written, a wait inside a task, or a wait for data that
  // this thread itself holds; PoisonedError if the handle's writer failed; CapacityError if the data can never fit in
  // RAM.
  Acquired acquire(Handle handle, AccessMode mode);

  // --- data that know their type: see typed_data.hpp -------------------------------------------
  // The elements of a vector, an array or a span of the application, which must live until they are released or the
  // runtime ends; then `released` is called. Errors as for register_buffer.
  template <std::ranges::contiguous_range Range>
  auto data(Range&& elements, const std::string& name = {}, Released released = {});
  // `count` elements that nobody has written.
  template <internals::Element T>
  Data<T> data(std::size_t count, std::string name = {});
  // A tile of the application's memory, column-major, which must live as the elements above.
  template <typename T>
  Data<T, 2> tile(Tile<T> elements, const std::string& name = {}, Released released = {});
  // A tile of so many rows and columns that nobody has written.
  template <internals::Element T>
  Data<T, 2> tile(std::uint64_t rows, std::uint64_t columns, std::string name = {});
  // The same of data that the rank `owner` owns; see the registrations of a rank's data above. Elements lie there.
  template <internals::Element T>
  Data<T> data(RankId owner, std::size_t count, std::string name = {});
  // A tile of so many rows and columns.
  template <internals::Element T>
  Data<T, 2> tile(RankId owner, std::uint64_t rows, std::uint64_t columns, std::string name = {});
  // A tile of the owner's memory.
  template <typename T>
  Data<T, 2> tile(RankId owner, Tile<T> elements, const std::string& name = {},
                  Released released = {});
  // A tile of the application's memory, row-major.
  template <typename T>
  Data<T, kRowMajor> tile(RowTile<T> elements, const std::string& name = {},
                          Released released = {});
  // A row-major tile of so many rows and columns that nobody has written.
  template <internals::Element T>
  Data<T, kRowMajor> row_tile(std::uint64_t rows, std::uint64_t columns, std::string name = {});
  // `count` elements in memory of an accelerator; see register_buffer.
  template <internals::Element T>
  Data<T> data(NodeId node, T* elements, std::size_t count, std::string name = {},
               Released released = {});
  // `count` elements in a file, from byte `file.offset` on; see register_file.
  template <internals::Element T>
  Data<T> data(const FileRegion& file, std::size_t count, const std::string& name = {});
  // A packed tile of so many rows and columns in a file.
  template <internals::Element T>
  Data<T, 2> tile(const FileRegion& file, std::uint64_t rows, std::uint64_t columns,
                  const std::string& name = {});
  // As `partition` of a handle; each part has the type of the whole.
  template <typename T, std::size_t rank>
  DataParts<T, rank> partition(Data<T, rank> whole, const Divide& divide,
                               PartAccess access = PartAccess::writable);
  // As `unpartition` of a handle's parts.
  template <typename T, std::size_t rank>
  void unpartition(const DataParts<T, rank>& parts);
  // As `set_reduction` of a handle, element by element: by an operation of the standard library (`std::plus<>()`), or
  // by two functions that capture nothing: the first returns the neutral element, the second combines two elements.
  template <typename T, std::size_t rank, typename Operation>
  void set_reduction(Data<T, rank> data, Operation operation);
  template <typename T, std::size_t rank, typename Neutral, typename Combine>
  void set_reduction(Data<T, rank> data, Neutral neutral, Combine combine);
  // As `acquire` of a handle: until the end of the returned object the application reads the data. Like other waits not
  // inside a task.
  template <typename T, std::size_t rank>
  Held<const T, rank> read(Data<T, rank> data);
  // The same, and the application may change the data.
  template <typename T, std::size_t rank>
  Held<T, rank> write(Data<T, rank> data);
  // As `unregister` of the data's handle.
  template <typename T, std::size_t rank>
  void release(Data<T, rank> data, WriteBack write_back = WriteBack::yes);
  // Of data that the runtime has allocated: when the tasks submitted so far have ended the content is lost, and the room
  // free. Tasks that name the data are refused from now on. Does not wait; also inside a task. Throws UsageError if the
  // data are a part, or in parts, or tasks reduce into them, or they lie in memory or a file of the application.
  template <typename T, std::size_t rank>
  void release_later(Data<T, rank> data) {
    release_later(data.handle());
  }

  // --- tasks that are functions: see typed_task.hpp --------------------------------------------
  // Submits a task of this name that calls the function with the arguments. Returns the TaskId, or the Result of a
  // function that returns a value. Throws what submit throws.
  template <typename Function, typename... Arguments>
  auto task(std::string_view name, Function&& function, Arguments&&... arguments);

  // --- what is going on -------------------------------------------------------------------
  // Whether a task with these operands, on the rank `rank` if that is given, concerns this rank: it would run here, or
  // this rank would send or receive for it, end a copy, or note that there is content, that a part is written, or which
  // ranks reduce. An application may leave out tasks of which that is false; no other call. True without other ranks.
  // Outside of tasks.
  bool concerns(const Operands& operands, std::optional<RankId> rank = {}) const;
  // This rank; 0 without other ranks.
  RankId this_rank() const;
  // How many ranks there are.
  std::uint32_t rank_count() const;
  // The machine that the runtime uses, or simulates.
  const MachineDescription& machine() const;
  // Whether the machine is simulated: then no kernel is called, and results have no meaning.
  bool simulated() const;
  // The counters now. Any thread, any time, also while a simulation runs.
  Statistics statistics() const;
  // Shows on the terminal how many tasks have ended, as long as the returned object lives; progress.hpp has the options.
  // Throws CapacityError if the system gives no thread.
  [[nodiscard]] Progress progress(const ProgressOptions& options = {}) const;
  // A text for people: waiting tasks and their reasons, held memory and its holders, and the cycle if there is one. Any
  // thread, any time.
  std::string stall_report() const;

  // --- recordings: see trace.hpp ------------------------------------------------------------
  // Records events of these categories ("all", or some of tasks, transfers, memory, scheduler, submission, decisions
  // and application, with commas) into the file, until `stop_trace` or the end of the runtime. Data registered before
  // are in the recording, too. Throws UsageError if a recording is active, for an unknown category, or if the file
  // cannot be written.
  void start_trace(const std::string& file, std::string_view events = "all");
  // Ends the recording; nothing happens if none is active. Throws DeviceError if the file could not be written as a
  // whole.
  TraceSummary stop_trace();
  // A moment, named by `text`, in the active recording. Any thread, as the two below.
  void mark(std::string_view text);
  // A part of the application's work, named by `text`, from now to the end of the returned object.
  [[nodiscard]] TraceRegion region(std::string_view text);
  // A fact about the run: a parameter, a result. The last value of a name counts.
  void note(std::string_view name, std::string_view value);

 private:
  friend class Acquired;
  template <typename T>
  friend class Result;
  // Null: the runtime is gone; throws UsageError.
  static Acquired acquire_of(std::shared_ptr<internals::RuntimeImpl> runtime, Handle handle,
                             AccessMode mode, const char* call = "acquire");
  static bool ready_of(const std::shared_ptr<internals::RuntimeImpl>& runtime, Handle handle);
  static bool wait_for_of(const std::shared_ptr<internals::RuntimeImpl>& runtime, Handle handle,
                          Time duration);
  bool wait_all(Time duration);
  bool wait_group(Group& group, Time duration);
  Handle register_array(NodeId node, void* address, TileShape shape, std::string name,
                        Released released);
  Handle register_memory(std::optional<RankId> owner, NodeId node, void* address,
                         const Layout& layout, std::string name, Released released);
  void release_typed(Handle handle, WriteBack write_back);
  void release_later(Handle handle);
  std::shared_ptr<const internals::OwnedHandle> register_owned(TileShape shape, std::string name);
  std::shared_ptr<internals::RuntimeImpl> impl_;
};

}  // namespace vicinal

#include "vicinal/typed_runtime.hpp"
