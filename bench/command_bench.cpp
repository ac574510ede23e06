// Dispatches a second through an AQL queue: an empty kernel, producer and command processor.
// lockstep_bench_command [dispatches]; bind it to one core with taskset for the figure of one core.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "command/command_processor.h"
#include "machine/kernel.h"
#include "toolchain/compile.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

double run(command::CommandProcessor& processor, uint64_t kernel, uint64_t count, uint64_t batch,
           bool signals) {
  command::AqlQueueOptions options;
  options.size = 4096;
  const auto queue = processor.create_aql_queue(options);
  const uint64_t done = processor.signals().create(signals ? static_cast<int64_t>(count) : 1);
  command::AqlPacket packet{};
  packet.dispatch.header = static_cast<uint16_t>(command::PacketType::kernel_dispatch) |
                           command::kFenceSystem << command::kHeaderAcquireShift |
                           command::kFenceSystem << command::kHeaderReleaseShift;
  packet.dispatch.setup = 1;
  packet.dispatch.workgroup_size[0] = 32;
  packet.dispatch.workgroup_size[1] = packet.dispatch.workgroup_size[2] = 1;
  packet.dispatch.grid_size[0] = 32;
  packet.dispatch.grid_size[1] = packet.dispatch.grid_size[2] = 1;
  packet.dispatch.kernel_object = kernel;
  const auto begin = Clock::now();
  for (uint64_t sent = 0; sent < count; sent += batch) {
    const uint64_t first = queue->reserve(batch);
    queue->wait_for_slot(first + batch - 1, std::nullopt);
    for (uint64_t i = 0; i < batch; ++i) {
      const bool last = sent + i + 1 == count;
      packet.dispatch.completion_signal = signals || last ? done : 0;
      if (last) packet.dispatch.header |= command::kHeaderBarrier;
      queue->publish(first + i, packet);
    }
    queue->ring_doorbell(first + batch - 1);
  }
  processor.signals().wait(done, command::Condition::equal, 0, std::nullopt);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  processor.destroy(queue);
  return static_cast<double>(count) / seconds;
}

int main_of(int argc, char** argv) {
  const uint64_t asked = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const uint64_t count = (asked + 999) / 1000 * 1000;
  toolchain::Options options;
  options.listing.scratch_bytes_per_lane = 0;
  options.listing.lds_bytes = 0;
  options.listing.vgprs = 24;
  const toolchain::Result assembled = toolchain::assemble("s_nop 0\n", "empty.s", options);
  auto object = loader::CodeObject::parse(assembled.code_object, "empty.s");
  AddressSpace memory;
  auto loaded = machine::LoadedCode::load(std::move(*object), memory);
  const machine::LoadedCode& code = **loaded;
  const uint64_t kernel = code.loaded_address(code.object().kernels().front().descriptor_address);
  machine::Device::Options device;
  device.hardware = hardware::models().front();
  command::CommandProcessor processor(memory, device);
  const struct {
    const char* name;
    uint64_t batch;
    bool signals;
  } ways[] = {{"a doorbell for 1000 packets, one signal at the end", 1000, false},
              {"a doorbell for 1000 packets, a signal each", 1000, true},
              {"a doorbell and a signal each", 1, true}};
  for (const auto& way : ways)
    std::printf("%-52s %9.0f dispatches a second\n", way.name,
                run(processor, kernel, count, way.batch, way.signals));
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  return lockstep::main_of(argc, argv);
}
