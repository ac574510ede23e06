/* What the library's compilers have made before. It is below the user's cache folder
 * ($XDG_CACHE_HOME/lockstep/compiled, or ~/.cache/lockstep/compiled), and not used where anybody else could
 * write. The environment variable LOCKSTEP_CACHE_MEGABYTES limits it (512), 0 turns it off. */
#ifndef LOCKSTEP_COMPILE_CACHE_H
#define LOCKSTEP_COMPILE_CACHE_H

#include "lockstep.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lockstep_compile_cache_info {
  uint32_t struct_size;
  const char* folder; /* "" if there is no cache; lives until the thread's next call */
  uint64_t entries, bytes, limit_bytes;
} lockstep_compile_cache_info;

LOCKSTEP_API lockstep_status lockstep_compile_cache_get_info(lockstep_compile_cache_info* out);
/* Removes all entries. */
LOCKSTEP_API lockstep_status lockstep_compile_cache_clear(void);

#ifdef __cplusplus
}
#endif
#endif /* LOCKSTEP_COMPILE_CACHE_H */
