#include "tests/command/machine_under_test.h"

#include <stdexcept>

#include "toolchain/compile.h"

namespace lockstep::command {

MachineUnderTest::MachineUnderTest(unsigned threads, const char* model, AddressSpace::Changes changes,
                                   machine::EngineKind engine, bool host_real_time)
    : memory(changes) {
  machine::Device::Options options;
  options.engine = engine;
  options.host_real_time = host_real_time;
  for (const hardware::Description& description : hardware::models())
    if (description.name == model) options.hardware = description;
  options.threads = threads;
  processor = std::make_unique<CommandProcessor>(memory, std::move(options));
}

MachineUnderTest::~MachineUnderTest() {
  processor.reset();
  loaded_.clear();
}

uint64_t MachineUnderTest::load(const TestKernel& kernel) {
  const std::string kernarg =
      kernel.directives.find(".amdhsa_user_sgpr_kernarg_segment_ptr") == std::string::npos
          ? ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
          : "";
  const std::string text =
      ".text\n.globl " + kernel.name + "\n.p2align 8\n.type " + kernel.name + ",@function\n" + kernel.name +
      ":\n" + kernel.body + "\ns_endpgm\n.size " + kernel.name + ", .-" + kernel.name +
      "\n.rodata\n.p2align 6\n.amdhsa_kernel " + kernel.name + "\n.amdhsa_next_free_vgpr " +
      std::to_string(kernel.vgprs) + "\n.amdhsa_next_free_sgpr 32\n" + kernarg +
      (kernel.wave_size == 32 ? ".amdhsa_wavefront_size32 1\n" : ".amdhsa_wavefront_size32 0\n") +
      kernel.directives + "\n.end_amdhsa_kernel\n";
  toolchain::Options options;
  options.wave_size = kernel.wave_size;
  const toolchain::Result assembled = toolchain::assemble(text, kernel.name + ".s", options);
  if (!assembled) throw std::runtime_error(assembled.diagnostics);
  auto object = loader::CodeObject::parse(assembled.code_object, kernel.name);
  if (!object) throw std::runtime_error(object.error().message());
  auto loaded = machine::LoadedCode::load(std::move(*object), memory);
  if (!loaded) throw std::runtime_error(loaded.error().message());
  loaded_.push_back(std::move(*loaded));
  const machine::LoadedCode& code = *loaded_.back();
  return code.loaded_address(code.object().find_kernel(kernel.name)->descriptor_address);
}

uint32_t* MachineUnderTest::buffer(size_t dwords) {
  buffers_.push_back(std::make_unique<MappedPages>(memory, dwords * 4, kReadWrite, "test buffer"));
  return reinterpret_cast<uint32_t*>(buffers_.back()->data());
}

std::shared_ptr<AqlQueue> MachineUnderTest::queue(uint32_t size, int priority, uint32_t type) {
  AqlQueueOptions options;
  options.size = size;
  options.priority = priority;
  options.type = type;
  options.on_error = keep_errors();
  return processor->create_aql_queue(std::move(options));
}

Queue::ErrorCallback MachineUnderTest::keep_errors() {
  return [this](const QueueError& error) {
    std::lock_guard lock(mutex_);
    errors_[error.queue] = error;
    told_.notify_all();
  };
}

std::optional<QueueError> MachineUnderTest::error(const Queue& queue) const {
  std::unique_lock lock(mutex_);
  if (!told_.wait_until(lock, in_seconds(20), [&] { return errors_.contains(queue.id()); }))
    return std::nullopt;
  return errors_.at(queue.id());
}

AqlPacket dispatch_packet(uint64_t kernel, const void* arguments, uint32_t groups, uint32_t items,
                          uint64_t signal, bool barrier) {
  AqlPacket packet{};
  packet.dispatch.header = header_of(PacketType::kernel_dispatch, barrier);
  packet.dispatch.setup = 1;
  packet.dispatch.workgroup_size[0] = static_cast<uint16_t>(items);
  packet.dispatch.workgroup_size[1] = packet.dispatch.workgroup_size[2] = 1;
  packet.dispatch.grid_size[0] = groups * items;
  packet.dispatch.grid_size[1] = packet.dispatch.grid_size[2] = 1;
  packet.dispatch.kernel_object = kernel;
  packet.dispatch.kernarg_address = reinterpret_cast<uint64_t>(arguments);
  packet.dispatch.completion_signal = signal;
  return packet;
}

AqlPacket barrier_packet(PacketType type, std::vector<uint64_t> signals, uint64_t completion) {
  AqlPacket packet{};
  packet.barrier.header = header_of(type);
  for (size_t i = 0; i < signals.size(); ++i) packet.barrier.dep_signal[i] = signals[i];
  packet.barrier.completion_signal = completion;
  return packet;
}

uint64_t submit(AqlQueue& queue, const AqlPacket& packet) {
  const uint64_t index = queue.reserve();
  if (queue.wait_for_slot(index, in_seconds(20))) {
    queue.publish(index, packet);
    queue.ring_doorbell(index);
  }
  return index;
}

}  // namespace lockstep::command
