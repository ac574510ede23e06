// What programs ask of ROCr, where its driver alone could not answer well. Nobody may have ROCr here, and it
// may be in the scope of a library alone, where RTLD_NEXT does not see it. Types and numbers are those of
// hsa.h and hsa_ext_image.h.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "host/interposed_driver.h"
#include "host/interposer.h"

namespace {

using namespace lockstep::interposed;

struct MemoryPool {  // hsa_amd_memory_pool_t
  uint64_t handle;
};
struct Agent {  // hsa_agent_t
  uint64_t handle;
};
struct Signal {  // hsa_signal_t
  uint64_t handle;
};
struct ImageDescriptor {  // the begin of hsa_ext_image_descriptor_t
  uint32_t geometry;
};
constexpr int kNotInitialized = 0x100b;          // HSA_STATUS_ERROR_NOT_INITIALIZED
constexpr int kImageFormatUnsupported = 0x3000;  // HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED
constexpr uint32_t kImageOfBuffer = 5;           // HSA_EXT_IMAGE_GEOMETRY_1DB
constexpr int kExtensionsOfAgent = 20;           // HSA_AGENT_INFO_EXTENSIONS
constexpr uint8_t kImagesBit = 1 << 1;           // HSA_EXTENSION_IMAGES
enum WaitState { kBlocked, kActive };            // hsa_wait_state_t
enum Condition { kEqual, kNotEqual, kLess };     // hsa_signal_condition_t; else not less

void* of_runtime(const char* name) {
  if (void* const found = dlsym(RTLD_NEXT, name)) return found;
  void* const library = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, name) : nullptr;
}

// Passes a call on that comes rarely.
template <class... Arguments>
int ask(const char* name, Arguments... arguments) {
  const auto real = reinterpret_cast<int (*)(Arguments...)>(of_runtime(name));
  return real ? real(arguments...) : kNotInitialized;
}

// The machine has no image instructions yet: a kernel that came to one would end its queue. Images of one
// dimension over a buffer are read and written by buffer instructions.
bool has_images_of(uint32_t geometry) {
  return geometry == kImageOfBuffer || !present_driver();
}

bool refuses(const ImageDescriptor* image) {
  if (!image || has_images_of(image->geometry)) return false;
  present_driver()->refused_image(image->geometry);
  return true;
}

bool holds(int condition, int64_t value, int64_t compared) {
  switch (condition) {
    case kEqual:
      return value == compared;
    case kNotEqual:
      return value != compared;
    case kLess:
      return value < compared;
    default:
      return value >= compared;
  }
}

// Whether this thread's stack has room for what processes packets. Threads of the program may have small
// ones.
bool has_stack() {
  constexpr uintptr_t kNeeded = 1 << 20;
  static __thread uintptr_t lowest;  // 0: not asked yet
  if (lowest == 0) {
    lowest = UINTPTR_MAX;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      void* begin = nullptr;
      size_t bytes = 0;
      if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0)
        lowest = reinterpret_cast<uintptr_t>(begin);
      pthread_attr_destroy(&attributes);
    }
  }
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > lowest && here - lowest > kNeeded;
}

size_t whole_pages(size_t bytes) {
  constexpr size_t kPage = 4096;
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  return whole < bytes ? bytes : whole;
}

// amd_signal_t: kind, value, and where the number of its event is put; 0: it has none.
uint64_t event_mailbox(Signal signal) {
  uint64_t words[3] = {};
  if (signal.handle != 0) memcpy(words, reinterpret_cast<const void*>(signal.handle), sizeof words);
  return words[2];
}

using Store = void (*)(Signal, int64_t);

// Whether the driver has stored to the doorbell that the signal stands for.
bool rings(Signal signal, int64_t value) {
  const LockstepDriver* const driver = present_driver();
  if (!driver) return false;
  struct {  // the begin of amd_signal_t
    int64_t kind;
    const void* doorbell;
  } begin = {};
  constexpr int64_t kDoorbell = -1;  // AMD_SIGNAL_KIND_DOORBELL
  if (signal.handle != 0) memcpy(&begin, reinterpret_cast<const void*>(signal.handle), sizeof begin);
  if (begin.kind != kDoorbell) return false;
  if (driver->ring && has_stack() && driver->ring(begin.doorbell, static_cast<uint64_t>(value))) return true;
  driver->about_to_ring();
  return false;
}

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void nap(uint64_t waited, uint64_t most) {
  constexpr uint64_t kShortest = 20'000, kLongest = 1'000'000;  // ns
  uint64_t length = waited / 16;
  length = length < kShortest ? kShortest : length < kLongest ? length : kLongest;
  const timespec time = {0, static_cast<long>(length < most ? length : most)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

// The last wait of the thread for a signal without an event, if its time was up before the signal was there.
struct Wait {
  uint64_t signal, begin, end;
};
__thread Wait last_wait;

// Since when the thread has waited for it: HIP 7 does so in parts of 4 ms.
uint64_t begin_of_wait(uint64_t signal, uint64_t time) {
  constexpr uint64_t kLongestBetween = 100'000;  // ns
  const bool goes_on = last_wait.signal == signal && time - last_wait.end < kLongestBetween;
  return goes_on ? last_wait.begin : time;
}

bool is_opencl(const void* caller) {
  Dl_info library;
  return dladdr(caller, &library) && library.dli_fname && strstr(library.dli_fname, "libamdocl");
}

}  // namespace

// ---- Memory that ROCr hands out, to the byte: its driver is asked for pages

LOCKSTEP_TAKEN int hsa_amd_memory_pool_allocate(MemoryPool pool, size_t bytes, uint32_t flags,
                                                void** address) {
  static const auto real = reinterpret_cast<int (*)(MemoryPool, size_t, uint32_t, void**)>(
      of_runtime("hsa_amd_memory_pool_allocate"));
  if (!real) return kNotInitialized;
  const LockstepDriver* const driver = present_driver();
  const int status = real(pool, driver && driver->allocated ? whole_pages(bytes) : bytes, flags, address);
  if (status == 0 && driver && driver->allocated) driver->allocated(*address, bytes);
  return status;
}
LOCKSTEP_TAKEN int hsa_amd_memory_pool_free(void* address) {
  static const auto real = reinterpret_cast<int (*)(void*)>(of_runtime("hsa_amd_memory_pool_free"));
  if (!real) return kNotInitialized;
  const LockstepDriver* const driver = present_driver();
  if (driver && driver->freed) driver->freed(address);
  return real(address);
}

// Where each allocation is a range of its own (HSA_DISABLE_FRAGMENT_ALLOCATOR), ROCr compares a handle's size
// with the range's, which is in pages, takes another size for a piece of a block, and ends in an assertion,
// since blocks begin at multiples of 2 MiB. ROCr 7 also compares it with what was allocated, and refuses
// more: so it allocates whole pages then.
LOCKSTEP_TAKEN int hsa_amd_ipc_memory_create(void* address, size_t bytes, void* handle) {
  const LockstepDriver* const driver = present_driver();
  if (driver && driver->allocated) bytes = whole_pages(bytes);
  return ask("hsa_amd_ipc_memory_create", address, bytes, handle);
}

// ---- Waiting

// HIP and OpenCL wait actively for kernels, which costs a card nothing; here it takes the processor from the
// kernel's waves. ROCr looks at the signal for some time (200 us) also in a wait that may block, so
// short kernels are noticed as fast. Nobody need tell ROCr of a value that is stored by other means than its
// own, which an active wait sees: so it looks again now and then.
// A signal without an event (HSA_AMD_SIGNAL_AMD_GPU_ONLY, as those of HIP 7) ROCr reads without pause for all
// of such a wait, too: after a first look of as long the thread sleeps, each time for a sixteenth of what it
// has waited, in this call and those right before it. Before it waits, the thread processes what has been
// published itself: on busy processors the thread that looks at doorbells may not run for longer than a
// kernel takes.
LOCKSTEP_TAKEN int64_t hsa_signal_wait_scacquire(Signal signal, int condition, int64_t compared,
                                                 uint64_t timeout, int state) {
  // In ns: ROCr's time stamps are KFD's.
  constexpr uint64_t kForever = UINT64_MAX, kPart = 20'000'000, kLook = 200'000;
  static const auto real = reinterpret_cast<int64_t (*)(Signal, int, int64_t, uint64_t, int)>(
      of_runtime("hsa_signal_wait_scacquire"));
  static const auto load = reinterpret_cast<int64_t (*)(Signal)>(of_runtime("hsa_signal_load_scacquire"));
  if (!real) return 0;
  const LockstepDriver* const driver = present_driver();
  if (!driver) return real(signal, condition, compared, timeout, state);
  if (load && has_stack()) {
    bool has_more = false;
    do {
      const int64_t value = load(signal);
      if (holds(condition, value, compared)) {
        if (has_more) driver->stop_serving();
        return value;
      }
      has_more = driver->serve();
    } while (has_more);
  }
  const bool has_event = event_mailbox(signal) != 0;
  if (has_event && state != kActive) return real(signal, condition, compared, timeout, state);
  const uint64_t begin = now(), first = begin_of_wait(signal.handle, begin);
  last_wait.signal = 0;
  bool looks = first == begin;
  for (uint64_t waited = 0;;) {
    const uint64_t left = timeout == kForever ? kForever : timeout - waited;
    const uint64_t most = has_event ? kPart : looks ? kLook : 0;
    const int64_t value = real(signal, condition, compared, left < most ? left : most, kBlocked);
    const uint64_t time = now();
    waited = time - begin;
    looks = false;
    if (holds(condition, value, compared)) return value;
    if (waited >= timeout) {
      if (!has_event) last_wait = {signal.handle, first, time};
      return value;
    }
    if (!has_event) nap(time - first, timeout - waited);
  }
}

// ---- Doorbells

// HIP and OpenCL ring so, when packets are published.
LOCKSTEP_TAKEN void hsa_signal_store_screlease(Signal signal, int64_t value) {
  static const auto real = reinterpret_cast<Store>(of_runtime("hsa_signal_store_screlease"));
  if (!rings(signal, value) && real) real(signal, value);
}
LOCKSTEP_TAKEN void hsa_signal_store_relaxed(Signal signal, int64_t value) {
  static const auto real = reinterpret_cast<Store>(of_runtime("hsa_signal_store_relaxed"));
  if (!rings(signal, value) && real) real(signal, value);
}

// ---- Images

// OpenCL can only say that a device has images or that it has none. HIP goes on to say that it has: programs
// use linear textures, which are of buffers.
LOCKSTEP_TAKEN int hsa_agent_get_info(Agent agent, int attribute, void* value) {
  const int status = ask("hsa_agent_get_info", agent, attribute, value);
  if (status == 0 && attribute == kExtensionsOfAgent && present_driver() &&
      is_opencl(__builtin_return_address(0)))
    *static_cast<uint8_t*>(value) &= static_cast<uint8_t>(~kImagesBit);
  return status;
}

LOCKSTEP_TAKEN int hsa_ext_image_get_capability(Agent agent, uint32_t geometry, const void* format,
                                                uint32_t* capabilities) {
  const int status = ask("hsa_ext_image_get_capability", agent, geometry, format, capabilities);
  if (status == 0 && !has_images_of(geometry)) *capabilities = 0;
  return status;
}
LOCKSTEP_TAKEN int hsa_ext_image_get_capability_with_layout(Agent agent, uint32_t geometry,
                                                            const void* format, uint32_t layout,
                                                            uint32_t* capabilities) {
  const int status =
      ask("hsa_ext_image_get_capability_with_layout", agent, geometry, format, layout, capabilities);
  if (status == 0 && !has_images_of(geometry)) *capabilities = 0;
  return status;
}
LOCKSTEP_TAKEN int hsa_ext_image_data_get_info(Agent agent, const ImageDescriptor* image, uint32_t access,
                                               void* info) {
  if (refuses(image)) return kImageFormatUnsupported;
  return ask("hsa_ext_image_data_get_info", agent, image, access, info);
}
LOCKSTEP_TAKEN int hsa_ext_image_data_get_info_with_layout(Agent agent, const ImageDescriptor* image,
                                                           uint32_t access, uint32_t layout, size_t row_pitch,
                                                           size_t slice_pitch, void* info) {
  if (refuses(image)) return kImageFormatUnsupported;
  return ask("hsa_ext_image_data_get_info_with_layout", agent, image, access, layout, row_pitch, slice_pitch,
             info);
}
LOCKSTEP_TAKEN int hsa_ext_image_create(Agent agent, const ImageDescriptor* image, const void* data,
                                        uint32_t access, void* handle) {
  if (refuses(image)) return kImageFormatUnsupported;
  return ask("hsa_ext_image_create", agent, image, data, access, handle);
}
LOCKSTEP_TAKEN int hsa_ext_image_create_with_layout(Agent agent, const ImageDescriptor* image,
                                                    const void* data, uint32_t access, uint32_t layout,
                                                    size_t row_pitch, size_t slice_pitch, void* handle) {
  if (refuses(image)) return kImageFormatUnsupported;
  return ask("hsa_ext_image_create_with_layout", agent, image, data, access, layout, row_pitch, slice_pitch,
             handle);
}
LOCKSTEP_TAKEN int hsa_amd_image_create(Agent agent, const ImageDescriptor* image, const void* layout,
                                        const void* data, uint32_t access, void* handle) {
  if (refuses(image)) return kImageFormatUnsupported;
  return ask("hsa_amd_image_create", agent, image, layout, data, access, handle);
}
