#include "host/smi_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/own_descriptors.h"

namespace lockstep::host {

SmiEvents::~SmiEvents() {
  for (const Client& client : clients_) close_own(client.socket);
}

int SmiEvents::open(kfd_ioctl_smi_events_args& args) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return errno;
  Client client;
  client.socket = taken_over(ends[0]);
  if (client.socket < 0) {
    const int error = errno;
    syscall(SYS_close, ends[1]);
    return error;
  }
  client.gpu_id = args.gpuid;
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  client.task = name;
  std::lock_guard lock(mutex_);
  clients_.push_back(std::move(client));
  args.anon_fd = static_cast<uint32_t>(ends[1]);
  return 0;
}

bool SmiEvents::take_wishes(Client& client) {
  for (;;) {
    const ssize_t got = recv(client.socket, client.partial + client.partial_bytes,
                             sizeof client.partial - client.partial_bytes, MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    client.partial_bytes += static_cast<unsigned>(got);
    if (client.partial_bytes < sizeof client.partial) continue;
    std::memcpy(&client.wanted, client.partial, sizeof client.wanted);
    client.partial_bytes = 0;
  }
}

bool SmiEvents::send(Client& client, kfd_smi_event event, std::string_view text) {
  if (!(client.wanted & KFD_SMI_EVENT_MASK_FROM_INDEX(event))) return true;
  const std::string line = fmt::format("{:x} {}\n", static_cast<unsigned>(event), text);
  const ssize_t sent = ::send(client.socket, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent >= 0 || errno == EAGAIN;
}

template <class Text>
void SmiEvents::tell(uint32_t gpu_id, kfd_smi_event event, Text text) {
  std::erase_if(clients_, [&](Client& client) {
    const bool is_there =
        client.gpu_id != gpu_id || (take_wishes(client) && send(client, event, text(client)));
    if (!is_there) close_own(client.socket);
    return !is_there;
  });
}

void SmiEvents::memory_fault(uint32_t gpu_id) {
  std::lock_guard lock(mutex_);
  tell(gpu_id, KFD_SMI_EVENT_VMFAULT,
       [](const Client& client) { return fmt::format("{:x}:{}", getpid(), client.task); });
}

void SmiEvents::reset(uint32_t gpu_id) {
  std::lock_guard lock(mutex_);
  const auto number = [&](const Client&) { return fmt::format("{:x}", resets_); };
  ++resets_;
  tell(gpu_id, KFD_SMI_EVENT_GPU_PRE_RESET, number);
  tell(gpu_id, KFD_SMI_EVENT_GPU_POST_RESET, number);
}

}  // namespace lockstep::host
