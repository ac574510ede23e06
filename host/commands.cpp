#include "host/commands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "command/guest_memory.h"
#include "host/process_arrays.h"
#include "host/refusals.h"
#include "memory/host_fault.h"

namespace lockstep::host {

namespace {

constexpr uint32_t kMostChunks = 1024, kMostChunkDwords = 1 << 20, kMostListed = 1 << 20,
                   kMostEntryBytes = 64;

template <class T>
bool take(std::span<const uint32_t> words, T& to) {
  if (words.size() * sizeof(uint32_t) < sizeof(T)) return false;
  std::memcpy(&to, words.data(), sizeof(T));
  return true;
}

// Of chunks that name synchronisation objects, those of a timeline with points.
template <class Function>
int for_each_object(std::span<const uint32_t> words, bool of_timeline, Function function) {
  const size_t dwords =
      (of_timeline ? sizeof(drm_amdgpu_cs_chunk_syncobj) : sizeof(drm_amdgpu_cs_chunk_sem)) /
      sizeof(uint32_t);
  for (; words.size() >= dwords; words = words.subspan(dwords)) {
    drm_amdgpu_cs_chunk_syncobj object = {};
    std::memcpy(&object, words.data(), dwords * sizeof(uint32_t));
    if (const int error = function(object)) return error;
  }
  return 0;
}

}  // namespace

uint32_t rings_of(const Gpu& gpu, uint32_t engine) {
  if (engine == AMDGPU_HW_IP_COMPUTE) return kComputeRings;
  return engine == AMDGPU_HW_IP_DMA ? gpu.model.copy_engines : 0;
}

// What the chunks of a submission say.
struct Commands::Parsed {
  struct Buffer {
    uint64_t address;
    uint32_t dwords;
  };
  std::optional<std::pair<uint32_t, uint32_t>> ring;  // engine and number
  std::vector<Buffer> buffers;
  std::map<std::shared_ptr<Ring>, uint32_t> dependencies;  // the last number of each ring
  std::vector<uint32_t> objects;
  bool has_list = false;
  struct Signal {
    uint32_t object;
    std::optional<uint64_t> point;
  };
  std::vector<Signal> signals;
  bool has_signals = false;
  uint64_t user_fence = 0;  // where the program looks for the submission's number
  bool forgets_code = false;

  void wait_for(const Fence& fence) {
    if (fence.is_over()) return;
    uint32_t& number = dependencies[fence.ring];
    number = std::max(number, fence.number);
  }
};

bool Commands::Context::has_failed() const {
  return std::ranges::any_of(rings, [](const auto& entry) { return entry.second->failed.load(); });
}

Commands::~Commands() {
  sync_objects_.clear();
  // They may look at each other's words.
  for (auto& [key, context] : contexts_)
    for (auto& [name, ring] : context.rings) left_.push_back(ring);
  for (const auto& ring : left_) {
    ring->queue->inactivate();
    ring->waits_for.clear();
  }
}

std::shared_ptr<Commands::Ring> Commands::make_ring(Gpu& gpu, uint32_t engine) {
  has_had_rings_ = true;
  const bool computes = engine == AMDGPU_HW_IP_COMPUTE;
  auto ring =
      std::make_shared<Ring>(gpu, computes ? Submission::Engine::compute : Submission::Engine::copies);
  ring->page = std::make_unique<MappedPages>(gpu.memory, sizeof(uint64_t), kReadWrite, "ends of commands");
  command::RingQueueOptions options;
  options.on_error = [this, ring = ring.get()](const command::QueueError& error) {
    tell_(error);
    ring->fail();
  };
  if (computes)
    ring->queue = gpu.processor->create_pm4_queue(std::move(options));
  else
    ring->queue = gpu.processor->create_sdma_queue(std::move(options));
  return ring;
}

void Commands::end_left() {
  for (const auto& ring : left_)
    if (ring->has_ended(ring->last)) ring->waits_for.clear();
  std::erase_if(left_, [](const auto& ring) { return ring->has_ended(ring->last); });
}

int Commands::context(const Gpu& gpu, drm_amdgpu_ctx& args) {
  std::lock_guard lock(mutex_);
  end_left();
  if (args.in.op == AMDGPU_CTX_OP_ALLOC_CTX) {
    const uint32_t number = next_context_++;
    contexts_[{gpu.index, number}];
    args.out = {};
    args.out.alloc.ctx_id = number;
    return 0;
  }
  const auto found = contexts_.find({gpu.index, args.in.ctx_id});
  if (found == contexts_.end()) return EINVAL;
  Context& context = found->second;
  const bool failed = context.has_failed();
  switch (args.in.op) {
    case AMDGPU_CTX_OP_FREE_CTX:
      for (const auto& [name, ring] : context.rings) left_.push_back(ring);
      contexts_.erase(found);
      args.out = {};
      return 0;
    case AMDGPU_CTX_OP_QUERY_STATE:
      args.out = {};
      // Of what has happened since the last query.
      args.out.state.reset_status =
          failed && !context.told_of_reset ? AMDGPU_CTX_GUILTY_RESET : AMDGPU_CTX_NO_RESET;
      context.told_of_reset = failed;
      return 0;
    case AMDGPU_CTX_OP_QUERY_STATE2:
      args.out = {};
      if (failed) args.out.state.flags = AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY;
      return 0;
    case AMDGPU_CTX_OP_GET_STABLE_PSTATE:
      args.out = {};
      args.out.pstate.flags = AMDGPU_CTX_STABLE_PSTATE_NONE;
      return 0;
    case AMDGPU_CTX_OP_SET_STABLE_PSTATE:  // its clocks never change
      return args.in.flags & ~AMDGPU_CTX_STABLE_PSTATE_FLAGS_MASK ? EINVAL : 0;
    default:
      return EINVAL;
  }
}

int Commands::read_list(const Gpu& gpu, const drm_amdgpu_bo_list_in& args,
                        std::vector<uint32_t>& objects) const {
  const uint32_t bytes = args.bo_info_size;
  if (args.bo_number > kMostListed || bytes < sizeof(uint32_t) || bytes > kMostEntryBytes) return EINVAL;
  std::vector<std::byte> entries;
  if (!read_all(args.bo_info_ptr, uint64_t{args.bo_number} * bytes, entries)) return EFAULT;
  for (uint32_t i = 0; i < args.bo_number; ++i) {
    drm_amdgpu_bo_list_entry entry = {};
    std::memcpy(&entry, &entries[size_t{i} * bytes], std::min<size_t>(bytes, sizeof entry));
    if (!objects_.has(gpu, entry.bo_handle)) return ENOENT;
    objects.push_back(entry.bo_handle);
  }
  return 0;
}

int Commands::buffer_list(const Gpu& gpu, drm_amdgpu_bo_list& args) {
  const drm_amdgpu_bo_list_in in = args.in;
  std::vector<uint32_t> objects;
  if (in.operation != AMDGPU_BO_LIST_OP_DESTROY)
    if (const int error = read_list(gpu, in, objects)) return error;
  std::lock_guard lock(mutex_);
  const auto found = lists_.find({gpu.index, in.list_handle});
  uint32_t number = in.list_handle;
  switch (in.operation) {
    case AMDGPU_BO_LIST_OP_CREATE:
      number = next_list_++;
      lists_.emplace(Key(gpu.index, number), std::move(objects));
      break;
    case AMDGPU_BO_LIST_OP_UPDATE:
      if (found == lists_.end()) return ENOENT;
      found->second = std::move(objects);
      break;
    case AMDGPU_BO_LIST_OP_DESTROY:
      if (found == lists_.end()) return ENOENT;
      lists_.erase(found);
      break;
    default:
      return EINVAL;
  }
  args.out = {};
  args.out.list_handle = number;
  return 0;
}

int Commands::find(const Gpu& gpu, const drm_amdgpu_fence& name, Fence& fence) {
  if (name.ip_instance != 0 || name.ring >= rings_of(gpu, name.ip_type)) return EINVAL;
  std::lock_guard lock(mutex_);
  const auto context = contexts_.find({gpu.index, name.ctx_id});
  if (context == contexts_.end()) return EINVAL;
  const auto ring = context->second.rings.find({name.ip_type, name.ring});
  const uint32_t last = ring == context->second.rings.end() ? 0 : ring->second->last.load();
  constexpr uint64_t kLast = UINT64_MAX;
  const uint64_t number = name.seq_no == kLast ? last : name.seq_no;
  if (number > last) return EINVAL;
  fence = {};
  if (number != 0) fence = {ring->second, static_cast<uint32_t>(number)};
  return 0;
}

int Commands::parse_buffer(Gpu& gpu, std::span<const uint32_t> words, Parsed& parsed) {
  drm_amdgpu_cs_chunk_ib buffer;
  constexpr uint32_t kAlignment = 4, kMostDwords = (1 << 20) - 1;
  if (!take(words, buffer) || buffer.ib_bytes % kAlignment != 0 || buffer.va_start % kAlignment != 0 ||
      buffer.ib_bytes / kAlignment > kMostDwords)
    return EINVAL;
  if (rings_of(gpu, buffer.ip_type) == 0) {
    refuse_engine(buffer.ip_type);
    return EINVAL;
  }
  // Memory is not encrypted, and the second stream of commands is of graphics.
  if (buffer.flags & (AMDGPU_IB_FLAGS_SECURE | AMDGPU_IB_FLAG_CE)) return EINVAL;
  const std::pair ring(buffer.ip_type, buffer.ring);
  if (buffer.ip_instance != 0 || buffer.ring >= rings_of(gpu, buffer.ip_type) ||
      parsed.ring.value_or(ring) != ring)
    return EINVAL;
  parsed.ring = ring;
  parsed.forgets_code |= (buffer.flags & AMDGPU_IB_FLAG_EMIT_MEM_SYNC) != 0;
  if (buffer.ib_bytes != 0) parsed.buffers.push_back({buffer.va_start, buffer.ib_bytes / kAlignment});
  return 0;
}

int Commands::parse_dependencies(Gpu& gpu, std::span<const uint32_t> words, Parsed& parsed) {
  constexpr size_t kDwords = sizeof(drm_amdgpu_cs_chunk_dep) / sizeof(uint32_t);
  for (; words.size() >= kDwords; words = words.subspan(kDwords)) {
    drm_amdgpu_cs_chunk_dep dependency;
    take(words, dependency);
    Fence fence;
    const drm_amdgpu_fence name = {dependency.ctx_id, dependency.ip_type, dependency.ip_instance,
                                   dependency.ring, dependency.handle};
    if (const int error = find(gpu, name, fence)) return error;
    parsed.wait_for(fence);
  }
  return 0;
}

int Commands::parse_waits(Gpu& gpu, uint32_t id, std::span<const uint32_t> words, Parsed& parsed) {
  const bool of_timeline = id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT;
  return for_each_object(words, of_timeline, [&](const drm_amdgpu_cs_chunk_syncobj& wait) {
    CommandFences fences;
    if (const int error = sync_objects_.fences_at(gpu, wait.handle, wait.point, wait.flags, fences))
      return error;
    for (const Fence& fence : fences) parsed.wait_for(fence);
    return 0;
  });
}

int Commands::parse_signals(Gpu& gpu, uint32_t id, std::span<const uint32_t> words, Parsed& parsed) {
  if (std::exchange(parsed.has_signals, true)) return EINVAL;
  const bool of_timeline = id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL;
  return for_each_object(words, of_timeline, [&](const drm_amdgpu_cs_chunk_syncobj& signal) {
    if (!sync_objects_.has(gpu, signal.handle)) return EINVAL;
    parsed.signals.push_back(
        {signal.handle, signal.point == 0 ? std::nullopt : std::optional<uint64_t>(signal.point)});
    return 0;
  });
}

int Commands::parse_chunk(Gpu& gpu, uint32_t id, std::span<const uint32_t> words, Parsed& parsed) {
  switch (id) {
    case AMDGPU_CHUNK_ID_IB:
      return parse_buffer(gpu, words, parsed);
    case AMDGPU_CHUNK_ID_DEPENDENCIES:
    case AMDGPU_CHUNK_ID_SCHEDULED_DEPENDENCIES:  // to have begun is less than to have ended
      return parse_dependencies(gpu, words, parsed);
    case AMDGPU_CHUNK_ID_SYNCOBJ_IN:
    case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT:
      return parse_waits(gpu, id, words, parsed);
    case AMDGPU_CHUNK_ID_SYNCOBJ_OUT:
    case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL:
      return parse_signals(gpu, id, words, parsed);
    case AMDGPU_CHUNK_ID_FENCE: {
      drm_amdgpu_cs_chunk_fence place;
      if (!take(words, place) || place.offset % sizeof(uint64_t) != 0) return EINVAL;
      if (!objects_.has(gpu, place.handle)) return ENOENT;
      parsed.user_fence = objects_.address_of(gpu, place.handle, place.offset, sizeof(uint64_t));
      if (parsed.user_fence == 0) refuse_chunk(id);
      parsed.objects.push_back(place.handle);
      return parsed.user_fence == 0 ? EINVAL : 0;
    }
    case AMDGPU_CHUNK_ID_BO_HANDLES: {
      drm_amdgpu_bo_list_in list;
      if (!take(words, list) || std::exchange(parsed.has_list, true)) return EINVAL;
      return read_list(gpu, list, parsed.objects);
    }
    default:
      refuse_chunk(id);
      return EINVAL;
  }
}

int Commands::parse(Gpu& gpu, const drm_amdgpu_cs_in& args, Parsed& parsed) {
  if (args.num_chunks == 0 || args.num_chunks > kMostChunks) return EINVAL;
  std::vector<uint64_t> chunks;
  if (!read_all(args.chunks, args.num_chunks, chunks)) return EFAULT;
  for (const uint64_t place : chunks) {
    drm_amdgpu_cs_chunk chunk;
    if (!copy_from_process(&chunk, place, sizeof chunk)) return EFAULT;
    if (chunk.length_dw > kMostChunkDwords) return EINVAL;
    std::vector<uint32_t> words;
    if (!read_all(chunk.chunk_data, chunk.length_dw, words)) return EFAULT;
    if (const int error = parse_chunk(gpu, chunk.chunk_id, words, parsed)) return error;
  }
  if (!parsed.ring) return EINVAL;
  if (args.bo_list_handle == 0) return 0;
  if (parsed.has_list) return EINVAL;
  std::lock_guard lock(mutex_);
  const auto list = lists_.find({gpu.index, args.bo_list_handle});
  if (list == lists_.end()) return ENOENT;
  parsed.objects.insert(parsed.objects.end(), list->second.begin(), list->second.end());
  return 0;
}

std::shared_ptr<Commands::Ring> Commands::ring_for(Gpu& gpu, uint32_t number, const Parsed& parsed) {
  std::lock_guard lock(mutex_);
  end_left();
  const auto context = contexts_.find({gpu.index, number});
  if (context == contexts_.end()) return nullptr;
  std::shared_ptr<Ring>& place = context->second.rings[*parsed.ring];
  if (!place) place = make_ring(gpu, parsed.ring->first);
  return place;
}

int Commands::submit(Gpu& gpu, drm_amdgpu_cs& args) {
  const drm_amdgpu_cs_in in = args.in;
  Parsed parsed;
  if (const int error = parse(gpu, in, parsed)) return error;
  const std::shared_ptr<Ring> ring = ring_for(gpu, in.ctx_id, parsed);
  if (!ring) return EINVAL;
  std::lock_guard submitting(ring->submitting);
  const bool is_idle = ring->has_ended(ring->last);
  const uint32_t number = ring->last + 1;
  if (number == Ring::kAllEnded) return ENOSPC;
  Submission submission(ring->engine);
  for (const auto& [other, last] : parsed.dependencies) submission.wait_for(other->word(), last);
  if (parsed.forgets_code) submission.forget_code();
  for (const Parsed::Buffer& buffer : parsed.buffers) submission.call(buffer.address, buffer.dwords);
  if (parsed.user_fence != 0) submission.tell(parsed.user_fence, number);
  submission.tell(ring->word(), number);
  if (submission.packets().size() > ring->queue->size()) return EINVAL;
  {
    std::lock_guard lock(mutex_);
    // Another thread may have freed it meanwhile; from here on its end is waited for.
    const auto context = contexts_.find({gpu.index, in.ctx_id});
    if (context == contexts_.end()) return EINVAL;
    // A context whose commands have failed takes no others.
    if (context->second.has_failed()) return ECANCELED;
    if (is_idle) {
      ring->waits_for.clear();
      ring->uses.clear();
    }
    for (const uint32_t object : parsed.objects) ring->uses[object] = number;
    for (const auto& [other, last] : parsed.dependencies)
      if (other != ring) ring->waits_for.insert(other);
    ring->last = number;
  }
  if (!ring->queue->submit(submission.packets(), std::nullopt)) return ECANCELED;
  for (const Parsed::Signal& signal : parsed.signals) {
    if (signal.point)
      sync_objects_.append(gpu, signal.object, *signal.point, {{ring, number}});
    else
      sync_objects_.replace(gpu, signal.object, {{ring, number}});
  }
  args.out.handle = number;
  return 0;
}

int Commands::wait(const Gpu& gpu, drm_amdgpu_wait_cs& args) {
  const drm_amdgpu_wait_cs_in in = args.in;
  Fence fence;
  if (const int error = find(gpu, {in.ctx_id, in.ip_type, in.ip_instance, in.ring, in.handle}, fence))
    return error;
  const bool over = wait_for_commands(gpu, [&] { return fence.is_over(); }, in.timeout);
  if (over && fence.has_failed()) return ECANCELED;
  args.out.status = !over;
  return 0;
}

int Commands::wait_fences(const Gpu& gpu, drm_amdgpu_wait_fences& args) {
  const drm_amdgpu_wait_fences_in in = args.in;
  // None of no fences is ever the first.
  if (in.fence_count > kMostListed || (in.fence_count == 0 && !in.wait_all)) return EINVAL;
  std::vector<drm_amdgpu_fence> names;
  if (!read_all(in.fences, in.fence_count, names)) return EFAULT;
  CommandFences fences(names.size());
  for (size_t i = 0; i < names.size(); ++i)
    if (const int error = find(gpu, names[i], fences[i])) return error;
  const auto is_over = &Fence::is_over;
  const bool over = wait_for_commands(
      gpu, [&] { return in.wait_all ? are_over(fences) : std::ranges::any_of(fences, is_over); },
      in.timeout_ns);
  for (const Fence& fence : fences)
    if (fence.is_over() && fence.has_failed()) return ECANCELED;
  args.out = {};
  args.out.status = over;
  if (over && !in.wait_all)
    args.out.first_signaled = static_cast<uint32_t>(std::ranges::find_if(fences, is_over) - fences.begin());
  return 0;
}

int Commands::name_fence(const Gpu& gpu, drm_amdgpu_fence_to_handle& args) {
  const auto in = args.in;
  Fence fence;
  if (const int error = find(gpu, in.fence, fence)) return error;
  const bool as_handle = in.what == AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ;
  if (!as_handle && in.what != AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ_FD) {
    if (in.what == AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD)
      refuse_render_node(DRM_COMMAND_BASE + DRM_AMDGPU_FENCE_TO_HANDLE);
    return EINVAL;
  }
  args.out.handle = sync_objects_.add(gpu, {fence});
  if (as_handle) return 0;
  int descriptor = -1;
  const int error = sync_objects_.descriptor_of(gpu, args.out.handle, true, descriptor);
  sync_objects_.destroy(gpu, {args.out.handle, 0});
  args.out.handle = static_cast<uint32_t>(descriptor);
  return error;
}

int Commands::wait_idle(const Gpu& gpu, drm_amdgpu_gem_wait_idle& args) {
  const drm_amdgpu_gem_wait_idle_in in = args.in;
  if (!objects_.has(gpu, in.handle)) return ENOENT;
  CommandFences users;
  {
    std::lock_guard lock(mutex_);
    const auto add = [&](const std::shared_ptr<Ring>& ring) {
      const auto use = ring->uses.find(in.handle);
      if (&ring->gpu == &gpu && use != ring->uses.end()) users.push_back({ring, use->second});
    };
    for (const auto& [key, context] : contexts_)
      for (const auto& [name, ring] : context.rings) add(ring);
    for (const auto& ring : left_) add(ring);
  }
  const bool idle = wait_for_commands(gpu, [&] { return are_over(users); }, in.timeout);
  args.out = {};
  args.out.status = !idle;
  return 0;
}

}  // namespace lockstep::host
