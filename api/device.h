// What is behind lockstep_device.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/code_object.h"
#include "api/guest_services.h"
#include "api/lockstep.h"
#include "api/queue_hosts.h"
#include "command/command_processor.h"
#include "engine/findings.h"
#include "hardware/hardware.h"
#include "machine/kernel.h"
#include "machine/reuse.h"
#include "machine/scratch_ring.h"
#include "memory/address_space.h"
#include "observe/fidelity/fidelity.h"
#include "state/device_state.h"

namespace lockstep::api {

// The model of that name or file; null: the default one. Throws Failure if there is none.
hardware::Description device_model(const char* name);

hardware::WorkGroupNeeds work_group_needs(const lockstep_kernel& kernel, uint32_t work_items,
                                          uint32_t dynamic_lds_bytes);

// Zeroed pages of the host. Throws Failure if it has none.
std::shared_ptr<const HostPages> make_pages(uint64_t bytes);

lockstep_fault_kind kind_of(lockstep::FaultKind kind);

// A fault with the text that the C structure points at.
struct FaultReport {
  lockstep_fault fault{};
  std::string kernel, instruction, function, file, message, text;
  std::string callers;  // of inlined functions, as lines of the text
};

struct Callers;

// A place in the code with the text that the C structure points at.
struct Location {
  uint64_t pc = 0, offset = 0;
  std::string instruction, function, file;
  uint32_t line = 0;
  std::shared_ptr<const Callers> callers;  // null: nobody knows of any
  lockstep_code_location view() const {
    return {pc, offset, instruction.c_str(), function.c_str(), file.c_str(), line};
  }
};

// The functions that an instruction was inlined into, the innermost first.
struct Callers {
  std::vector<Location> places;
  std::vector<lockstep_code_location> views;  // of them
};

// What a dispatch runs, as reports name it.
struct RunningKernel {
  std::string name;
  uint64_t entry = 0;            // as loaded
  const Image* image = nullptr;  // null: nobody knows the code object
  uint64_t bias = 0;             // of addresses as loaded over those as linked
};

struct FindingReport {
  observe::Finding finding;
  Location first;
  Location used[observe::kSinks];
};

struct BrokenRuleReport {
  lockstep::Finding finding;
  Location where, other;  // the other one of a finding that has two
};

}  // namespace lockstep::api

struct lockstep_device {
  lockstep::hardware::Description model;
  lockstep::machine::EngineKind engine = lockstep::machine::EngineKind::interpreter;
  lockstep::Math math = lockstep::Math::exact;
  lockstep::memory::AccessModes access_modes;
  uint32_t threads = 0;
  lockstep_wave_control* queue_control = nullptr;  // of the waves that queues launch

  lockstep::AddressSpace memory;
  lockstep::machine::Reuse reuse;
  std::shared_ptr<lockstep::machine::Placement> placement;
  std::shared_ptr<lockstep::machine::ScratchRing> scratch;  // as large as a kernel has needed it so far
  std::shared_ptr<lockstep::DeviceState> global_state = std::make_shared<lockstep::DeviceState>();
  std::shared_ptr<const lockstep::HostPages> dispatch_pages;  // arguments and packet of the last dispatch
  std::map<uint64_t, std::shared_ptr<const lockstep::HostPages>> allocations;
  std::map<uint64_t, uint64_t> mappings;  // of host memory: address and size

  struct Loaded {
    std::shared_ptr<const lockstep::api::Image> image;
    std::unique_ptr<lockstep::machine::LoadedCode> code;
  };
  std::vector<Loaded> loaded;
  std::unique_ptr<lockstep::api::FaultReport> fault;
  std::shared_ptr<lockstep::api::GuestHeap> heap = std::make_shared<lockstep::api::GuestHeap>(memory);
  std::unique_ptr<lockstep::api::GuestServices> services;  // made for the first kernel that needs them
  lockstep::api::QueueHosts queue_hosts{memory, heap};
  std::string note;                               // of the last dispatch (lockstep_statistics)
  std::vector<lockstep::translator::Exit> exits;  // likewise
  std::vector<lockstep::api::FindingReport> findings;
  std::vector<lockstep::api::BrokenRuleReport> broken_rules;
  std::vector<lockstep::api::BrokenRuleReport> check_findings;
  // Allocations that are gone, the newest last: what a checker knows of them.
  std::vector<lockstep::Range> freed;
  std::vector<lockstep::api::BrokenRuleReport> exceptions;  // the rule is the exception's name

  // Queues and signals; made when the first one is asked for. Last, so that it ends before what it uses.
  lockstep::command::CommandProcessor& command_processor();
  std::once_flag processor_made;
  std::unique_ptr<lockstep::command::CommandProcessor> processor;
  std::mutex queues_mutex;
  std::map<lockstep_queue*, std::shared_ptr<lockstep_queue>> queues;

  // Those who listen to queues learn that the host has taken it back.
  void tell_unmapped(const lockstep::Range& range);
  // Loads the image at its first use. Throws Failure.
  const lockstep::machine::LoadedCode& load(const std::shared_ptr<const lockstep::api::Image>& image);
};
