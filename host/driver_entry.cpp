// What the library exports that `lockstep exec` loads into programs when they look for a device.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "host/device_files.h"
#include "host/driver.h"
#include "host/driver_interface.h"
#include "host/own_descriptors.h"
#include "host/refusals.h"
#include "memory/host_fault.h"

namespace lockstep::host {

namespace {

std::mutex mutex;
Settings settings;
std::vector<DeviceFile> files;
std::vector<LockstepFile> told;
std::atomic<Driver*> driver = nullptr;  // never deleted: the program's threads use it until its end
bool failed = false;
bool is_parents = false;  // a fork has no threads of the devices

Driver* get() {
  if (Driver* const there = driver.load(std::memory_order_acquire)) return there;
  std::lock_guard lock(mutex);
  if (driver || failed) return driver;
  try {
    if (is_parents)
      throw std::runtime_error(
          "a process that was forked from one that has used devices cannot use any (fork before the first "
          "queue is made, or exec)");
    driver.store(new Driver(settings), std::memory_order_release);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep: no device: %s\n", error.what());
    failed = true;
  }
  return driver;
}

const char* read_file(unsigned number, size_t* bytes) {
  const DeviceFile& file = files[number];
  if (file.kind != DeviceFile::Kind::used_memory) {
    *bytes = file.text.size();
    return file.text.c_str();
  }
  // A process that has opened no device has nothing in its memory.
  thread_local std::string text;
  const Driver* const there = driver.load(std::memory_order_acquire);
  text = std::to_string(there ? there->used_memory(static_cast<unsigned>(std::stoul(file.text))) : 0) + "\n";
  *bytes = text.size();
  return text.c_str();
}

int descriptor() {
  Driver* const there = get();
  return there ? there->descriptor() : -1;
}

int kfd_ioctl(unsigned long request, void* argument) {
  Driver* const there = get();
  return there ? there->kfd_ioctl(request, argument) : ENODEV;
}

int render_ioctl(unsigned device, unsigned long request, void* argument) {
  Driver* const there = get();
  return there ? there->render_ioctl(device, request, argument) : ENODEV;
}

void mapped(uint64_t offset, void* address) {
  if (Driver* const there = get()) there->mapped(offset, address);
}

bool serve() {
  Driver* const there = driver.load(std::memory_order_acquire);
  return there && there->serve();
}

void stop_serving() {
  if (Driver* const there = driver.load(std::memory_order_acquire)) there->stop_serving();
}

bool ring(const void* address, uint64_t value) {
  Driver* const there = driver.load(std::memory_order_acquire);
  return there && there->ring(address, value);
}

void about_to_ring() {
  if (Driver* const there = driver.load(std::memory_order_acquire)) there->about_to_ring();
}

void allocated(void* address, size_t bytes) {
  if (Driver* const there = driver.load(std::memory_order_acquire)) there->allocated(address, bytes);
}

void freed(void* address) {
  if (Driver* const there = driver.load(std::memory_order_acquire)) there->freed(address);
}

int descriptor_at(uint64_t* offset, uint64_t bytes) {
  Driver* const there = get();
  return there ? there->descriptor_at(*offset, bytes) : -1;
}

// The program has ended by itself: behind its own destructors.
[[gnu::destructor]] void finish() {
  if (Driver* const there = driver.load(std::memory_order_acquire)) there->finish();
}

// A parent that has only asked what devices there are has left nothing behind, as programs do that count them
// before they fork. One that had queues has threads that the child has not, and locks as they were.
void forked() {
  if (const Driver* const parents = driver.exchange(nullptr)) is_parents = parents->has_had_queues();
}

}  // namespace

}  // namespace lockstep::host

extern "C" [[gnu::visibility("default")]] const LockstepDriver* lockstep_driver() {
  using namespace lockstep::host;
  static LockstepDriver interface = {};
  try {
    settings = settings_from_environment();
    files = with_folders(device_files(settings.model, settings.devices, host_facts()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep: no device: %s\n", error.what());
    return nullptr;
  }
  using Kind = DeviceFile::Kind;
  for (const DeviceFile& file : files)
    told.push_back({file.path.c_str(),
                    file.kind == Kind::file || file.kind == Kind::used_memory ? file.text.c_str() : nullptr,
                    file.kind == Kind::link ? file.text.c_str() : nullptr, file.text.size(),
                    file.kind == Kind::shared_folder});
  // Now: once this has returned, the program's sigaction() is the interposer's, and what is set by it comes
  // behind a handler of ours.
  lockstep::catch_host_faults();
  interface.files = told.data();
  interface.file_count = static_cast<unsigned>(told.size());
  interface.is_device_path = [](const char* path) { return is_device_path(path); };
  interface.read = read_file;
  interface.devices = settings.devices;
  interface.descriptor = descriptor;
  interface.is_own_descriptor = is_own_descriptor;
  interface.kfd_ioctl = kfd_ioctl;
  interface.render_ioctl = render_ioctl;
  interface.descriptor_at = descriptor_at;
  interface.mapped = mapped;
  interface.serve = serve;
  interface.stop_serving = stop_serving;
  // A dump has memory as of a dispatch's begin and end: the packets that the program publishes at once behind
  // it are to be there already.
  if (!settings.reports.dumps.any()) interface.ring = ring;
  interface.about_to_ring = about_to_ring;
  if (settings.reports.checks.contains("memory")) {
    interface.allocated = allocated;
    interface.freed = freed;
  }
  interface.refused_image = refuse_image;
  interface.sigaction = [](int number, const struct sigaction* action, struct sigaction* old) {
    lockstep::set_next_handler(number, action, old);
  };
  interface.forked = forked;
  return &interface;
}
