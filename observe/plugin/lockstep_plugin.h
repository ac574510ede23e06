/* Plug-ins of Lockstep: shared libraries that follow what waves do, see each instruction with its accesses,
 * and add findings. They change nothing: a run with plug-ins gives the bits of one without.
 *
 * A plug-in exports two symbols:
 *
 *   LOCKSTEP_PLUGIN_EXPORT const uint32_t lockstep_plugin_version = LOCKSTEP_PLUGIN_VERSION;
 *   LOCKSTEP_PLUGIN_EXPORT const char* lockstep_plugin_begin(const lockstep_plugin_host* host,
 *                                                            const char* arguments, lockstep_plugin* plugin);
 *
 * The version is read before anything of the plug-in is called: one that was built for another version of
 * this file is refused. lockstep_plugin_begin fills in who is to be called, and returns null; or a text that
 * says why it cannot begin, which the user gets. `arguments` is what the user wrote behind the file's name,
 * "" if nothing, valid during the call; `host` is valid until end().
 *
 * It is called once for each `lockstep run`, each dispatch of the C interface, each queue, each device of
 * `lockstep exec`. Call-backs that are null are left away. Structures that they get, and what these point at,
 * are valid during the call. None may throw C++ exceptions or call the interface of lockstep.h.
 *
 * C11; a plug-in links with nothing of Lockstep's. examples/plugin/ has one.
 */
#ifndef LOCKSTEP_PLUGIN_H
#define LOCKSTEP_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this file: another number with every change that plug-ins would notice. */
#define LOCKSTEP_PLUGIN_VERSION 1

#define LOCKSTEP_PLUGIN_EXPORT __attribute__((visibility("default")))

typedef struct lockstep_plugin_dispatch {
  uint64_t id; /* of those that run at the same time */
  uint32_t grid[3], group[3];
  uint64_t entry; /* PC of its first instruction */
  uint32_t wave_size;
  uint32_t lds_bytes; /* of a work-group, as asked for */
} lockstep_plugin_dispatch;

typedef struct lockstep_plugin_group {
  uint64_t dispatch;
  uint32_t id[3];
  uint32_t waves;
} lockstep_plugin_group;

typedef enum lockstep_plugin_space {
  LOCKSTEP_PLUGIN_GLOBAL = 0,
  LOCKSTEP_PLUGIN_SCALAR = 1, /* global memory, by scalar loads */
  LOCKSTEP_PLUGIN_SCRATCH = 2,
  LOCKSTEP_PLUGIN_LDS = 3,
  LOCKSTEP_PLUGIN_GDS = 4
} lockstep_plugin_space;

typedef enum lockstep_plugin_reach {
  LOCKSTEP_PLUGIN_INSIDE = 0,
  LOCKSTEP_PLUGIN_FILLED_UP = 1, /* a read behind a buffer's end that the machine lets pass */
  LOCKSTEP_PLUGIN_DROPPED = 2,   /* out of range: reads give zero, writes do nothing */
  LOCKSTEP_PLUGIN_REFUSED = 3    /* the wave faults */
} lockstep_plugin_reach;

typedef struct lockstep_plugin_access {
  uint64_t address; /* in scratch, LDS and GDS: the offset */
  uint32_t bytes;
  int16_t lane;          /* -1: of the wave as a whole */
  uint8_t space, reach;  /* lockstep_plugin_space, lockstep_plugin_reach */
  uint8_t reads, writes; /* both: an atomic */
} lockstep_plugin_access;

/* A wave at an instruction. */
typedef struct lockstep_plugin_event {
  uint64_t dispatch;
  uint32_t work_group[3];
  uint32_t wave; /* its number in the work-group */
  uint32_t wave_size;
  uint64_t pc;
  uint64_t exec;                          /* lanes that are on, a bit for each */
  const char* mnemonic;                   /* "global_load_b32"; lives for ever */
  uint32_t size;                          /* bytes of the instruction */
  uint32_t access_count;                  /* by lane */
  const lockstep_plugin_access* accesses; /* those that it is about to make, or has made */
  const void* inside;                     /* for the functions below */
} lockstep_plugin_event;

typedef enum lockstep_plugin_severity {
  LOCKSTEP_PLUGIN_NOTE = 0,
  LOCKSTEP_PLUGIN_WARNING = 1,
  LOCKSTEP_PLUGIN_ERROR = 2
} lockstep_plugin_severity;

/* As those of Lockstep's own checkers. The same rule at the same PC is told of once, with a count. Null texts
 * are empty ones; all are copied. */
typedef struct lockstep_plugin_finding {
  uint64_t pc;
  uint32_t work_group[3], wave;
  uint64_t count;    /* wave-instructions */
  const char* rule;  /* what is wrong; the same text each time */
  uint32_t severity; /* lockstep_plugin_severity */
  const char *detail, *remedy;
  uint64_t lanes; /* a bit for each */
  uint64_t address;
  uint32_t bytes;    /* 0: no memory is concerned */
  uint64_t other_pc; /* of an instruction that has part in it; 0: none */
} lockstep_plugin_finding;

/* A buffer, or other memory that the dispatch may use. */
typedef struct lockstep_plugin_range {
  uint64_t begin, bytes;
  char name[128]; /* "buffer 'x'" */
} lockstep_plugin_range;

/* What a plug-in may ask for. */
typedef struct lockstep_plugin_host lockstep_plugin_host;
struct lockstep_plugin_host {
  /* From any call-back but wants() and end(). */
  void (*find)(const lockstep_plugin_host* host, const lockstep_plugin_finding* finding);
  /* The memory of a dispatch that holds the address; 0 if there is none. */
  int (*range)(const lockstep_plugin_host* host, uint64_t dispatch, uint64_t address,
               lockstep_plugin_range* out);
  /* The instruction's text, 0-terminated, cut to `capacity`. Returns its length. */
  size_t (*text)(const lockstep_plugin_event* event, char* out, size_t capacity);
  /* Registers as they are: 0 to 105 SGPRs, 106 and 107 VCC, 125 M0, 126 and 127 EXEC, 253 SCC; VGPRs of one
   * lane. 0 for others. */
  uint32_t (*scalar)(const lockstep_plugin_event* event, uint32_t number);
  uint32_t (*vector)(const lockstep_plugin_event* event, uint32_t number, uint32_t lane);
};

/* What lockstep_plugin_begin fills in; all of it is 0 before. */
typedef struct lockstep_plugin {
  const char* name; /* of the checker that its findings have: lower case letters, digits, '-' */
  void* user;       /* the first argument of every call */
  /* Not 0: calls about different work-groups may come at the same time, from several threads. Else one comes
   * at a time, and the groups run one after the other, in the same order on every run. */
  int is_concurrent;
  /* Whether it wants to see instructions of that name: others cost nothing. Null: all. Its answers are kept.
   */
  int (*wants)(void* user, const char* mnemonic);
  void (*dispatch_begins)(void* user, const lockstep_plugin_dispatch* dispatch);
  void (*dispatch_ends)(void* user, const lockstep_plugin_dispatch* dispatch);
  void (*group_begins)(void* user, const lockstep_plugin_group* group);
  void (*group_ends)(void* user, const lockstep_plugin_group* group);
  /* All waves of the group have come to a barrier, or ended, and go on. */
  void (*barrier)(void* user, const lockstep_plugin_group* group);
  /* Before it is executed; then, unless the wave faulted, behind it; else faulted(). */
  void (*before)(void* user, const lockstep_plugin_event* event);
  void (*after)(void* user, const lockstep_plugin_event* event);
  void (*faulted)(void* user, const lockstep_plugin_event* event);
  /* Nothing is called any more. It is not called in processes that end under `lockstep exec`. */
  void (*end)(void* user);
} lockstep_plugin;

LOCKSTEP_PLUGIN_EXPORT extern const uint32_t lockstep_plugin_version;
LOCKSTEP_PLUGIN_EXPORT const char* lockstep_plugin_begin(const lockstep_plugin_host* host,
                                                         const char* arguments, lockstep_plugin* plugin);

#ifdef __cplusplus
}
#endif
#endif /* LOCKSTEP_PLUGIN_H */
