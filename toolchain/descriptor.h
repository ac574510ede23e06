// A file descriptor that closes itself.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lockstep::toolchain {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

inline bool make_pipe(Descriptor& read_end, Descriptor& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

inline bool make_socket_pair(int type, Descriptor& one_end, Descriptor& other_end) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return false;
  one_end.reset(ends[0]);
  other_end.reset(ends[1]);
  return true;
}

}  // namespace lockstep::toolchain
