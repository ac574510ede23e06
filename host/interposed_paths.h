// What a program's paths and descriptors stand for: the nodes of the devices, the driver's files, folders of
// the host above these. No C++ library.
#pragma once

#include <stddef.h>
#include <sys/types.h>

namespace lockstep::interposed {

constexpr unsigned kDrmMajor = 226, kFirstRenderMinor = 128;

// ---- Descriptors

// What a descriptor stands for: nothing of ours, /dev/kfd, the render node of device kind - kRender, its
// other node (card0), which does the same, the host's folder of number kind - kAncestor, or our file of
// number kind - kFolder: a folder, or a link that was opened as such.
enum : unsigned short { kOther = 0, kControl = 1, kRender = 2, kCard = 128, kAncestor = 192, kFolder = 256 };

bool is_device(unsigned short kind);
bool is_render(unsigned short kind);
unsigned device_of(unsigned short kind);
unsigned short kind_of(int descriptor);
void set_kind(int descriptor, unsigned short kind);
// The number of the folder that a descriptor stands for; kNotOurs if it stands for none.
int file_of(int descriptor);
// Returns `to`, which stands for what `from` does.
int copied(int from, int to);
// In a child of the process.
void forget_descriptors();

// ---- Paths

bool begins_with(const char* text, const char* prefix);
// Programs pass null where the headers say that they do not.
bool is_path(const char* path);
bool is_control(const char* path);
// Which of a device's two nodes it is, or kOther.
unsigned short node_of(const char* path);
// The number of the driver's file or folder at a path, which may begin at a folder's descriptor; kNotOurs or
// kMissing if there is none.
int own_file(int folder, const char* path, bool to_its_end = true);

// ---- As the system calls of these names

// -1, and errno is the error.
int failed_with(int error);
int open_any(int folder, const char* path, int flags, mode_t mode);
void* map_any(void* address, size_t bytes, int protection, int flags, int descriptor, off_t offset);

}  // namespace lockstep::interposed
