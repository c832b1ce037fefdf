// Whether a thread has begun to end. A thread that calls exit destroys its thread_local objects before the static
// ones: a destructor asks here whether it runs for its scope or because the process ends.
#pragma once

namespace vicinal::base {

// From now on this thread's end is noticed.
void watch_thread_end() noexcept;
// This thread was watched, and its thread_local objects are gone.
bool thread_has_ended() noexcept;

}  // namespace vicinal::base
