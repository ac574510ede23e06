/* What earlier runs left for later ones: code objects that the library's compilers have made, and kernels
 * that the translator has translated. They are below the user's cache folder ($XDG_CACHE_HOME/lockstep, or
 * ~/.cache/lockstep), and not used where anybody else could write. The environment variable
 * LOCKSTEP_CACHE_MEGABYTES limits each (512), 0 turns both off. */
#ifndef LOCKSTEP_CACHE_H
#define LOCKSTEP_CACHE_H

#include "lockstep.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lockstep_cache {
  LOCKSTEP_CACHE_COMPILED = 0,  /* OpenCL C and HIP as code objects */
  LOCKSTEP_CACHE_TRANSLATED = 1 /* gfx11 code as code of this host, for this build of the library */
} lockstep_cache;

typedef struct lockstep_cache_info {
  uint32_t struct_size;
  const char* folder; /* "" if there is no cache; lives until the thread's next call */
  uint64_t entries, bytes, limit_bytes;
} lockstep_cache_info;

LOCKSTEP_API lockstep_status lockstep_cache_get_info(lockstep_cache which, lockstep_cache_info* out);
/* Removes all entries. Kernels that run keep what they have. */
LOCKSTEP_API lockstep_status lockstep_cache_clear(lockstep_cache which);

#ifdef __cplusplus
}
#endif
#endif /* LOCKSTEP_CACHE_H */
