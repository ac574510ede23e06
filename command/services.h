// What queues work with; all of it outlives them.
#pragma once

#include "command/interrupts.h"
#include "command/signals.h"
#include "command/user_config.h"
#include "command/waiters.h"
#include "machine/device.h"
#include "memory/address_space.h"

namespace lockstep::command {

class Processor;

struct Services {
  AddressSpace& memory;
  Waiters& waiters;
  Interrupts& interrupts;
  Signals& signals;
  UserConfig& user_config;
  machine::Device& device;
  Processor& processor;
  uint64_t (*time_stamp)();  // what packets and signals get
};

}  // namespace lockstep::command
