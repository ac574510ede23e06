// Between the library that programs are started with, which must be small, and the driver behind it, which is
// loaded when a program looks for a device. C only: the first has no C++ library.
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {

// A file by which the kernel's driver shows devices, a link to one, or a folder of them.
struct LockstepFile {
  const char* path;    // absolute
  const char* text;    // null: a folder or a link
  const char* target;  // of a link: absolute; else null
  size_t bytes;
  bool is_shared;  // a folder in which there are also the host's own files
};

struct LockstepDriver {
  // By path, in the order of its bytes, folders too.
  const struct LockstepFile* files;
  unsigned file_count;
  // Whether a path is the driver's: what is not among the files is not there.
  bool (*is_device_path)(const char* path);
  // Brings a file's text up to date, and says what it is.
  const char* (*read)(unsigned file, size_t* bytes);
  unsigned devices;
  // A descriptor of the file that both device nodes are; -1 if there are no devices (it has said why).
  int (*descriptor)();
  // Whether a descriptor is the driver's own, which programs do not know of.
  bool (*is_own_descriptor)(int descriptor);
  // Answers an ioctl of /dev/kfd, or of the render node of a device: 0 or the number of an error. `bytes` are
  // readable and writable at `argument`, unless that is null.
  int (*kfd_ioctl)(unsigned long request, void* argument);
  int (*render_ioctl)(unsigned device, unsigned long request, void* argument);
  // What stands at an offset of a node: the descriptor that is to be mapped, and its own offset in `offset`;
  // -1 if programs were told of nothing there, or of less.
  int (*descriptor_at)(uint64_t* offset, uint64_t bytes);
  // The program has mapped that place of the file.
  void (*mapped)(uint64_t offset, void* address);
  // Processes packets that have been published, for a moment, on the calling thread; whether there may be
  // more to do.
  bool (*serve)();
  // To be called by who was told so and does not call it again.
  void (*stop_serving)();
  // Stores to the doorbell there and processes what has been published, for a moment, on the calling thread,
  // which has room on its stack; false, or null: the caller does better to store itself, as below.
  bool (*ring)(const void* address, uint64_t value);
  // The calling thread has published packets and is about to store to a doorbell.
  void (*about_to_ring)();
  // The program's runtime has handed out memory, or is about to take it back; null: nobody wants to know.
  void (*allocated)(void* address, size_t bytes);
  void (*freed)(void* address);
  // The program's runtime was not given an image of that geometry (hsa_ext_image_geometry_t).
  void (*refused_image)(uint32_t geometry);
  // Handlers of SIGSEGV and SIGBUS stand behind the driver's.
  void (*sigaction)(int number, const struct sigaction* action, struct sigaction* old);
  // In the child of a fork: what was there is the parent's.
  void (*forked)();
};

// The symbol that the driver exports; null, and it has said why, if there is none to be had.
typedef const struct LockstepDriver* (*LockstepDriverEntry)();
#define LOCKSTEP_DRIVER_ENTRY "lockstep_driver"
}
