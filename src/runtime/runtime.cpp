// The public calls, each handed to the part that does it.
#include "vicinal/runtime.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/option_source.hpp"
#include "base/sure_memory.hpp"
#include "comm/launch.hpp"
#include "drivers/cpu/binding.hpp"
#include "drivers/mapped_memory.hpp"
#include "engine/arguments.hpp"
#include "machine/machine_model.hpp"
#include "runtime/ranks.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/error.hpp"

namespace vicinal {

using internals::RuntimeImpl;

namespace {
// One that was left is used by its threads. A process forked from the one that made the runtime has none of its
// threads, and what is to be written home is the other's: nothing is ended there. Even the end of a condition variable
// would wait for those who slept there at the fork.
std::shared_ptr<RuntimeImpl> owned(std::unique_ptr<RuntimeImpl> impl) {
  return {impl.release(), [](RuntimeImpl* ended) {
            if (!ended->forked() && !ended->is_left()) delete ended;
          }};
}

runtime::MachineSetup setup_of(const Options& options) {
  if (options.machine.empty()) return runtime::MachineSetup(options);
  return runtime::MachineSetup(machine::load_machine_of_option(options.machine).description);
}

// Ranks have their options in common: each has files of its own, and its share of this host's processors.
Options of_rank(Options options, const comm::Progress& ranks) {
  options.trace = file_of_rank(options.trace, ranks.rank());
  options.status = file_of_rank(options.status, ranks.rank());
  if (options.workers == 0) {
    const std::uint32_t share = drivers::usable_processors_among(comm::ranks_on_this_host());
    options.workers = std::max(1U, share / options.worker_processors);
  }
  return options;
}

// Who did not name an option in the program looks for the variable.
std::unique_ptr<RuntimeImpl> made_of(const Options& asked, std::shared_ptr<comm::Progress> ranks) {
  try {
    asked.check();
    const Options options = ranks != nullptr && ranks->ranks() > 1 ? of_rank(asked, *ranks) : asked;
    return std::make_unique<RuntimeImpl>(options, setup_of(options), nullptr, nullptr,
                                         std::move(ranks));
  } catch (const UsageError& error) {
    throw UsageError(base::with_variable(error.what(), asked));
  }
}
}  // namespace

Runtime::Runtime(const Options& options) : impl_(owned(made_of(options, nullptr))) {}

Runtime::Runtime(const Options& options, const Ranks& ranks)
    : impl_(owned(made_of(options, ranks.progress_ ? ranks.progress_->progress : nullptr))) {}

Runtime::Runtime(const MachineDescription& simulated, const Options& options)
    : impl_(owned(std::make_unique<RuntimeImpl>((options.check(), options),
                                                runtime::MachineSetup(simulated)))) {}

Runtime::Runtime(const MachineDescription& simulated, const Options& options,
                 const SimulatedWorld& world)
    : impl_(owned(std::make_unique<RuntimeImpl>(
          (options.check(), options), runtime::MachineSetup(simulated, world.shared_)))) {}

Runtime::Runtime(const MachineDescription& simulated, const Options& options,
                 const SimulatedWorld& world, const Ranks& ranks)
    : impl_(owned(std::make_unique<RuntimeImpl>(
          (options.check(), options), runtime::MachineSetup(simulated, world.shared_), nullptr,
          nullptr, ranks.progress_ ? ranks.progress_->progress : nullptr))) {}

Runtime::~Runtime() {
  impl_->close();
}

Handle Runtime::register_buffer(void* data, Bytes size, std::string name, Released released) {
  return register_buffer(kRam, data, size, std::move(name), std::move(released));
}

Handle Runtime::register_buffer(NodeId node, void* address, Bytes size, std::string name,
                                Released released) {
  return register_memory(std::nullopt, node, address, {size.value, 1, size.value, 1},
                         std::move(name), std::move(released));
}

Handle Runtime::register_buffer(RankId owner, void* data, Bytes size, std::string name,
                                Released released) {
  return register_memory(owner, kRam, data, {size.value, 1, size.value, 1}, std::move(name),
                         std::move(released));
}

Handle Runtime::register_memory(std::optional<RankId> owner, NodeId node, void* address,
                                const Layout& layout, std::string name, Released released) {
  return impl_->add_owned(owner, layout, std::move(name), true, [&](std::string its_name) {
    return impl_->add_memory(node, address, layout, std::move(its_name), std::move(released));
  });
}

Handle Runtime::register_array(NodeId node, void* address, TileShape shape, std::string name,
                               Released released) {
  const Layout layout = engine::checked(shape, name);
  return register_memory(std::nullopt, node, address, layout, std::move(name), std::move(released));
}

Handle Runtime::register_tile(void* data, TileShape shape, std::string name, Released released) {
  return register_array(kRam, data, shape, std::move(name), std::move(released));
}

Handle Runtime::register_tile(RankId owner, void* data, TileShape shape, std::string name,
                              Released released) {
  const Layout layout = engine::checked(shape, name);
  return register_memory(owner, kRam, data, layout, std::move(name), std::move(released));
}

namespace {
Handle add_empty(RuntimeImpl& impl, std::optional<RankId> owner, const Layout& layout,
                 std::string name) {
  return impl.add_owned(owner, layout, std::move(name), false, [&](std::string its_name) {
    return impl.add(layout, {}, false, std::move(its_name));
  });
}
}  // namespace

Handle Runtime::register_empty(Bytes size, std::string name) {
  return add_empty(*impl_, std::nullopt, {size.value, 1, size.value, 1}, std::move(name));
}

Handle Runtime::register_empty(TileShape shape, std::string name) {
  shape.leading_dimension = 0;
  const Layout layout = engine::checked(shape, name);
  return add_empty(*impl_, std::nullopt, layout, std::move(name));
}

Handle Runtime::register_empty(RankId owner, Bytes size, std::string name) {
  return add_empty(*impl_, owner, {size.value, 1, size.value, 1}, std::move(name));
}

Handle Runtime::register_empty(RankId owner, TileShape shape, std::string name) {
  shape.leading_dimension = 0;
  const Layout layout = engine::checked(shape, name);
  return add_empty(*impl_, owner, layout, std::move(name));
}

std::shared_ptr<const internals::OwnedHandle> Runtime::register_owned(TileShape shape,
                                                                      std::string name) {
  impl_->application().departures.sweep_if_many();
  auto owned = std::make_shared<internals::OwnedHandle>(impl_);
  owned->handle_ = register_empty(shape, std::move(name));
  return owned;
}

internals::OwnedHandle::~OwnedHandle() {
  if (const auto runtime = runtime_.lock()) runtime->let_go(handle_);
}

namespace {
// Whether there is content is known on the rank that has the file, and asked when a task reads it.
Handle add_file(RuntimeImpl& impl, std::optional<RankId> owner, const FileRegion& region,
                const Layout& layout, std::string name) {
  return impl.add_owned(owner, layout, std::move(name), true, [&](std::string its_name) {
    return impl.add_file(region, layout, std::move(its_name));
  });
}
}  // namespace

Handle Runtime::register_file(const FileRegion& region, Bytes size, std::string name) {
  return add_file(*impl_, std::nullopt, region, {size.value, 1, size.value, 1}, std::move(name));
}

Handle Runtime::register_file(RankId owner, const FileRegion& region, TileShape shape,
                              std::string name) {
  const Layout layout = engine::checked(shape, name);
  return add_file(*impl_, owner, region, layout, std::move(name));
}

Handle Runtime::register_file(const FileRegion& region, TileShape shape, std::string name) {
  const Layout layout = engine::checked(shape, name);
  return add_file(*impl_, std::nullopt, region, layout, std::move(name));
}

Handle Runtime::register_simulated(Bytes size, NodeId home, std::string name) {
  return impl_->add_simulated(size, home, std::move(name));
}

Handle Runtime::register_simulated(RankId owner, Bytes size, NodeId home, std::string name) {
  const Layout layout{size.value, 1, size.value, 1};
  return impl_->add_owned(owner, layout, std::move(name), true, [&](std::string its_name) {
    return impl_->add_simulated(size, home, std::move(its_name));
  });
}

void Runtime::unregister(Handle handle, WriteBack write_back) {
  impl_->unregister(handle, write_back);
}

void Runtime::release_typed(Handle handle, WriteBack write_back) {
  impl_->unregister(handle, write_back, "release");
}

void Runtime::announce_readers(Handle handle, std::uint32_t ranks) {
  impl_->announce_readers(handle, ranks);
}
void Runtime::release_later(Handle handle) {
  impl_->release_later(handle);
}

void Runtime::invalidate(Handle handle) {
  if (runtime::RankSequence* const ranks = impl_->ranks_of(handle, "invalidate")) {
    return ranks->invalidate(handle);
  }
  handle = impl_->application().declared.local(handle, "invalidate");
  impl_->check(handle, "invalidate");
  impl_->application().invalidations.submit(handle);
}

Parts Runtime::partition(Handle whole, const Divide& divide, PartAccess access) {
  if (!divide) throw UsageError("partition: no division was given");
  if (runtime::RankSequence* const ranks = impl_->ranks_of(whole, "partition")) {
    return ranks->partition(whole, divide, access);
  }
  whole = impl_->application().declared.local(whole, "partition");
  return impl_->application().partitions.partition(whole, divide, access);
}

void Runtime::unpartition(const Parts& parts) {
  runtime::RankSequence* const ranks =
      parts.size() > 0 ? impl_->ranks_of(parts[0], "unpartition") : nullptr;
  if (ranks != nullptr) return ranks->unpartition(parts);
  impl_->application().partitions.unpartition(parts);
}

void Runtime::set_reduction(Handle handle, const Reduction& reduction) {
  impl_->set_reduction(handle, reduction);
}

void Runtime::combine(Handle handle) {
  if (runtime::RankSequence* const ranks = impl_->ranks_of(handle, "combine")) {
    return ranks->combine(handle);
  }
  handle = impl_->application().declared.local(handle, "combine");
  impl_->check(handle, "combine");
  impl_->application().reductions.combine(handle);
}

void Runtime::wont_use(Handle handle) {
  if (!impl_->uses(handle, "wont_use")) return;
  handle = impl_->application().declared.local(handle, "wont_use");
  impl_->check(handle, "wont_use");
  impl_->application().prefetches.submit_wont_use(handle);
}

void Runtime::advise(Handle handle, std::optional<NodeId> node) {
  if (!impl_->uses(handle, "advise")) return;
  handle = impl_->application().declared.local(handle, "advise");
  graph::Handle& data = impl_->check(handle, "advise");
  if (node) engine::checked(*node, impl_->engine().machine(), "advise");
  data.prefer(node);
}

void Runtime::prefetch(Handle handle, NodeId node) {
  if (impl_->ranks() != nullptr) impl_->ranks()->require_written(handle, "prefetch");
  if (!impl_->uses(handle, "prefetch")) return;
  handle = impl_->application().declared.local(handle, "prefetch");
  impl_->check(handle, "prefetch");
  engine::checked(node, impl_->engine().machine(), "prefetch");
  if (impl_->engine().residency().trivial()) return;
  impl_->application().prefetches.submit(handle, node);
}

void Runtime::pin(void* data, Bytes size) {
  impl_->pin(static_cast<std::byte*>(data), size);
}

void Runtime::unpin(void* data) {
  impl_->unpin(static_cast<std::byte*>(data));
}

TaskId Runtime::submit(const TaskSpec& spec) {
  try {
    return impl_->submit_named(spec);
  } catch (const std::bad_alloc&) {
    std::rethrow_exception(base::out_of_memory("took a task"));
  }
}
namespace {
// Of a wait that may run tasks.
template <typename Wait>
bool wait_with_memory(const Wait& wait) {
  try {
    return wait();
  } catch (const std::bad_alloc&) {
    std::rethrow_exception(base::out_of_memory("ran tasks"));
  }
}

void require_runtime(const std::shared_ptr<RuntimeImpl>& runtime) {
  if (runtime != nullptr) return;
  throw UsageError(
      "a result of a runtime that is gone, or one that was moved from: read it while the runtime "
      "lives, from where it was moved to");
}
}  // namespace

void Runtime::wait() {
  wait_with_memory([&] { return impl_->wait(std::nullopt); });
}
void Runtime::wait(Group& group) {
  wait_with_memory([&] { return impl_->wait(group, std::nullopt); });
}
void Runtime::wait(Handle handle) {
  impl_->wait(handle);
}
bool Runtime::wait_all(Time duration) {
  return wait_with_memory([&] { return impl_->wait(impl_->in_time(duration)); });
}
bool Runtime::wait_group(Group& group, Time duration) {
  return wait_with_memory([&] { return impl_->wait(group, impl_->in_time(duration)); });
}
bool Runtime::wait_for_of(const std::shared_ptr<RuntimeImpl>& runtime, Handle handle,
                          Time duration) {
  require_runtime(runtime);
  return wait_with_memory([&] { return runtime->wait_for(handle, duration); });
}
bool Runtime::ready(Group& group) {
  return impl_->is_ready(group);
}
bool Runtime::ready(Handle handle) {
  return impl_->is_ready(handle, "ready");
}
bool Runtime::ready_of(const std::shared_ptr<RuntimeImpl>& runtime, Handle handle) {
  require_runtime(runtime);
  return runtime->is_ready(handle, "ready");
}
void Runtime::cancel() {
  impl_->cancel();
}
void Runtime::cancel(Group& group) {
  if (impl_->ranks() != nullptr && impl_->ranks()->ranks() > 1) {
    throw UsageError(
        "cancel: tasks of the group run on several ranks, which would not stop at the same task; "
        "cancel() "
        "without a group ends the run on all ranks");
  }
  impl_->engine().errors().cancel(internals::Opener::count(group));
}

Acquired Runtime::acquire(Handle handle, AccessMode mode) {
  return acquire_of(impl_, handle, mode);
}

Acquired Runtime::acquire_of(std::shared_ptr<RuntimeImpl> runtime, Handle handle, AccessMode mode,
                             const char* call) {
  require_runtime(runtime);
  if (runtime::RankSequence* const ranks = runtime->ranks()) ranks->access(handle, mode);
  handle = runtime->application().declared.local(handle, call);
  graph::Handle& data = runtime->check(handle, call);
  Acquired acquired;
  acquired.acquisition_ = runtime->acquire(handle, mode, call).release();
  acquired.runtime_ = std::move(runtime);
  acquired.view_ = memory::view(data, kRam);
  if (acquired.runtime_->lacks_content(data)) acquired.view_nothing(data.layout);
  return acquired;
}

bool Runtime::concerns(const Operands& operands, std::optional<RankId> rank) const {
  runtime::RankSequence* const ranks = impl_->ranks();
  return ranks == nullptr || ranks->concerns(operands.span(), rank);
}

RankId Runtime::this_rank() const {
  const runtime::RankSequence* const ranks = impl_->ranks();
  return ranks != nullptr ? ranks->here() : RankId{0};
}

std::uint32_t Runtime::rank_count() const {
  const runtime::RankSequence* const ranks = impl_->ranks();
  return ranks != nullptr ? ranks->ranks() : 1;
}

std::optional<RankId> Runtime::owner(Handle handle) const {
  const runtime::RankSequence* const ranks = impl_->ranks();
  return ranks != nullptr ? ranks->owner(handle) : std::nullopt;
}

const MachineDescription& Runtime::machine() const {
  return impl_->engine().machine();
}
bool Runtime::simulated() const {
  return impl_->simulated();
}
Statistics Runtime::statistics() const {
  return impl_->statistics();
}
std::string Runtime::stall_report() const {
  return impl_->stall_report();
}

Acquired::Acquired(Acquired&& other) noexcept
    : runtime_(std::move(other.runtime_)),
      acquisition_(std::exchange(other.acquisition_, nullptr)),
      view_(other.view_),
      nothing_(std::move(other.nothing_)) {}

// Zeros of its own: resident only as they are touched.
void Acquired::view_nothing(const Layout& layout) {
  view_ = {nullptr, layout.packed()};
  if (layout.bytes().value == 0) return;
  nothing_ = std::make_shared<drivers::MappedMemory>(layout.bytes(), "the view of simulated data");
  view_.address = static_cast<drivers::MappedMemory*>(nothing_.get())->address();
}

Group::Group() : count_(new graph::GroupCount) {}

Group::~Group() {
  graph::GroupCount::end_one(*count_);
}

std::size_t Group::pending() const {
  return count_->pending();
}

Acquired::~Acquired() {
  if (runtime_ == nullptr) return;
  const std::unique_ptr<internals::Acquisition> acquisition(acquisition_);
  runtime_->release(*acquisition);
}

}  // namespace vicinal
