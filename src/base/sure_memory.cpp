#include "base/sure_memory.hpp"

#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <string>
#include <sys/mman.h>

#include "base/spin_lock.hpp"
#include "vicinal/error.hpp"

namespace vicinal::base {

namespace {

constexpr std::size_t kReserveBytes = std::size_t{32} << 20;

// Of the process, as the memory that runs out is. Small blocks are used again one by one; all of it is when
// everything has been given back.
class Reserve {
 public:
  explicit Reserve(std::byte* range)
      : begin_(reinterpret_cast<std::uintptr_t>(range)),
        whole_(range, kReserveBytes, std::pmr::null_memory_resource()) {}

  bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - begin_ < kReserveBytes;
  }
  void* allocate(std::size_t bytes, std::size_t alignment) {
    const std::lock_guard lock(lock_);
    void* const address = blocks_.allocate(bytes, alignment);
    ++in_use_;
    return address;
  }
  void free(void* address, std::size_t bytes, std::size_t alignment) {
    const std::lock_guard lock(lock_);
    blocks_.deallocate(address, bytes, alignment);
    if (--in_use_ > 0) return;
    blocks_.release();
    whole_.release();
  }

 private:
  const std::uintptr_t begin_;
  SpinLock lock_;
  std::pmr::monotonic_buffer_resource whole_;
  std::pmr::unsynchronized_pool_resource blocks_{&whole_};
  std::size_t in_use_ = 0;
};

// Never destroyed: objects that end after main may still free memory of the reserve.
std::atomic<Reserve*> mapped{nullptr};

Reserve* make_reserve() noexcept {
  void* const range = mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  alignas(Reserve) static std::byte room[sizeof(Reserve)];
  return new (room) Reserve(static_cast<std::byte*>(range));
}

void* from_system(std::size_t bytes, std::size_t alignment) noexcept {
  return alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__
             ? ::operator new (bytes, std::align_val_t{alignment}, std::nothrow)
             : ::operator new(bytes, std::nothrow);
}

}  // namespace

void map_reserve() noexcept {
  static const bool once = [] {
    mapped.store(make_reserve(), std::memory_order_release);
    return true;
  }();
  static_cast<void>(once);
}

void* sure_allocate(std::size_t bytes, std::size_t alignment) {
  if (void* const address = from_system(bytes, alignment)) return address;
  Reserve* const reserve = mapped.load(std::memory_order_acquire);
  if (reserve == nullptr) throw std::bad_alloc();
  return reserve->allocate(bytes, alignment);
}

void sure_free(void* address, std::size_t bytes, std::size_t alignment) noexcept {
  Reserve* const reserve = mapped.load(std::memory_order_relaxed);
  if (reserve != nullptr && reserve->holds(address)) {
    reserve->free(address, bytes, alignment);
  } else if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    ::operator delete (address, std::align_val_t{alignment});
  } else {
    ::operator delete(address);
  }
}

std::pmr::memory_resource* sure_resource() noexcept {
  class Resource final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
      return sure_allocate(bytes, alignment);
    }
    void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override {
      sure_free(address, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
      return this == &other;
    }
  };
  static Resource resource;
  return &resource;
}

std::exception_ptr out_of_memory(const char* doing) noexcept {
  return make_error<Error>([doing] {
    return std::string("out of memory: the system gave none while the runtime ") + doing +
           "; give the process more, set the option memory to less, or submit less at once";
  });
}

std::exception_ptr say_out_of_memory(std::exception_ptr error, const char* doing) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return out_of_memory(doing);
  } catch (...) {
    return error;
  }
}

}  // namespace vicinal::base
