// Printf, assert and malloc of kernels that queues launch: each dispatch has services of its own, and their
// buffers are named in its hidden arguments when it is launched.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "api/code_object.h"
#include "api/guest_services.h"
#include "command/dispatch_host.h"
#include "memory/address_space.h"

namespace lockstep::api {

// Of a device.
class QueueHosts {
 public:
  QueueHosts(AddressSpace& memory, std::shared_ptr<GuestHeap> heap)
      : memory_(memory), heap_(std::move(heap)) {}

  // A packet was made whose arguments are there. No more than `waves` waves of it are under way at a time.
  void expect(uint64_t arguments, const lockstep_kernel& kernel, uint64_t waves);
  // The arguments of such packets that are in [begin, end) are gone, or those of another kernel.
  void forget(uint64_t begin, uint64_t end);
  // As command::DispatchHostMaker; what the kernel prints goes to `output`.
  std::unique_ptr<command::DispatchHost> host(uint64_t arguments, const GuestServices::Output& output);

 private:
  // Services of dispatches that have the same arguments and run at the same time.
  struct Shared {
    std::unique_ptr<GuestServices> services;
    unsigned dispatches = 0;
  };
  struct Expected {
    std::shared_ptr<const Image> image;
    std::shared_ptr<const loader::KernelMetadata> kernel;
    uint64_t waves = 0;
    std::weak_ptr<Shared> running;
  };
  class Host;

  void write_hidden(const Expected& expected, uint64_t arguments, const loader::HiddenValues& values) const;

  AddressSpace& memory_;
  const std::shared_ptr<GuestHeap> heap_;
  std::atomic<bool> any_ = false;  // in `expected_`
  std::mutex mutex_;
  std::map<uint64_t, Expected> expected_;  // by the address of the arguments
  std::vector<std::unique_ptr<GuestServices>> idle_;
};

}  // namespace lockstep::api
