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

// Tasks that can be waited for together. It may go before they have ended; then nobody waits for it.
class Group {
 public:
  Group();
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  std::size_t pending() const;  // submitted and not ended
  bool ready() const { return pending() == 0; }

 private:
  friend struct internals::Opener;
  internals::GroupCount* count_;
};

enum class WriteBack : bool { no, yes };

// A handle held by the application, in RAM; released at the end of the scope. One that outlives its
// Runtime keeps the data of the handle, which are written home when it goes.
class Acquired {
 public:
  Acquired(Acquired&&) noexcept;
  Acquired& operator=(Acquired&&) = delete;
  ~Acquired();
  const OperandView& view() const { return view_; }
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

class Runtime {
 public:
  // Starts workers, or simulates the machine of Options::machine. Throws UsageError for an option or a machine that
  // cannot be, CapacityError if the system does not give the threads or the memory.
  explicit Runtime(const Options& options = Options::from_environment());
  // The same runtime on a simulated machine: kernels do not run, tasks take the time that they are expected to, copies
  // the bandwidth of their link; waiting advances simulated time. One thread at a time. What is read is the
  // application's own memory as it was registered, or zeros.
  Runtime(const MachineDescription& simulated, const Options& options);
  // The same in a world that other runtimes may share; time goes on for all of them. The time of a submission is this
  // runtime's own: see simulated_world.hpp.
  Runtime(const MachineDescription& simulated, const Options& options, const SimulatedWorld& world);
  // Waits for all tasks; call wait() first, which throws what went wrong: an error that no call has thrown is printed,
  // and ends the program by std::terminate (option undelivered_errors). Does not write back handles that were not
  // unregistered, except those homed in the user's own buffers and files. Called by exit inside a task it waits for
  // nothing.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // --- data -------------------------------------------------------------------------------
  // The application's own memory: its home is where it lies, outside the memory limit.
  // Throws UsageError if it overlaps a registered buffer. `released`: called when the memory is the application's
  // alone again.
  Handle register_buffer(void* data, Bytes size, std::string name = {}, Released released = {});
  Handle register_tile(void* data, TileShape shape, std::string name = {}, Released released = {});
  // The same for memory of an accelerator, by its address there, as __cuda_array_interface__ and cudaMalloc give it: on
  // a CUDA device, an emulated accelerator, or any node of a simulated machine. Its content lies there from the start
  // and is written back there by `unregister` and by the end of the runtime. What the application does with the
  // memory on streams of its own must have ended before the call. Throws UsageError: no such node, a node whose
  // addresses are the runtime's own (a disk, OpenCL), null, or memory that overlaps a registered buffer of the node.
  Handle register_buffer(NodeId node, void* address, Bytes size, std::string name = {},
                         Released released = {});
  // Data that start uninitialised; the runtime allocates them where they are first written.
  Handle register_empty(Bytes size, std::string name = {});
  Handle register_empty(TileShape shape, std::string name = {});
  // A region of a file. What is not in the file yet must be written before it is read, or the region be registered
  // with `create`; see FileRegion. A handle is read through the disk node, and written back to the file at the latest
  // when it is unregistered. The 4 KiB aligned part goes through O_DIRECT.
  Handle register_file(const FileRegion& region, Bytes size, std::string name = {});
  Handle register_file(const FileRegion& region, TileShape shape, std::string name = {});

  // On a simulated machine only: data whose content lies on `home` at the start, outside the limit of RAM or an
  // accelerator, like a buffer of the application, or on the disk.
  Handle register_simulated(Bytes size, NodeId home = kRam, std::string name = {});

  // Waits until no task uses the handle, writes the content back to the home (buffer or file) if
  // asked, and forgets it. From the call on, tasks that name the handle are refused, those submitted by
  // tasks that it waits for included. Throws PoisonedError, after forgetting it, if its writer failed.
  void unregister(Handle handle, WriteBack write_back = WriteBack::yes);
  // After the tasks submitted so far: the content is lost; the next access must write.
  void invalidate(Handle handle);
  // The handle in parts, each a handle; see partition.hpp. Nothing is moved and nobody waits; also inside a task. No
  // other thread may submit a task that names the handle meanwhile. Throws UsageError: parts that overlap or go
  // beyond the whole, or overlap those of a partition of the same handle that was not taken back, unless both are only
  // read.
  Parts partition(Handle whole, const Divide& divide, PartAccess access = PartAccess::writable);
  // After the tasks submitted so far: the whole has the content, and the parts are no more. Does not wait.
  // unregister of the whole does it, too.
  void unpartition(const Parts& parts);
  // From now on tasks may reduce into the handle, see Reduce: they run in any order and at once, each into a private
  // copy of its worker, and are combined into what tasks before them have left in the handle, or into the neutral element,
  // before the next access that is no reduction. The sum of what such tasks do must not depend on their order. Throws
  // UsageError: no codelet, it is given a second time, or the handle is in parts, or a part, or only to be read;
  // CapacityError: two of the handle's size fit on no memory whose workers combine.
  void set_reduction(Handle handle, const Reduction& reduction);
  // What tasks submitted so far reduce into it is combined when they have ended, rather than before the next access. Does
  // not wait; nothing happens if there is nothing to combine.
  void combine(Handle handle);
  // No task will use it soon: first to be evicted, after what no task submitted so far uses.
  void wont_use(Handle handle);
  // Where tasks that write it are to run, and what first reads it where the policy follows the reads too: on this
  // memory node, if one of its workers can. It counts for tasks that become ready from now on, until other advice, or
  // none, is given. Policies "directed", "owner" and "load" heed it. Any thread. Throws UsageError if there is no
  // such node.
  void advise(Handle handle, std::optional<NodeId> node);
  // After the tasks submitted so far: bring a copy to the node if there is room.
  void prefetch(Handle handle, NodeId node);

  // Memory of the application that data are registered in or will be: copies between it and CUDA devices go several
  // times faster once it is pinned, and do not pass a buffer (cuMemHostRegister). It takes about as long as writing to
  // it, and the memory cannot be paged out. Until `unpin`, which comes after the data there are unregistered, or the
  // end of the runtime. Without such devices, or with the option pin_memory off: nothing. Throws UsageError: null, or
  // overlaps what is pinned; DeviceError: the system refuses.
  void pin(void* data, Bytes size);
  // What `pin` was given. Throws UsageError if it was not.
  void unpin(void* data);

  // --- tasks ------------------------------------------------------------------------------
  // Throws UsageError (no codelet, foreign handle, reads data nobody wrote), CapacityError (its
  // operands can never fit on a node that could run it). Waits while the submission window is
  // full, running tasks meanwhile; never when called inside a task.
  TaskId submit(const TaskSpec& spec);

  // Wait for everything submitted, for the tasks of a group, or until the handle may be read. The
  // calling thread runs tasks meanwhile, if it may (Options::submitter_works).
  // Throws the first error since the last wait, after all that can end has ended; a second wait
  // returns. Throws UsageError inside a task of this runtime, or if what it waits for needs something
  // this very thread has acquired. What is acquired and no submitted task needs is not waited for.
  void wait();
  void wait(Group& group);
  void wait(Handle handle);
  // The same for so long at most, of the runtime's clock (simulated time in a simulation), and a task that this thread has
  // begun to run: false if what is waited for has not ended then. A duration of 0 or less only looks, and runs nothing.
  // Throws what the wait would if it returned; what this thread has acquired is no error.
  template <typename Number, typename Period>
  bool wait_for(std::chrono::duration<Number, Period> duration);
  template <typename Number, typename Period>
  bool wait_for(Group& group, std::chrono::duration<Number, Period> duration);
  template <typename Number, typename Period>
  bool wait_for(Handle handle, std::chrono::duration<Number, Period> duration);
  template <typename T, std::size_t rank, typename Number, typename Period>
  bool wait_for(Data<T, rank> data, std::chrono::duration<Number, Period> duration);
  // Whether a wait for it would return, or throw, at once: of a handle, the tasks submitted so far that write or reduce into
  // it have ended, well or not. Any thread, also inside a task; runs nothing and waits for nothing.
  bool ready(Group& group);
  bool ready(Handle handle);
  template <typename T, std::size_t rank>
  bool ready(Data<T, rank> data);
  // Tasks that have not started are cancelled, also those submitted from now on, until a wait() has
  // seen all of them end: what they would have written is poisoned. What was done stays: sums of reductions are combined
  // and parts joined also then. Any thread, also inside a task.
  void cancel();
  // The same for the tasks of the group alone, until a wait for it or for everything has seen all of them end. Others go
  // on, but for those that read what is poisoned.
  void cancel(Group& group);

  // Waits until the handle may be accessed in RAM and holds it there. Queues like a task.
  Acquired acquire(Handle handle, AccessMode mode);

  // --- data that know their type: see typed_data.hpp -------------------------------------------
  // The elements of a vector, an array or a span of the application, which must live until they are released or the
  // runtime ends; then `released` is called. Errors as for register_buffer.
  template <std::ranges::contiguous_range Range>
  auto data(Range&& elements, const std::string& name = {}, Released released = {});
  // So many elements that nobody has written.
  template <internals::Element T>
  Data<T> data(std::size_t count, std::string name = {});
  // A tile of the application's memory, column-major.
  template <typename T>
  Data<T, 2> tile(Tile<T> elements, const std::string& name = {}, Released released = {});
  template <internals::Element T>
  Data<T, 2> tile(std::uint64_t rows, std::uint64_t columns, std::string name = {});
  // The same, row-major.
  template <typename T>
  Data<T, kRowMajor> tile(RowTile<T> elements, const std::string& name = {},
                          Released released = {});
  template <internals::Element T>
  Data<T, kRowMajor> row_tile(std::uint64_t rows, std::uint64_t columns, std::string name = {});
  // Elements in memory of an accelerator; see register_buffer.
  template <internals::Element T>
  Data<T> data(NodeId node, T* elements, std::size_t count, std::string name = {},
               Released released = {});
  // Elements in a file, from byte `file.offset` on; see register_file.
  template <internals::Element T>
  Data<T> data(const FileRegion& file, std::size_t count, const std::string& name = {});
  template <internals::Element T>
  Data<T, 2> tile(const FileRegion& file, std::uint64_t rows, std::uint64_t columns,
                  const std::string& name = {});
  // `partition` and `unpartition`, typed: each part has the type of the whole.
  template <typename T, std::size_t rank>
  DataParts<T, rank> partition(Data<T, rank> whole, const Divide& divide,
                               PartAccess access = PartAccess::writable);
  template <typename T, std::size_t rank>
  void unpartition(const DataParts<T, rank>& parts);
  // `set_reduction`, element by element: by an operation of the standard library (std::plus<>()), or by two functions
  // that capture nothing, of which the first returns the element that changes nothing and the second combines two.
  template <typename T, std::size_t rank, typename Operation>
  void set_reduction(Data<T, rank> data, Operation operation);
  template <typename T, std::size_t rank, typename Neutral, typename Combine>
  void set_reduction(Data<T, rank> data, Neutral neutral, Combine combine);
  // `acquire`, typed: until the end of what they return the application reads the data, or may change them too. Like
  // other waits not inside a task.
  template <typename T, std::size_t rank>
  Held<const T, rank> read(Data<T, rank> data);
  template <typename T, std::size_t rank>
  Held<T, rank> write(Data<T, rank> data);
  // `unregister`, typed.
  template <typename T, std::size_t rank>
  void release(Data<T, rank> data, WriteBack write_back = WriteBack::yes);
  // Of data that the runtime has allocated: when the tasks submitted so far have ended the content is lost, and the room
  // free. Tasks that name the data are refused from now on. Does not wait; also inside a task. Throws UsageError if they
  // are a part, or in parts, or tasks reduce into them, or they lie in memory or a file of the application.
  template <typename T, std::size_t rank>
  void release_later(Data<T, rank> data) {
    release_later(data.handle());
  }

  // --- tasks that are functions: see typed_task.hpp --------------------------------------------
  // Returns its TaskId, or the Result of a function that returns something. Throws what submit throws.
  template <typename Function, typename... Arguments>
  auto task(std::string_view name, Function&& function, Arguments&&... arguments);

  // --- what is going on -------------------------------------------------------------------
  const MachineDescription& machine() const;
  // No kernel is called: results are not to be looked at.
  bool simulated() const;
  // Any thread, any time, also while a simulation runs.
  Statistics statistics() const;
  // Shows on the terminal, as long as what it returns lives, how many tasks have ended; see progress.hpp. Throws
  // CapacityError if the system gives no thread.
  [[nodiscard]] Progress progress(const ProgressOptions& options = {}) const;
  // Who waits for what, who holds which bytes, and the cycle if there is one. Any thread, any time.
  std::string stall_report() const;

  // --- recordings: see trace.hpp ------------------------------------------------------------
  // Records events of these categories ("all", or some of tasks, transfers, memory, scheduler, submission, decisions and
  // application, with commas) into the file, until `stop_trace` or the end of the runtime. Of what went on before it has
  // the data that are registered. Throws UsageError: one is in course, an unknown category, the file cannot be written.
  void start_trace(const std::string& file, std::string_view events = "all");
  // Throws DeviceError if the file could not be written as a whole. Nothing happens if none is in course.
  TraceSummary stop_trace();
  // A moment with a name, in the recording that is in course. Any thread, as the two below.
  void mark(std::string_view text);
  // From now to the end of the result: what the application does.
  [[nodiscard]] TraceRegion region(std::string_view text);
  // Something that is known of the run: a parameter, a result. The last value of a name counts.
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
  void release_typed(Handle handle, WriteBack write_back);
  void release_later(Handle handle);
  std::shared_ptr<const internals::OwnedHandle> register_owned(TileShape shape, std::string name);
  std::shared_ptr<internals::RuntimeImpl> impl_;
};

}  // namespace vicinal

#include "vicinal/typed_runtime.hpp"
