// libFuzzer target: a program that asks the driver for anything: ioctls of /dev/kfd and the render node with
// right, nearly right and hostile arguments, mmaps, rings and packets of all kinds of queues, doorbells,
// memory that goes away without a word. The driver must answer or refuse, never fall over or hang, and what
// the program did not give to the device stays as it is.
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "host/driver.h"
#include "memory/host_fault.h"

namespace lockstep::host {
namespace {

constexpr uint64_t kPage = 4096, kArenaPages = 64, kMostRequests = 48;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "host_fuzz: not so: %s\n", what);
  __builtin_trap();
}

// What an input is read from; zeros behind its end.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  uint32_t below(uint32_t bound) { return (byte() | byte() << 8) % bound; }
  uint64_t word() {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

// Addresses that the program plays with. Nothing else of the process is ever given to the device, so nothing
// else may change.
struct Arena {
  std::byte* pages = nullptr;
  alignas(kPage) std::array<std::byte, 2 * kPage> never_given;

  // As before: reserved, half of it memory of the program.
  void reset() {
    void* const fresh = mmap(pages, kArenaPages * kPage, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (pages ? MAP_FIXED : 0), -1, 0);
    require(fresh != MAP_FAILED, "addresses can be reserved");
    pages = static_cast<std::byte*>(fresh);
    mprotect(pages, kArenaPages / 2 * kPage, PROT_READ | PROT_WRITE);
    never_given.fill(std::byte{0x5a});
  }
  uint64_t page(uint32_t number) const {
    return reinterpret_cast<uint64_t>(pages) + number % kArenaPages * kPage;
  }
};

Arena& arena() {
  static Arena all;
  return all;
}

class Program {
 public:
  explicit Program(Input& in) : in_(in), driver_(settings()) {
    for (const auto& gpu : driver_.gpus()) ids_.push_back(gpu->id);
  }

  void run() {
    prepare();
    for (unsigned i = 0; i < kMostRequests && !in_.empty(); ++i) {
      switch (in_.below(12)) {
        case 0:
          ring();
          break;
        case 1:
          lose_memory();
          break;
        case 2:
          render();
          break;
        case 3:
          map_node();
          break;
        case 4:
          submit();
          break;
        default:
          request();
      }
    }
    // Whoever processes the packets has a moment for it.
    if (queues_made_ != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  static Settings settings() {
    Settings settings;
    settings.model = hardware::models().front();
    settings.devices = 2;
    settings.threads = 1;
    settings.engine = machine::EngineKind::interpreter;
    return settings;
  }

  template <class T>
  int kfd(unsigned long request, T& arguments) {
    return driver_.kfd_ioctl(request, &arguments);
  }

  // Memory for rings, so that most inputs have a queue that works.
  void prepare() {
    kfd_ioctl_alloc_memory_of_gpu_args memory = {};
    memory.va_addr = arena().page(kArenaPages / 2);
    memory.size = 16 * kPage;
    memory.gpu_id = ids_[0];
    memory.flags =
        KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;
    require(kfd(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, memory) == 0, "memory can be had");
    kfd_ioctl_map_memory_to_gpu_args map = {};
    map.handle = memory.handle;
    map.device_ids_array_ptr = reinterpret_cast<uint64_t>(ids_.data());
    map.n_devices = 2;
    require(kfd(AMDKFD_IOC_MAP_MEMORY_TO_GPU, map) == 0, "memory can be mapped");
    ring_ = memory.va_addr;
    for (uint64_t at = 0; at < 4 * kPage; at += 8) *reinterpret_cast<uint64_t*>(ring_ + at) = 0;
    // An AQL queue's ring is empty at first.
    for (uint64_t at = 0; at < kPage; at += 64) *reinterpret_cast<uint16_t*>(ring_ + 4 * kPage + at) = 1;
    if (in_.byte() % 4 == 0) return;
    kfd_ioctl_create_queue_args queue = {};
    queue.queue_type = in_.byte() % 3;
    const bool aql = queue.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
    queue.ring_base_address = ring_ + (aql ? 4 * kPage : 0);
    queue.ring_size = kPage;
    pointers_ = ring_ + 8 * kPage;
    std::memset(reinterpret_cast<void*>(pointers_), 0, kPage);
    queue.write_pointer_address = pointers_ + 0x38;
    queue.read_pointer_address = pointers_ + 0x80;
    queue.gpu_id = ids_[0];
    queue.queue_percentage = 100;
    require(kfd(AMDKFD_IOC_CREATE_QUEUE, queue) == 0, "a queue can be had");
    created(queue.doorbell_offset);
  }

  void created(uint64_t doorbell) {
    ++queues_made_;
    doorbell_ = doorbell;
    void* const page =
        mmap(nullptr, Store::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, driver_.descriptor(),
             static_cast<off_t>(doorbell / Store::kDoorbellBytes * Store::kDoorbellBytes));
    if (page != MAP_FAILED) doorbells_.push_back(page);
  }

  uint64_t address() {
    switch (in_.below(8)) {
      case 0:
        return reinterpret_cast<uint64_t>(arena().never_given.data());
      case 1:
        return 0;
      case 2:
        return in_.word() | uint64_t{1} << 47;  // nobody's
      case 3:
        return arena().page(in_.byte()) + in_.below(kPage);
      case 4:
        return ring_ + in_.below(8 * kPage) / 8 * 8;
      default:
        return arena().page(in_.byte());
    }
  }

  uint64_t value() {
    switch (in_.below(7)) {
      case 0:
        return 0;
      case 1:
        return in_.below(64);
      case 2:
        return in_.word();
      case 3:
        return ids_[in_.byte() % ids_.size()];
      case 4:
        return in_.below(32) * kPage;
      case 5:
        return ids_[0] | uint64_t{in_.byte()} << 32;
      default:
        return address();
    }
  }

  // Ranges that are given to the device stay in the arena.
  static void stay_in_arena(uint64_t& begin, uint64_t& bytes) {
    const uint64_t first = reinterpret_cast<uint64_t>(arena().pages), end = first + kArenaPages * kPage;
    if (begin < first || begin >= end) begin = first;
    bytes = std::min(bytes, end - begin);
  }

  void request() {
    constexpr unsigned kKnown[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
                                   0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14,
                                   0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e,
                                   0x1f, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x80, 0x81};
    alignas(16) std::array<uint64_t, 16> words = {};
    for (uint64_t& word : words) word = value();
    const unsigned number = in_.byte() % 16 == 0 ? in_.byte() : kKnown[in_.byte() % std::size(kKnown)];
    size_t bytes = in_.byte() % 4 == 0 ? in_.below(sizeof words + 1) : 0;
    if (bytes == 0) bytes = sizeof(kfd_ioctl_create_queue_args);
    auto* const place = reinterpret_cast<std::byte*>(words.data());
    switch (number) {
      case _IOC_NR(AMDKFD_IOC_WAIT_EVENTS):
        reinterpret_cast<kfd_ioctl_wait_events_args*>(place)->timeout %=
            2;  // no input waits for ever, as it asks
        break;
      case _IOC_NR(AMDKFD_IOC_SVM): {
        auto& args = *reinterpret_cast<kfd_ioctl_svm_args*>(place);
        uint64_t begin = args.start_addr, size = args.size;
        stay_in_arena(begin, size);
        args.start_addr = begin;
        args.size = size;
        args.nattr %= 8;
        bytes = sizeof args + in_.below(8) * sizeof(kfd_ioctl_svm_attribute);
        break;
      }
      case _IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU): {
        auto& args = *reinterpret_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(place);
        uint64_t begin = args.va_addr, size = args.size;
        // Somebody's memory must be refused, unless it is given as what it is.
        if (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR ||
            args.va_addr != reinterpret_cast<uint64_t>(arena().never_given.data()))
          stay_in_arena(begin, size);
        args.va_addr = begin;
        args.size = size;
        break;
      }
      case _IOC_NR(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW): {
        // The answer is put where the program asks for it.
        __u64& to = reinterpret_cast<kfd_ioctl_get_process_apertures_new_args*>(place)
                        ->kfd_process_device_apertures_ptr;
        const uint64_t first = reinterpret_cast<uint64_t>(arena().never_given.data());
        if (to - first < sizeof arena().never_given) to = arena().page(0);
        break;
      }
      case _IOC_NR(AMDKFD_IOC_IMPORT_DMABUF): {
        auto& args = *reinterpret_cast<kfd_ioctl_import_dmabuf_args*>(place);
        uint64_t begin = args.va_addr, size = kPage;
        stay_in_arena(begin, size);
        args.va_addr = begin;
        break;
      }
      default:
        break;
    }
    if (driver_.kfd_ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'K', number, bytes), place) != 0) return;
    if (number == _IOC_NR(AMDKFD_IOC_CREATE_QUEUE))
      created(reinterpret_cast<kfd_ioctl_create_queue_args*>(place)->doorbell_offset);
    if (number == kExportDmabuf && bytes >= sizeof(ExportDmabufArgs))
      files_.push_back(static_cast<int>(reinterpret_cast<ExportDmabufArgs*>(place)->dmabuf_fd));
  }

  void render() {
    // First of all: most inputs end within the words.
    const unsigned number = in_.byte() % 4 == 0 ? in_.byte()
                            : in_.byte() % 4    ? DRM_COMMAND_BASE + in_.byte() % 0x18
                            : in_.byte() % 4    ? _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE) + in_.byte() % 15
                                                : 0;
    alignas(16) std::array<uint64_t, 16> words = {};
    for (uint64_t& word : words) word = value();
    if (number == DRM_COMMAND_BASE + DRM_AMDGPU_INFO) {
      auto& query = *reinterpret_cast<drm_amdgpu_info*>(words.data());
      query.return_pointer = arena().page(in_.byte()) + in_.below(64);
      query.return_size = in_.below(1024);
      query.query = in_.below(0x40);
    } else if (number == DRM_COMMAND_BASE + DRM_AMDGPU_CS) {
      submit();
      return;
    } else if (number == DRM_COMMAND_BASE + DRM_AMDGPU_CTX) {
      auto& args = reinterpret_cast<drm_amdgpu_ctx*>(words.data())->in;
      args = {1u + in_.byte() % 6, 0, context(), 0};
      // Its commands go on; others have another one.
      if (args.op == AMDGPU_CTX_OP_FREE_CTX) context_ = 0;
    } else if (number == DRM_COMMAND_BASE + DRM_AMDGPU_BO_LIST) {
      auto& args = reinterpret_cast<drm_amdgpu_bo_list*>(words.data())->in;
      args = {in_.byte() % 4u, in_.below(4), in_.below(4), in_.byte() % 4 ? 8 : in_.below(128), address()};
    } else if (number == DRM_COMMAND_BASE + DRM_AMDGPU_WAIT_CS) {
      // Who waits for ever waits for commands that may never end.
      auto& wait = reinterpret_cast<drm_amdgpu_wait_cs*>(words.data())->in;
      wait = {in_.below(4), 0, in_.byte() % 4u, 0, in_.byte() % 2u, context()};
    } else if (number == DRM_COMMAND_BASE + DRM_AMDGPU_WAIT_FENCES ||
               number == DRM_COMMAND_BASE + DRM_AMDGPU_GEM_WAIT_IDLE) {
      words[1] = in_.below(4);
      words[2] = 0;
    } else if (number >= _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE) &&
               number <= _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL)) {
      on_sync_object(number, words);
      return;
    } else if (number == 0) {
      auto& version = *reinterpret_cast<drm_version*>(words.data());
      version.name = reinterpret_cast<char*>(arena().page(in_.byte()));
      version.date = reinterpret_cast<char*>(arena().page(in_.byte()));
      version.desc = reinterpret_cast<char*>(arena().page(in_.byte()));
    }
    (void)driver_.render_ioctl(in_.byte() % 3, _IOC(_IOC_READ | _IOC_WRITE, 'd', number, sizeof words),
                               words.data());
  }

  // Most name objects that there are, in memory.
  void on_sync_object(unsigned number, std::span<uint64_t, 16> words) {
    std::array<uint32_t, 4> names;
    std::array<uint64_t, 4> numbers;
    for (uint32_t& name : names) name = sync_object();
    for (uint64_t& each : numbers) each = in_.below(8);
    const uint64_t handles = in_.byte() % 16 ? reinterpret_cast<uint64_t>(names.data()) : address(),
                   points = in_.byte() % 16 ? reinterpret_cast<uint64_t>(numbers.data()) : address();
    const uint32_t count = in_.byte() % 16 ? 1 + in_.byte() % 4u : in_.byte() % 2 ? 0 : UINT32_MAX;
    void* const place = words.data();
    switch (number) {
      // Nobody waits long: what is waited for may never come.
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT):
        *static_cast<drm_syncobj_wait*>(place) = {handles, in_.byte() % 2, count, in_.byte() % 8u, 0, 0};
        break;
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT):
        *static_cast<drm_syncobj_timeline_wait*>(place) = {
            handles, points, in_.byte() % 2, count, in_.byte() % 16u, 0, 0};
        break;
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_RESET):
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
        *static_cast<drm_syncobj_array*>(place) = {handles, count, 0};
        break;
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY):
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL):
        *static_cast<drm_syncobj_timeline_array*>(place) = {handles, points, count, in_.byte() % 2u};
        break;
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER):
        *static_cast<drm_syncobj_transfer*>(place) = {
            sync_object(), sync_object(), in_.below(8), in_.below(8), 0, 0};
        break;
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD):
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE):
        *static_cast<drm_syncobj_handle*>(place) = {sync_object(), in_.byte() % 8 == 0,
                                                    files_.empty() ? -1 : files_.back(), 0};
        break;
      case _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY):
        *static_cast<drm_syncobj_destroy*>(place) = {in_.byte() % 4u, 0};
        break;
      default:
        break;
    }
    const int error = driver_.render_ioctl(
        in_.byte() % 3, _IOC(_IOC_READ | _IOC_WRITE, 'd', number, sizeof words), words.data());
    if (error == 0 && number == _IOC_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD))
      files_.push_back(static_cast<const drm_syncobj_handle*>(place)->fd);
  }

  uint32_t sync_object() {
    drm_syncobj_create args = {0, in_.byte() % 2u};
    if (sync_objects_++ < 4)
      require(driver_.render_ioctl(0, DRM_IOCTL_SYNCOBJ_CREATE, &args) == 0, "there are objects");
    return in_.byte() % 6u;
  }

  uint32_t context() {
    if (context_ == 0) {
      drm_amdgpu_ctx args = {};
      args.in.op = AMDGPU_CTX_OP_ALLOC_CTX;
      require(driver_.render_ioctl(0, DRM_IOCTL_AMDGPU_CTX, &args) == 0, "there are contexts");
      context_ = args.out.alloc.ctx_id;
    }
    return in_.byte() % 16 ? context_ : in_.byte();
  }

  // Commands of whatever stands where the program has its rings.
  void submit() {
    drm_amdgpu_cs_chunk_ib buffer = {};
    buffer.flags = in_.byte() % 8 ? 0 : in_.byte();
    buffer.va_start = (in_.byte() % 2 ? ring_ : arena().page(in_.byte())) + in_.below(64) * 32;
    buffer.ib_bytes = in_.below(64) * 4;
    buffer.ip_type = in_.byte() % 8 ? 1 + in_.byte() % 2 : in_.byte();
    buffer.ring = in_.byte() % 2;
    drm_amdgpu_cs_chunk_dep dependency = {buffer.ip_type, 0, in_.byte() % 2u, context(), in_.below(4)};
    // What is too long is read from the arena: it may be longer than what stands there.
    const bool is_long = in_.byte() % 4 == 0;
    const drm_amdgpu_cs_chunk chunks[] = {
        {AMDGPU_CHUNK_ID_IB, sizeof buffer / 4, reinterpret_cast<uint64_t>(&buffer)},
        {in_.byte() % 2   ? uint32_t{AMDGPU_CHUNK_ID_DEPENDENCIES}
         : in_.byte() % 2 ? AMDGPU_CHUNK_ID_SYNCOBJ_IN + in_.byte() % 6u
                          : in_.byte(),
         is_long ? in_.below(1 << 15) : uint32_t{sizeof dependency / 4},
         is_long ? arena().page(in_.byte()) : reinterpret_cast<uint64_t>(&dependency)}};
    const uint64_t places[] = {reinterpret_cast<uint64_t>(&chunks[0]),
                               in_.byte() % 8 ? reinterpret_cast<uint64_t>(&chunks[1]) : value()};
    drm_amdgpu_cs args = {};
    args.in.ctx_id = context();
    args.in.bo_list_handle = in_.byte() % 4 ? 0 : in_.byte();
    args.in.num_chunks = 1 + in_.byte() % 2;
    args.in.chunks = reinterpret_cast<uint64_t>(places);
    (void)driver_.render_ioctl(0, DRM_IOCTL_AMDGPU_CS, &args);
  }

  // Packets, or what looks like them, and a doorbell.
  void ring() {
    const uint64_t to = ring_ + in_.below(6 * kPage) / 64 * 64;
    if (!host_has(to, 64, true) || !host_has(pointers_ ? pointers_ : to, 64, true)) return;  // lost
    for (unsigned i = 0; i < 8; ++i)
      *reinterpret_cast<uint64_t*>(to + i * 8) =
          in_.byte() % 2 ? in_.word() : value() | uint64_t{in_.byte()} << 56;
    if (pointers_ != 0)
      *reinterpret_cast<uint64_t*>(pointers_ + 0x38) += in_.byte() % 4 ? in_.below(64) : in_.word();
    if (doorbells_.empty()) return;
    auto* const bells = static_cast<std::byte*>(doorbells_[in_.byte() % doorbells_.size()]);
    *reinterpret_cast<volatile uint64_t*>(bells + in_.below(Store::kDoorbellBytes / 8) * 8) = in_.word();
    *reinterpret_cast<volatile uint64_t*>(static_cast<std::byte*>(doorbells_.back()) +
                                          doorbell_ % Store::kDoorbellBytes) = in_.word();
  }

  // As free() does.
  void lose_memory() {
    const uint64_t first = in_.below(kArenaPages - 4), count = 1 + in_.below(4);
    mmap(reinterpret_cast<void*>(arena().page(static_cast<uint32_t>(first))), count * kPage, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }

  void map_node() {
    uint64_t offset = in_.byte() % 2 ? in_.word() / kPage * kPage : in_.below(64) * kPage;
    if (in_.byte() % 4 == 0) offset = Store::kFirstDoorbells + in_.below(4) * Store::kDoorbellBytes;
    uint64_t place = offset;
    const int file = driver_.descriptor_at(place, kPage);
    if (file < 0) return;
    void* const mapped =
        mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(place));
    if (mapped == MAP_FAILED) return;
    views_.push_back(mapped);
  }

 public:
  ~Program() {
    for (int file : files_) close(file);
    for (void* view : views_) munmap(view, kPage);
    for (void* page : doorbells_) munmap(page, Store::kDoorbellBytes);
  }

 private:
  Input& in_;
  Driver driver_;
  std::vector<uint32_t> ids_;
  uint64_t ring_ = 0, pointers_ = 0, doorbell_ = 0;
  uint32_t context_ = 0;  // of the render node; 0: none yet
  unsigned sync_objects_ = 0;
  unsigned queues_made_ = 0;
  std::vector<void*> doorbells_, views_;
  std::vector<int> files_;
};

}  // namespace
}  // namespace lockstep::host

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::host;
  if (size > 4096) return 0;
  arena().reset();
  Input in(data, size);
  {
    Program(in).run();
  }
  for (const std::byte byte : arena().never_given)
    require(byte == std::byte{0x5a}, "memory that was never given to the device stays as it is");
  return 0;
}
