// Ranges of the program's own memory that devices share (AMDKFD_IOC_SVM), and what it has said of them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "host/buffers.h"
#include "host/gpu.h"
#include "host/kfd_abi.h"

namespace lockstep::host {

class SharedVirtualMemory {
 public:
  SharedVirtualMemory(const Gpus& gpus, const Buffers& buffers) : gpus_(gpus), buffers_(buffers) {}
  // `attributes` of them stand behind the structure. Returns 0 or the number of an error.
  int answer(kfd_ioctl_svm_args& args, uint32_t attributes);

 private:
  // What is kept and told again. Where memory is and how it is cached makes no difference here.
  struct Advice {
    uint32_t preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED, prefetched = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    uint32_t flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT;
    uint32_t granularity = 9;  // of 2 MB, the driver's default
    uint64_t in_place = 0;     // by device, if it was given access so; else as usual
    bool operator==(const Advice&) const = default;
  };
  struct Stretch {
    uint64_t end = 0;
    Advice advice;
  };
  using Stretches = std::map<uint64_t, Stretch>;  // by their begin

  Gpu* find(uint32_t id) const;
  bool is_location(uint32_t value) const;
  int check(const kfd_ioctl_svm_attribute& attribute) const;
  void set(const kfd_ioctl_svm_args& args, const std::vector<kfd_ioctl_svm_attribute>& attributes);
  int get(const kfd_ioctl_svm_args& args, kfd_ioctl_svm_attribute& attribute) const;
  // Lets a stretch begin at the address if one goes across it.
  void cut(uint64_t address);
  // What was said of each part of [begin, end).
  std::vector<Advice> advice(uint64_t begin, uint64_t end) const;

  const Gpus& gpus_;
  const Buffers& buffers_;
  mutable std::mutex mutex_;
  Stretches stretches_;  // of which something else than the default was said
};

}  // namespace lockstep::host
