// What a program's paths and descriptors stand for: the nodes of the devices, the driver's files, folders of
// the host above these. No C++ library.
#pragma once

#include <stddef.h>
#include <sys/types.h>

namespace lockstep::interposed {

constexpr unsigned kDrmMajor = 226, kFirstRenderMinor = 128;

// ---- Descriptors

// What a path or a descriptor stands for: nothing of ours, /dev/kfd, the render node of device kind -
// kRender, its other node (card0), which does the same, the host's folder of number kind - kAncestor, or our
// file of number kind - kFolder: a folder, or a link that was opened as such.
enum : unsigned short { kOther = 0, kControl = 1, kRender = 2, kCard = 128, kAncestor = 192, kFolder = 256 };

bool is_device(unsigned short kind);
bool is_render(unsigned short kind);
unsigned device_of(unsigned short kind);
// Nothing of ours once it was closed, also where close() did not see it (fclose(), closefrom()).
unsigned short kind_of(int descriptor);
void set_kind(int descriptor, unsigned short kind);
// The number of the folder that a descriptor stands for; kNotOurs if it stands for none.
int file_of(int descriptor);
// Returns `to`, which stands for what `from` does.
int copied(int from, int to);
// In a child of the process.
void forget_descriptors();

// ---- What programs name: it may be no memory of theirs, which is EFAULT and no fault of the process

// The path, if that is text which the process has; else null, and the kernel says what is wrong with it. The
// functions below take a path that is readable, or null.
const char* readable(const char* path);
// Whether the process has that memory and may write to it. Where it may, what stands there is lost.
bool writable(void* place, size_t bytes);
// At most a page; false if the process has not all of it.
bool copied_in(void* to, const void* from, size_t bytes);

// ---- Paths, which may begin at a folder's descriptor

bool begins_with(const char* text, const char* prefix);
// Which node it is, of a driver that may not be there, or of a device; else kOther.
unsigned short node_at(int folder, const char* path);
// The number of the driver's file or folder; kNotOurs or kMissing if there is none.
int own_file(int folder, const char* path, bool to_its_end = true);

// ---- As the system calls of these names

// -1, and errno is the error.
int failed_with(int error);
int open_any(int folder, const char* path, int flags, mode_t mode);
void* map_any(void* address, size_t bytes, int protection, int flags, int descriptor, off_t offset);

}  // namespace lockstep::interposed
