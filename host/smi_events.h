// Events of system management: what a program reads of the devices from a descriptor of its own.
#pragma once

#include <linux/kfd_ioctl.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::host {

// The program's descriptor is one end of a pair of sockets: it can be polled, closed and given to another
// process as any other, and what it writes there comes to the driver without anybody in between.
class SmiEvents {
 public:
  SmiEvents() = default;
  ~SmiEvents();
  SmiEvents(const SmiEvents&) = delete;
  SmiEvents& operator=(const SmiEvents&) = delete;

  // A descriptor for what the device does; 0 or the number of an error.
  int open(kfd_ioctl_smi_events_args& args);
  void memory_fault(uint32_t gpu_id);
  // Before and after.
  void reset(uint32_t gpu_id);

 private:
  struct Client {
    int socket = -1;
    uint32_t gpu_id = 0;
    uint64_t wanted = 0;      // a bit for each kind of event
    std::string task;         // that opened it
    uint8_t partial[8] = {};  // of what is wanted
    unsigned partial_bytes = 0;
  };

  // False if the program has closed its end.
  static bool take_wishes(Client& client);
  static bool send(Client& client, kfd_smi_event event, std::string_view text);
  // mutex_ is held. `text` gets a client.
  template <class Text>
  void tell(uint32_t gpu_id, kfd_smi_event event, Text text);

  std::mutex mutex_;
  std::vector<Client> clients_;
  uint32_t resets_ = 0;
};

}  // namespace lockstep::host
