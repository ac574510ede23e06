/* The C interface of liblockstep: an AMD RDNA 3 (gfx11) GPU in software.
 *
 * A program opens code objects (from ELF files, HIP executables, bundles, or by compiling source), makes a
 * device, gives it memory, packs kernel arguments and dispatches kernels:
 *
 *   lockstep_code_object* code;
 *   lockstep_device* device;
 *   lockstep_arguments* arguments;
 *   uint64_t x;
 *   if (lockstep_code_object_open("saxpy.co", NULL, &code) != LOCKSTEP_OK) die(lockstep_last_error());
 *   const lockstep_kernel* kernel = lockstep_code_object_find_kernel(code, "saxpy");
 *   lockstep_device_create(NULL, &device);
 *   lockstep_memory_allocate(device, bytes, "x", &x);
 *   lockstep_arguments_create(kernel, &arguments);
 *   lockstep_arguments_set_buffer(arguments, 0, x);
 *   ...
 *   lockstep_dispatch_options options;
 *   lockstep_dispatch_options_init(&options);
 *   options.grid[0] = 1024;
 *   options.block[0] = 256;
 *   lockstep_dispatch(device, kernel, arguments, &options, NULL);
 *
 * Rules that hold for every function:
 * - It returns LOCKSTEP_OK, or a status that says what sort of thing went wrong; lockstep_last_error() then
 * gives the text for the calling thread: what, where, and how to mend it. No function ends the process or
 * throws.
 * - `out` parameters are written on success only, unless said otherwise.
 * - Strings that are returned belong to the object they were asked from and live as long as it does.
 * - Null is allowed where a comment says so, and in every *_destroy function.
 * - A device is used by one thread at a time; different devices are independent. Code objects and kernels are
 * immutable and may be shared.
 * - Structures whose first member is `struct_size` grow in later versions: call their *_init function (or set
 *   struct_size to sizeof yourself for results) before use. The library reads and writes no more than that
 * many bytes, so that a program works with a newer library; one that sets an option which an older library
 * does not know gets LOCKSTEP_UNSUPPORTED. From other languages call *_init_sized with the size of your
 * structure.
 */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LOCKSTEP_API __attribute__((visibility("default")))
#else
#define LOCKSTEP_API
#endif

typedef enum lockstep_status {
  LOCKSTEP_OK = 0,
  LOCKSTEP_FAULT = 1,            /* the kernel faulted; see lockstep_device_fault() */
  LOCKSTEP_INVALID_ARGUMENT = 2, /* the caller broke a rule of this interface */
  LOCKSTEP_NOT_FOUND = 3,        /* no such file, kernel, symbol, argument, device */
  LOCKSTEP_BAD_INPUT = 4,        /* a file is damaged, of the wrong kind, or for another target */
  LOCKSTEP_COMPILE_ERROR = 5,    /* the source does not compile; the error text has the compiler's messages */
  LOCKSTEP_UNSUPPORTED = 6,      /* correct, but this version cannot do it */
  LOCKSTEP_OUT_OF_MEMORY = 7,
  LOCKSTEP_CANCELLED = 8, /* a callback asked to stop */
  LOCKSTEP_INTERNAL_ERROR = 9,
  LOCKSTEP_ADDRESS_TAKEN = 10 /* memory must stand where this process has other memory */
} lockstep_status;

/* Text of the last failure in this thread; "" if there was none. Valid until the next failing call of the
 * thread. */
LOCKSTEP_API const char* lockstep_last_error(void);
LOCKSTEP_API const char* lockstep_status_name(lockstep_status status);
/* "0.1.0" */
LOCKSTEP_API const char* lockstep_version(void);

/* -------------------------------------------------------------------------------------------------------------
 * devices */

typedef struct lockstep_device lockstep_device;

typedef enum lockstep_engine {
  /* Begins in the interpreter at once, and changes to the translator when a kernel has run for a while, which
     threads in the background translate. The same results as either alone. */
  LOCKSTEP_ENGINE_AUTO = 0,
  LOCKSTEP_ENGINE_INTERPRETER = 1, /* the reference */
  LOCKSTEP_ENGINE_TRANSLATOR = 2 /* translates to the host's vector instructions before the first wave runs */
} lockstep_engine;

typedef struct lockstep_device_info {
  uint32_t struct_size;
  const char* name;        /* what lockstep_device_options.name takes: "navi31" */
  const char* description; /* "Radeon RX 7900 XTX" */
  const char* target;      /* "gfx1100" */
  uint32_t shader_engines;
  uint32_t work_group_processors; /* of the whole device; each has 2 compute units */
  uint32_t compute_units;
  uint32_t simds_per_compute_unit;
  uint32_t waves_per_simd;
  uint32_t vgprs_per_simd;      /* 32-lane registers */
  uint32_t vgpr_granule_wave32; /* registers */
  uint32_t lds_bytes_per_work_group_processor;
  uint32_t lds_bytes_per_work_group;
  uint32_t max_work_group_size;
  uint32_t clock_mhz;
  uint32_t arrays_per_shader_engine;
  uint32_t lds_granule_bytes;
  uint32_t instruction_cache_bytes;
  uint32_t scalar_cache_bytes;
  uint32_t l0_bytes_per_compute_unit;
  uint32_t l1_bytes_per_array;
  uint32_t l2_bytes;
  uint32_t mall_bytes; /* 0: none */
  uint32_t memory_gigabytes_per_second;
  uint32_t work_groups_per_work_group_processor; /* of more than one wave */
} lockstep_device_info;

/* The device models that the library knows; the first one is the default. */
LOCKSTEP_API uint32_t lockstep_device_model_count(void);
LOCKSTEP_API lockstep_status lockstep_device_model(uint32_t index, lockstep_device_info* out);

typedef enum lockstep_math {
  LOCKSTEP_MATH_EXACT = 0, /* the card's bits */
  /* V_RCP, V_RSQ, V_SQRT, V_EXP, V_LOG, V_SIN and V_COS of F32 within one unit in the last place of the true
     value, a few times quicker. The interpreter's only: the translator stays exact, and the note of the run
     says so. */
  LOCKSTEP_MATH_FAST = 1
} lockstep_math;

/* What becomes of an address that is not a multiple of the data's size (guide 9.5:
 * SH_MEM_CONFIG.ALIGNMENT_MODE, whose numbers these are not). Atomics must always be aligned. */
typedef enum lockstep_alignment_mode {
  LOCKSTEP_ALIGNMENT_UNALIGNED = 0,    /* it will do, as ROCm's driver sets the card, and compilers expect */
  LOCKSTEP_ALIGNMENT_DWORD = 1,        /* it is aligned, to 4 bytes at most; in LDS to the size of the data */
  LOCKSTEP_ALIGNMENT_DWORD_STRICT = 2, /* a memory violation if that were necessary */
  LOCKSTEP_ALIGNMENT_STRICT = 3        /* likewise, of the size of the data everywhere */
} lockstep_alignment_mode;

typedef struct lockstep_device_options {
  uint32_t struct_size;
  const char*
      name; /* a device model's name, or the path of a description file (.toml); null: the first model */
  lockstep_engine engine; /* LOCKSTEP_ENGINE_AUTO if not set */
  /* Host threads; 0: one for each host core. With one, dispatches give the same results, faults and counts on
   * every run, whatever the order of atomics and races would decide otherwise (docs/determinism.md). */
  uint32_t threads;
  lockstep_math math; /* LOCKSTEP_MATH_EXACT if not set */
  /* Commands the waves that queues launch; may be null. Must outlive the device. */
  struct lockstep_wave_control* wave_control;
  /* Of all dispatches; packets of a PM4 queue may set SH_MEM_CONFIG to another. */
  lockstep_alignment_mode alignment_mode;
  /* Not 0: an LDS address out of range is a memory violation (guide 12.7: ADDR_OUT_OF_RANGE_REPORTING). Else
   * it reads zero, or writes nothing. */
  uint32_t report_lds_out_of_range;
} lockstep_device_options;

LOCKSTEP_API void lockstep_device_options_init_sized(lockstep_device_options* options, size_t struct_size);
static inline void lockstep_device_options_init(lockstep_device_options* options) {
  lockstep_device_options_init_sized(options, sizeof *options);
}
/* `options` may be null for the defaults. */
LOCKSTEP_API lockstep_status lockstep_device_create(const lockstep_device_options* options,
                                                    lockstep_device** out);
LOCKSTEP_API void lockstep_device_destroy(lockstep_device* device);
LOCKSTEP_API lockstep_status lockstep_device_get_info(const lockstep_device* device,
                                                      lockstep_device_info* out);

/* The global data share, global wave sync and the stream-out registers belong to the device: dispatches and
 * queues find what those before them left, a dispatch that faulted, too. This makes them those of a device
 * fresh from reset; refused while waves wait at global wave sync. */
LOCKSTEP_API lockstep_status lockstep_device_reset_global_state(lockstep_device* device);

/* --------------------------------------------------------------------------------------------------------------
 * memory A guest address is a host address: a pointer into device memory may be read and written by the host
 * between dispatches. Kernels may access mapped ranges only: those that are mapped when they are launched.
 * Bounds are exact to the byte, but for reads in the aligned 16 bytes in which a range ends, since compilers
 * read whole blocks: behind the range these are zero, or what the neighbour has there. What is freed under a
 * kernel of a queue loses its contents at once; its addresses stay taken until the kernel has ended. */

typedef enum lockstep_access {
  LOCKSTEP_READ = 1,
  LOCKSTEP_WRITE = 2,
  LOCKSTEP_READ_WRITE = 3
} lockstep_access;

/* Zeroed memory, aligned to 256 bytes. `name` (may be null) appears in fault messages. */
LOCKSTEP_API lockstep_status lockstep_memory_allocate(lockstep_device* device, uint64_t bytes,
                                                      const char* name, uint64_t* out_address);
LOCKSTEP_API lockstep_status lockstep_memory_free(lockstep_device* device, uint64_t address);
/* Lets kernels use memory that the caller owns, which must outlive the mapping and the kernels that were
 * launched while it lasted. */
LOCKSTEP_API lockstep_status lockstep_memory_map(lockstep_device* device, void* host, uint64_t bytes,
                                                 lockstep_access access, const char* name);
LOCKSTEP_API lockstep_status lockstep_memory_unmap(lockstep_device* device, void* host);
/* Checked copies: the whole range must lie in one mapping. */
LOCKSTEP_API lockstep_status lockstep_memory_write(lockstep_device* device, uint64_t address,
                                                   const void* from, uint64_t bytes);
LOCKSTEP_API lockstep_status lockstep_memory_read(lockstep_device* device, uint64_t address, void* to,
                                                  uint64_t bytes);
LOCKSTEP_API lockstep_status lockstep_memory_fill(lockstep_device* device, uint64_t address, uint8_t value,
                                                  uint64_t bytes);

/* -------------------------------------------------------------------------------------------- code objects
 * and kernels */

typedef struct lockstep_code_object lockstep_code_object;
typedef struct lockstep_kernel lockstep_kernel;

typedef struct lockstep_compile_options {
  uint32_t struct_size;
  const char* target;    /* "gfx1100" if null */
  uint32_t wave_size;    /* 32 or 64; 0: 32 */
  uint32_t optimization; /* 0 to 3 */
  int debug_info;        /* not 0: all of it, for assembly too; else line tables of the other languages */
  uint32_t code_object_version; /* 4, 5 or 6; 0: 5 */
  const char* const* flags;     /* further flags for clang; may be null */
  uint32_t flag_count;
  /* Called about ten times a second while files are read, unpacked and compiled, from the calling thread;
   * returns not 0 to stop with LOCKSTEP_CANCELLED. May be null. */
  int (*cancelled)(void* user);
  void* cancelled_user;
  /* OpenCL kernels that do not say how large their work-groups are get code for so many work-items; 0: 256,
   * as with ROCm. */
  uint32_t work_group_size;
  /* Further source files of the same language, or LLVM IR: each is compiled by itself and linked with what is
   * opened or compiled, as one code object. May be null. */
  const char* const* sources;
  uint32_t source_count;
} lockstep_compile_options;

LOCKSTEP_API void lockstep_compile_options_init_sized(lockstep_compile_options* options, size_t struct_size);
static inline void lockstep_compile_options_init(lockstep_compile_options* options) {
  lockstep_compile_options_init_sized(options, sizeof *options);
}

typedef enum lockstep_diagnosis_state {
  LOCKSTEP_DIAGNOSIS_GOOD = 0,
  LOCKSTEP_DIAGNOSIS_MISSING = 1,
  LOCKSTEP_DIAGNOSIS_OPTIONAL = 2 /* it is missing, and most do without */
} lockstep_diagnosis_state;

/* What of this machine compiling source needs, one call for each: "clang", and where it is or how to get it.
 * Compiles a few lines of each language. */
LOCKSTEP_API lockstep_status lockstep_diagnose(void (*entry)(void* user, lockstep_diagnosis_state state,
                                                             const char* what, const char* text),
                                               void* user);

typedef enum lockstep_language {
  LOCKSTEP_ASSEMBLY = 0,
  LOCKSTEP_OPENCL = 1, /* a name that ends with .clcpp makes it C++ for OpenCL */
  LOCKSTEP_HIP = 2,
  LOCKSTEP_LLVM_IR = 3 /* text, of LLVM 19 or before, for amdgcn-amd-amdhsa */
} lockstep_language;

/* Opens a code object (ELF, v4 to v6), an offload bundle, a HIP executable or library, or a source file:
 * assembly (.s, .S, .asm), OpenCL C (.cl), C++ for OpenCL (.clcpp), HIP (.hip, .cu), LLVM IR (.ll, .bc),
 * SPIR-V (.spv, or what begins so); C++
 * (.cpp, .cc, .cxx) is C++ for OpenCL if it has __kernel and no __global__, else HIP. Of a file with several
 * code objects those for options->target are taken, all of them. `options` may be null. */
LOCKSTEP_API lockstep_status lockstep_code_object_open(const char* path,
                                                       const lockstep_compile_options* options,
                                                       lockstep_code_object** out);
/* The same for bytes in memory, which are copied; of sources only SPIR-V. `name` appears in messages. */
LOCKSTEP_API lockstep_status lockstep_code_object_from_memory(const void* bytes, uint64_t size,
                                                              const char* name,
                                                              const lockstep_compile_options* options,
                                                              lockstep_code_object** out);
LOCKSTEP_API lockstep_status lockstep_code_object_compile(lockstep_language language, const char* text,
                                                          const char* name,
                                                          const lockstep_compile_options* options,
                                                          lockstep_code_object** out);
/* Kernels of the code object end with it. Devices that loaded it keep what they need. */
LOCKSTEP_API void lockstep_code_object_destroy(lockstep_code_object* object);
/* Warnings of the compiler; "" if none. */
LOCKSTEP_API const char* lockstep_code_object_diagnostics(const lockstep_code_object* object);

/* The ELF files that the code object consists of; most have one. */
typedef struct lockstep_image_info {
  uint32_t struct_size;
  const char* name;
  const char* target; /* "gfx1100", "gfx90a:xnack+" */
  uint32_t version;   /* 4, 5 or 6 */
  uint64_t file_bytes;
  uint64_t memory_bytes;
  int has_debug_info;
  const char* compiler; /* "clang version 19.1.7", as it names itself; "" if nobody does */
} lockstep_image_info;
LOCKSTEP_API uint32_t lockstep_code_object_image_count(const lockstep_code_object* object);
LOCKSTEP_API lockstep_status lockstep_code_object_image(const lockstep_code_object* object, uint32_t index,
                                                        lockstep_image_info* out);
/* The ELF file itself. */
LOCKSTEP_API lockstep_status lockstep_code_object_image_bytes(const lockstep_code_object* object,
                                                              uint32_t index, const void** out_bytes,
                                                              uint64_t* out_size);

/* Everything that a file holds, for whatever target, host parts included. Calls `entry` for each one. */
typedef struct lockstep_file_entry {
  const char* id;     /* "hipv4-amdgcn-amd-amdhsa--gfx1100"; "" for a lone code object */
  const char* target; /* "" for host parts */
  const char* where;  /* "program, .hip_fatbin + 0x1000, entry 1" */
  uint64_t bytes;
} lockstep_file_entry;
LOCKSTEP_API lockstep_status lockstep_file_list(const char* path,
                                                void (*entry)(void* user, const lockstep_file_entry* entry),
                                                void* user);

LOCKSTEP_API uint32_t lockstep_code_object_kernel_count(const lockstep_code_object* object);
/* Null if there is none. */
LOCKSTEP_API const lockstep_kernel* lockstep_code_object_kernel(const lockstep_code_object* object,
                                                                uint32_t index);
/* By the name of the code object; or by that of the C++ source, with or without parameters and template
 * arguments, if one kernel alone fits. */
LOCKSTEP_API const lockstep_kernel* lockstep_code_object_find_kernel(const lockstep_code_object* object,
                                                                     const char* name);

typedef struct lockstep_kernel_info {
  uint32_t struct_size;
  const char* name;
  const char* language; /* "OpenCL C"; "" if not said */
  int has_metadata;     /* 0: arguments are not described, set them with lockstep_arguments_set_raw */
  uint32_t wave_size;
  uint32_t argument_count; /* that the caller gives */
  uint32_t argument_bytes; /* of the kernel argument segment, hidden arguments included */
  uint32_t sgprs;          /* that the kernel uses; 0 if not said */
  uint32_t vgprs;          /* that the kernel uses, or that a wave asks for if not said */
  uint32_t sgpr_spills;
  uint32_t vgpr_spills;
  uint32_t lds_bytes; /* static part */
  uint32_t scratch_bytes_per_lane;
  int dynamic_stack;
  uint32_t max_work_group_size;         /* 0 if not said */
  uint32_t required_work_group_size[3]; /* zeros if not said */
  int work_group_processor_mode;        /* 1: WGP mode, 0: CU mode */
  uint64_t code_address;                /* of the first instruction, as linked */
  uint64_t code_bytes;                  /* 0 if not known */
  const char* readable_name; /* as the source has it: "void scale<float>(float*)" for "_Z5scaleIfEvPT_" */
} lockstep_kernel_info;
LOCKSTEP_API lockstep_status lockstep_kernel_get_info(const lockstep_kernel* kernel,
                                                      lockstep_kernel_info* out);

/* Waves that a SIMD of the device model (null: the default one) can hold at once, given work-groups of
 * `work_group_size` work-items with `dynamic_lds_bytes` beside the kernel's own. 0: not even one work-group
 * fits. */
LOCKSTEP_API lockstep_status lockstep_kernel_occupancy(const lockstep_kernel* kernel, const char* device,
                                                       uint32_t work_group_size, uint32_t dynamic_lds_bytes,
                                                       uint32_t* out_waves_per_simd);

typedef enum lockstep_argument_kind {
  LOCKSTEP_ARGUMENT_VALUE = 0,  /* scalar, vector or structure */
  LOCKSTEP_ARGUMENT_BUFFER = 1, /* address of memory */
  LOCKSTEP_ARGUMENT_LOCAL = 2,  /* a size: dynamic LDS of an OpenCL __local pointer */
  LOCKSTEP_ARGUMENT_OTHER = 3   /* image, sampler, pipe, queue */
} lockstep_argument_kind;

typedef struct lockstep_argument_info {
  uint32_t struct_size;
  const char* name;      /* "" if not said (OpenCL: compile with -cl-kernel-arg-info) */
  const char* type_name; /* "float*"; "" if not said */
  lockstep_argument_kind kind;
  const char* kind_name;     /* as the code object has it: "global_buffer" */
  const char* address_space; /* "global"; "" if not said */
  const char* access;        /* "read_only"; "" if not said */
  uint32_t offset, size;
  int is_const, is_restrict, is_volatile;
} lockstep_argument_info;
LOCKSTEP_API lockstep_status lockstep_kernel_argument(const lockstep_kernel* kernel, uint32_t index,
                                                      lockstep_argument_info* out);

/* -----------------------------------------------------------------------------------------------------------
 * arguments */

typedef struct lockstep_arguments lockstep_arguments;

typedef enum lockstep_type {
  LOCKSTEP_I8,
  LOCKSTEP_U8,
  LOCKSTEP_I16,
  LOCKSTEP_U16,
  LOCKSTEP_I32,
  LOCKSTEP_U32,
  LOCKSTEP_I64,
  LOCKSTEP_U64,
  LOCKSTEP_F16, /* two bytes, IEEE binary16 */
  LOCKSTEP_F32,
  LOCKSTEP_F64
} lockstep_type;

/* The kernel must outlive the arguments. */
LOCKSTEP_API lockstep_status lockstep_arguments_create(const lockstep_kernel* kernel,
                                                       lockstep_arguments** out);
LOCKSTEP_API void lockstep_arguments_destroy(lockstep_arguments* arguments);
/* Index of the argument of that name. */
LOCKSTEP_API lockstep_status lockstep_arguments_find(const lockstep_arguments* arguments, const char* name,
                                                     uint32_t* out_index);
/* Any value by its bytes; `size` must be the argument's. */
LOCKSTEP_API lockstep_status lockstep_arguments_set(lockstep_arguments* arguments, uint32_t index,
                                                    const void* value, uint32_t size);
/* A scalar; checked against the argument's type where the code object names it. */
LOCKSTEP_API lockstep_status lockstep_arguments_set_scalar(lockstep_arguments* arguments, uint32_t index,
                                                           lockstep_type type, const void* value);
LOCKSTEP_API lockstep_status lockstep_arguments_set_buffer(lockstep_arguments* arguments, uint32_t index,
                                                           uint64_t address);
/* Dynamic LDS of a __local pointer argument. */
LOCKSTEP_API lockstep_status lockstep_arguments_set_local(lockstep_arguments* arguments, uint32_t index,
                                                          uint32_t bytes);
/* Bytes of the argument segment, for kernels without metadata or with a layout of their own. Marks everything
 * as set; hidden arguments that metadata lists are still filled in at the dispatch. */
LOCKSTEP_API lockstep_status lockstep_arguments_set_raw(lockstep_arguments* arguments, const void* bytes,
                                                        uint32_t size);

/* ------------------------------------------------------------------------------------------------------------
 * dispatch */

typedef struct lockstep_progress {
  uint64_t work_groups_done, work_groups_total;
  uint64_t wave_instructions;
  double seconds;
} lockstep_progress;

/* What happens when a program breaks a rule of the guide that changes no result here, but may on a card. */
typedef enum lockstep_rules {
  LOCKSTEP_RULES_IGNORE = 0,
  LOCKSTEP_RULES_WARN = 1, /* it is written down: see lockstep_device_broken_rule() */
  LOCKSTEP_RULES_FAULT = 2 /* it ends the dispatch */
} lockstep_rules;

/* When the result of a memory instruction reaches registers and memory: within what the dependency counters
 * and the guide leave open, at any time. A program that forgets a wait goes wrong. */
typedef enum lockstep_results {
  LOCKSTEP_RESULTS_NOW = 0,
  LOCKSTEP_RESULTS_LATE = 1,  /* as late as the counters allow, in the most unfavourable order */
  LOCKSTEP_RESULTS_RANDOM = 2 /* at random, by options.results_seed */
} lockstep_results;

/* Whether the caches near the compute units show. */
typedef enum lockstep_caches {
  LOCKSTEP_CACHES_COHERENT = 0,
  /* They keep what they have read until it is invalidated: a missing invalidate gives stale values. */
  LOCKSTEP_CACHES_INCOHERENT = 1
} lockstep_caches;

/* Which work-groups start first, and which waves of a work-group have their turns first. Nothing promises an
 * order: what changes with it is a race. Each engine follows it; random turns are the precise engine's. */
typedef enum lockstep_order {
  LOCKSTEP_ORDER_FORWARD = 0,  /* by their numbers */
  LOCKSTEP_ORDER_BACKWARD = 1, /* the last one first, among as many groups as the device holds at once */
  LOCKSTEP_ORDER_RANDOM = 2    /* likewise at random, in turns of random length, by options.order_seed */
} lockstep_order;

/* The exceptions of MODE.EXCP_EN and TRAPSTS.EXCP (guide 3.4.9). */
typedef enum lockstep_exception_flag {
  LOCKSTEP_EXCEPTION_INVALID = 1,
  LOCKSTEP_EXCEPTION_INPUT_DENORMAL = 2,
  LOCKSTEP_EXCEPTION_DIVIDE_BY_ZERO = 4,
  LOCKSTEP_EXCEPTION_OVERFLOW = 8,
  LOCKSTEP_EXCEPTION_UNDERFLOW = 16,
  LOCKSTEP_EXCEPTION_INEXACT = 32,
  LOCKSTEP_EXCEPTION_INTEGER_DIVIDE_BY_ZERO = 64,
  LOCKSTEP_EXCEPTION_ADDRESS_WATCH = 128 /* of any of the four watches */
} lockstep_exception_flag;

/* Memory of interest: vector and scalar accesses to it are exceptions. */
typedef struct lockstep_address_watch {
  uint64_t address;
  uint64_t bytes; /* 0: the watch is not in use */
  lockstep_access access;
} lockstep_address_watch;

/* A request of the host that reaches each wave when it has executed so many instructions, those of the trap
 * handler included: the same in every run. */
typedef struct lockstep_trap_request {
  uint64_t instructions;
  int save_context; /* not 0: TRAPSTS.SAVECTX; else a host trap with the id */
  uint32_t trap_id; /* 0 to 255 */
} lockstep_trap_request;

/* Requests that the host makes while waves run: they reach all waves that are resident then. */
typedef struct lockstep_host_traps lockstep_host_traps;
LOCKSTEP_API lockstep_status lockstep_host_traps_create(lockstep_host_traps** out);
/* Not before the end of the dispatches and queues that name it. */
LOCKSTEP_API void lockstep_host_traps_destroy(lockstep_host_traps* traps);
/* From any thread. `save_context` not 0: TRAPSTS.SAVECTX; else a host trap with the id (0 to 255). */
LOCKSTEP_API lockstep_status lockstep_host_traps_request(lockstep_host_traps* traps, int save_context,
                                                         uint32_t trap_id);

/* When waves enter their trap handler beside illegal instructions, memory violations and s_trap. All but
 * `watches` and `skip_without_handler` need a trap handler. */
typedef struct lockstep_trap_options {
  uint32_t struct_size;
  int on_wave_start;                     /* not 0: before a wave's first instruction */
  int on_wave_end;                       /* at its s_endpgm: MODE.EXCP_EN bit 9 */
  int after_instruction;                 /* MODE.TRAP_AFTER_INST from the start */
  uint32_t exception_enable;             /* of lockstep_exception_flag: MODE.EXCP_EN from the start */
  int disabled;                          /* STATUS.TRAP_EN is 0 in spite of the handler */
  int skip_without_handler;              /* s_trap without a handler does nothing, instead of a report */
  lockstep_address_watch watches[4];     /* in options.exceptions and TRAPSTS; a trap by exception_enable */
  const lockstep_trap_request* requests; /* may be null if there are none */
  uint32_t request_count;
  lockstep_host_traps* host; /* may be null; one for each dispatch or queue, or shared */
} lockstep_trap_options;

LOCKSTEP_API void lockstep_trap_options_init_sized(lockstep_trap_options* options, size_t struct_size);
static inline void lockstep_trap_options_init(lockstep_trap_options* options) {
  lockstep_trap_options_init_sized(options, sizeof *options);
}

/* The host's hands on waves that run; see lockstep_wave_control_create(). */
typedef struct lockstep_wave_control lockstep_wave_control;

typedef struct lockstep_dispatch_options {
  uint32_t struct_size;
  uint32_t grid[3];           /* work-items; need not be a multiple of block (1, 1, 1) */
  uint32_t block[3];          /* work-items of a work-group (1, 1, 1) */
  uint64_t global_offset[3];  /* OpenCL's global work offset */
  uint32_t dynamic_lds_bytes; /* beside the kernel's own and those of __local arguments */
  /* A dispatch that needs more wave-instructions than this counts as hung, exactly and on any number of
   * threads; its waves stop at their next taken branch. 0: no limit. */
  uint64_t instruction_limit;
  uint32_t wave_limit; /* waves that a SIMD may hold at once; 0: as many as the hardware holds */
  /* Called about every progress_interval seconds (at least 0.1; 0: also before the kernel is translated, with
   * nothing done), from any of the threads that translate or run the dispatch but never from two at a time;
   * returns not 0 to stop. May be null. */
  int (*progress)(void* user, const lockstep_progress* progress);
  void* progress_user;
  double progress_interval;
  /* Not 0: watch every instruction and find out which results were not exact and where they went; see
   * lockstep_device_finding(). The interpreter runs the dispatch then, on one thread. It goes together with
   * everything below. */
  int fidelity;
  /* The machine around the instructions. Where one of these differs from its default, the interpreter runs
   * the dispatch, one instruction at a time. */
  lockstep_rules rules;
  /* Not 0: collect the exceptions that instructions raise; see lockstep_device_exception(). A program that
   * reads TRAPSTS or enables exceptions sees them anyway. */
  int exceptions;
  /* Its first kernel is the trap handler, which waves enter as STATUS.TRAP_EN = 1 lets them (TBA); null:
   * there is none, faults end the dispatch, and s_trap 2 is reported. Must be of the kernel's wave size. */
  const lockstep_code_object* trap_handler;
  uint64_t trap_memory; /* TMA: what the handler gets from s_sendmsg_rtn, usually the address of a buffer */
  lockstep_results results;
  lockstep_caches caches;
  uint64_t results_seed; /* with LOCKSTEP_RESULTS_RANDOM: the same seed on one thread gives the same run */
  const lockstep_trap_options* traps; /* may be null */
  /* Commands the waves from other threads; may be null. Must outlive the dispatch. */
  lockstep_wave_control* wave_control;
  /* Takes what the kernel prints: `stream` is 1 for printf and 2 for what goes to standard error, `text` has
   * no 0 at its end. HIP's printf comes while the kernel runs, OpenCL's when it has ended or faulted; from
   * any thread, never from two at a time. Null: the process's own standard output and error. */
  void (*output)(void* user, const char* text, uint64_t bytes, int stream);
  void* output_user;
  /* Names of checkers, with commas between them, that follow the waves; null: none.
   * barriers       barriers that not all work-items of a group come to
   * legality       broken rules of the instruction set, as options.rules at LOCKSTEP_RULES_WARN
   * memory         accesses to what the kernel was not given, though the machine lets them pass
   * races          accesses of two waves, or two lanes, that nothing puts in an order
   * uninitialised  values that were never written and reach an address, a branch, EXEC or memory
   * waits          registers that are used before the program has waited for them, and stores that another
   *                wave uses behind a barrier that does not wait for them
   * all            all of these
   * cost           what takes time on a card without being wrong: bank conflicts of LDS, cache lines, private
   *                memory, lanes that are off; "all,cost" is everything
   * See lockstep_device_check_finding(). */
  const char* checks;
  /* What each byte of the registers, LDS and scratch that nothing gives a value holds, 0 by default. On a
   * card it is what was there before: results must not depend on it. */
  uint8_t initial_byte;
  /* Plug-ins that follow the waves (lockstep_plugin.h), each as FILE or FILE:ARGUMENTS. They run as the
   * calling process, with all its rights. What they find is beside what the checkers do:
   * lockstep_device_check_finding(). A file that cannot be loaded, or a plug-in that does not begin, is
   * LOCKSTEP_BAD_INPUT. May be null if there are none. */
  const char* const* plugins;
  uint32_t plugin_count;
  lockstep_order order;
  uint64_t order_seed; /* with LOCKSTEP_ORDER_RANDOM: the same seed on one thread gives the same run */
} lockstep_dispatch_options;

LOCKSTEP_API void lockstep_dispatch_options_init_sized(lockstep_dispatch_options* options,
                                                       size_t struct_size);
static inline void lockstep_dispatch_options_init(lockstep_dispatch_options* options) {
  lockstep_dispatch_options_init_sized(options, sizeof *options);
}

/* Where the translation of a kernel comes from. */
typedef enum lockstep_translation_origin {
  LOCKSTEP_TRANSLATION_NONE = 0,   /* there is none: the interpreter ran the kernel */
  LOCKSTEP_TRANSLATION_MADE = 1,   /* during this dispatch */
  LOCKSTEP_TRANSLATION_STORED = 2, /* an earlier process left it on disk */
  LOCKSTEP_TRANSLATION_REUSED = 3  /* an earlier dispatch of this process */
} lockstep_translation_origin;

typedef struct lockstep_statistics {
  uint32_t struct_size;
  uint64_t work_groups, work_groups_done;
  uint64_t waves;
  uint64_t wave_instructions;
  double seconds;
  uint32_t threads;
  /* What the user should know of how it ran, such as why the translator left the kernel to the interpreter;
     empty if there is nothing. Valid until the device's next dispatch. */
  const char* note;
  /* What the translator had in it; zeros if nothing. How waves left its code says lockstep_device_exit(). */
  uint64_t translated_wave_instructions; /* of wave_instructions; the interpreter executed the others */
  double translation_seconds;       /* of the host's processor, to translate the kernel or to load it, when
                                       that was done */
  uint64_t translated_instructions; /* of the kernel's code */
  uint64_t host_code_bytes;         /* that they became */
  lockstep_translation_origin translation_origin;
} lockstep_statistics;

/* Runs the kernel to its end. LOCKSTEP_FAULT and LOCKSTEP_CANCELLED fill `out` too (it may be null). */
LOCKSTEP_API lockstep_status lockstep_dispatch(lockstep_device* device, const lockstep_kernel* kernel,
                                               const lockstep_arguments* arguments,
                                               const lockstep_dispatch_options* options,
                                               lockstep_statistics* out);

/* How waves left translated code before their end. */
typedef enum lockstep_exit_reason {
  LOCKSTEP_EXIT_BARRIER = 1, /* to wait for the other waves */
  LOCKSTEP_EXIT_BUDGET = 2,  /* it was another wave's turn */
  LOCKSTEP_EXIT_PIECE = 3,   /* the code goes on in another piece: long kernels are translated in several */
  LOCKSTEP_EXIT_STOP = 4,    /* at an instruction that the interpreter executed in the middle, by a fault */
  LOCKSTEP_EXIT_ACCESS =
      5, /* to the interpreter: an access may fault, or is where translated code does not reach */
  LOCKSTEP_EXIT_DOUBT = 6,   /* likewise: NaNs and other results that hosts compute in another way */
  LOCKSTEP_EXIT_OUTSIDE = 7, /* likewise: code that was not translated */
  LOCKSTEP_EXIT_STEP = 8,    /* for one instruction, which the interpreter executes */
  LOCKSTEP_EXIT_CALL = 9,    /* not left: the interpreter executed one instruction in the middle */
  LOCKSTEP_EXIT_JUMP = 10    /* for a jump to an address that nobody could know before */
} lockstep_exit_reason;

typedef struct lockstep_exit {
  uint32_t struct_size;
  lockstep_exit_reason reason;
  const char* name;        /* of the reason: "barrier", "step" */
  const char* instruction; /* of a step or a call its mnemonic; else empty */
  uint64_t times;
} lockstep_exit;
/* Of the device's last dispatch, by reason. If others run the same kernel at the same time, theirs are among
 * them. The strings live until its next dispatch. */
LOCKSTEP_API uint32_t lockstep_device_exit_count(const lockstep_device* device);
LOCKSTEP_API lockstep_status lockstep_device_exit(const lockstep_device* device, uint32_t index,
                                                  lockstep_exit* out);

typedef enum lockstep_fidelity {
  LOCKSTEP_FIDELITY_EXACT = 0,      /* captured from a card, or to the letter of AMD's guide */
  LOCKSTEP_FIDELITY_BOUNDED = 1,    /* within `ulp` units in the last place */
  LOCKSTEP_FIDELITY_OPEN = 2,       /* guide and captures are silent: `note` says what was chosen */
  LOCKSTEP_FIDELITY_UNSUPPORTED = 3 /* faults when executed: `note` says why */
} lockstep_fidelity;

typedef enum lockstep_fault_kind {
  LOCKSTEP_FAULT_NONE = 0,
  LOCKSTEP_FAULT_MEMORY_VIOLATION = 1,
  LOCKSTEP_FAULT_MISALIGNED = 2,
  LOCKSTEP_FAULT_ILLEGAL_INSTRUCTION = 3,
  LOCKSTEP_FAULT_UNSUPPORTED_INSTRUCTION = 4,
  LOCKSTEP_FAULT_BAD_PC = 5,
  LOCKSTEP_FAULT_TRAP = 6,
  LOCKSTEP_FAULT_HANG = 7,
  LOCKSTEP_FAULT_BROKEN_RULE = 8, /* a programming rule of the guide, where these are checked */
  LOCKSTEP_FAULT_REFUSED = 9,     /* the machine refused an instruction (NACK), which halts the wave */
  LOCKSTEP_FAULT_DEADLOCK = 10    /* all waves wait for each other */
} lockstep_fault_kind;

typedef struct lockstep_fault {
  lockstep_fault_kind kind;
  const char* kernel;
  uint32_t work_group[3];
  uint32_t wave;    /* number in its work-group */
  int32_t lane;     /* -1: the whole wave */
  uint64_t pc;      /* as loaded */
  uint64_t offset;  /* of the PC from the kernel's first instruction */
  uint64_t address; /* memory faults: what was accessed */
  uint32_t bytes;
  const char* instruction; /* its text; "" if it could not be read */
  const char* function;    /* "" if not known */
  const char* file;        /* source; "" if not known */
  uint32_t line;           /* 0 if not known */
  const char* message;     /* what happened and how to mend it */
  const char* text;        /* all of the above as a report of several lines */
} lockstep_fault;
/* The fault that ended the device's last dispatch, or null. Valid until its next dispatch. */
LOCKSTEP_API const lockstep_fault* lockstep_device_fault(const lockstep_device* device);

/* Where an instruction stands. */
typedef struct lockstep_code_location {
  uint64_t pc;             /* as loaded */
  uint64_t offset;         /* from the kernel's first instruction */
  const char* instruction; /* its text */
  const char* function;    /* "" if not known */
  const char* file;        /* source; "" if not known */
  uint32_t line;           /* 0 if not known */
} lockstep_code_location;

typedef enum lockstep_use {
  LOCKSTEP_USE_ADDRESS = 0, /* of a memory access */
  LOCKSTEP_USE_BRANCH = 1,  /* a condition, an EXEC mask, a branch target */
  LOCKSTEP_USE_MEMORY = 2   /* stored to memory that outlives the dispatch */
} lockstep_use;

/* A kind of instruction, or a form such as DPP with FETCH_INACTIVE, that the dispatch executed and that is
 * not exact. What was computed from its results is followed through registers, LDS and memory (whole VGPRs,
 * lines of 64 bytes; never forgotten in memory), not through branches alone. */
typedef struct lockstep_finding {
  uint32_t struct_size;
  const char* name;
  lockstep_fidelity fidelity;
  int corner_cases_only; /* not 0: only the operands or states that `note` names are in doubt */
  double ulp;
  const char* note;
  uint64_t executions;            /* wave-instructions */
  lockstep_code_location first;   /* the one executed first */
  uint64_t uses[3];               /* by lockstep_use: wave-instructions that used such a result */
  lockstep_code_location used[3]; /* the one executed first, if there was any */
} lockstep_finding;
/* Of the device's last dispatch, if it had options.fidelity; ordinary results in doubt before corner cases.
 * The strings live until its next dispatch. */
LOCKSTEP_API uint32_t lockstep_device_finding_count(const lockstep_device* device);
LOCKSTEP_API lockstep_status lockstep_device_finding(const lockstep_device* device, uint32_t index,
                                                     lockstep_finding* out);

/* A programming rule that the dispatch broke at an instruction. */
typedef struct lockstep_broken_rule {
  uint32_t struct_size;
  const char* rule; /* what was broken, where the guide says it, how to mend it */
  lockstep_code_location where;
  uint64_t executions;    /* wave-instructions that broke it */
  uint32_t work_group[3]; /* of the wave that broke it first, as far as threads allow to say so */
  uint32_t wave;          /* its number in the work-group */
} lockstep_broken_rule;
/* Of the device's last dispatch, if it had options.rules at LOCKSTEP_RULES_WARN; in order of address. The
 * strings live until its next dispatch. */
LOCKSTEP_API uint32_t lockstep_device_broken_rule_count(const lockstep_device* device);
LOCKSTEP_API lockstep_status lockstep_device_broken_rule(const lockstep_device* device, uint32_t index,
                                                         lockstep_broken_rule* out);

typedef enum lockstep_severity {
  LOCKSTEP_SEVERITY_NOTE,    /* may be meant */
  LOCKSTEP_SEVERITY_WARNING, /* against the rules, though cards may run it */
  LOCKSTEP_SEVERITY_ERROR
} lockstep_severity;

/* What a checker of options.checks, or a plug-in, found at an instruction. */
typedef struct lockstep_check_finding {
  uint32_t struct_size;
  const char* checker;
  const char* rule;   /* what is wrong, and how to mend it */
  const char* detail; /* what was there the first time: a buffer's name, a distance */
  lockstep_code_location where;
  uint64_t executions;    /* wave-instructions that did it */
  uint32_t work_group[3]; /* of the wave that did it first, as far as threads allow to say so */
  uint32_t wave;          /* its number in the work-group */
  uint64_t lanes;         /* those that did it then, a bit for each */
  uint64_t address;       /* of the first of them; in scratch, LDS and GDS the offset */
  uint32_t bytes;         /* 0: no memory is concerned */
  lockstep_severity severity;
  const char* remedy;           /* what mends it; empty where `rule` says it */
  lockstep_code_location other; /* the instruction that has part in it, such as the first of two that race;
                                   its pc is 0 if there is none */
  /* The functions that `where` and `other` were inlined into, the innermost first: function, file and line of
   * the place; no pc. Of code with debug information. */
  const lockstep_code_location* callers;
  uint32_t caller_count;
  const lockstep_code_location* other_callers;
  uint32_t other_caller_count;
} lockstep_check_finding;
/* Of the device's last dispatch; in order of address. The strings live until its next dispatch. */
LOCKSTEP_API uint32_t lockstep_device_check_finding_count(const lockstep_device* device);
LOCKSTEP_API lockstep_status lockstep_device_check_finding(const lockstep_device* device, uint32_t index,
                                                           lockstep_check_finding* out);

/* What can be proved of code without running it: waits that are missing on some path, and broken rules of the
 * instruction set. Kernels, and the functions that they call by name or that have symbols. */
typedef struct lockstep_code_check lockstep_code_check;
/* `kernel` (may be null) restricts it to one kernel and what that calls by name; `checks` names checkers as
 * in lockstep_dispatch_options: of waits and legality, null for both, others are LOCKSTEP_INVALID_ARGUMENT.
 */
LOCKSTEP_API lockstep_status lockstep_code_object_check(const lockstep_code_object* object,
                                                        const char* kernel, const char* checks,
                                                        lockstep_code_check** out);
LOCKSTEP_API void lockstep_code_check_destroy(lockstep_code_check* check);
/* By code object of a file that has several, then by address, which is as linked: where.pc, and other.pc. No
 * wave has done it: `executions`, the work-group and the lanes are 0. The strings live as long as `check`. */
LOCKSTEP_API uint32_t lockstep_code_check_finding_count(const lockstep_code_check* check);
LOCKSTEP_API lockstep_status lockstep_code_check_finding(const lockstep_code_check* check, uint32_t index,
                                                         lockstep_check_finding* out);

/* An exception that an instruction raised: "inexact", "address watch 0" and so on (guide 3.4.9). */
typedef struct lockstep_exception {
  uint32_t struct_size;
  const char* name;
  lockstep_code_location where;
  uint64_t executions;    /* wave-instructions that raised it */
  uint32_t work_group[3]; /* of the wave that raised it first, as far as threads allow to say so */
  uint32_t wave;          /* its number in the work-group */
} lockstep_exception;
/* Of the device's last dispatch, if it had options.exceptions; in order of address. The strings live until
 * its next dispatch. */
LOCKSTEP_API uint32_t lockstep_device_exception_count(const lockstep_device* device);
LOCKSTEP_API lockstep_status lockstep_device_exception(const lockstep_device* device, uint32_t index,
                                                       lockstep_exception* out);

/* Loads the code object now rather than at its first dispatch, for example to write to its variables. */
LOCKSTEP_API lockstep_status lockstep_device_load(lockstep_device* device,
                                                  const lockstep_code_object* object);
/* Address and size of a variable or function of a loaded code object. */
LOCKSTEP_API lockstep_status lockstep_device_symbol(lockstep_device* device,
                                                    const lockstep_code_object* object, const char* name,
                                                    uint64_t* out_address, uint64_t* out_size);

/* ---------------------------------------------------------------------------------------------------------
 * wave control: other threads look at the waves of a dispatch while lockstep_dispatch runs it, halt, resume,
 * step and kill them, and read and write the registers of those that stand still (guide 3.4.1, 5.2.1). Such a
 * dispatch runs one instruction at a time. All these functions may be called from any thread at any time, but
 * not from callbacks of the dispatch. Commands return at once; a wave obeys at its next instruction boundary,
 * and lockstep_wave_control_wait() tells. A wave that has ended is LOCKSTEP_NOT_FOUND. */

typedef struct lockstep_wave_control_options {
  uint32_t struct_size;
  int start_halted;           /* not 0: waves halt before their first instruction */
  int condition_debug_user;   /* STATUS.COND_DBG_USER at launch, for s_cbranch_cdbguser and its like */
  int condition_debug_system; /* STATUS.COND_DBG_SYS */
  /* Not 0: a wave that faults (memory violation, illegal instruction, s_trap, ...), if no trap handler takes
   * the fault, halts fatally (STATUS.FATAL_HALT) at the instruction and can be looked at. The dispatch ends
   * with the fault when the wave is resumed, stepped or killed. A write of its PC, be it of the old value,
   * takes the fault back: then the wave goes on there. */
  int halt_on_fault;
} lockstep_wave_control_options;

LOCKSTEP_API void lockstep_wave_control_options_init_sized(lockstep_wave_control_options* options,
                                                           size_t struct_size);
static inline void lockstep_wave_control_options_init(lockstep_wave_control_options* options) {
  lockstep_wave_control_options_init_sized(options, sizeof *options);
}
/* For any number of dispatches, one after the other or on several devices at once. `options` may be null. */
LOCKSTEP_API lockstep_status lockstep_wave_control_create(const lockstep_wave_control_options* options,
                                                          lockstep_wave_control** out);
/* Not before the end of the dispatches that name it, nor while another thread uses it. */
LOCKSTEP_API void lockstep_wave_control_destroy(lockstep_wave_control* control);
/* Other options, for waves that are launched from now on. */
LOCKSTEP_API lockstep_status lockstep_wave_control_configure(lockstep_wave_control* control,
                                                             const lockstep_wave_control_options* options);

typedef enum lockstep_wave_state {
  LOCKSTEP_WAVE_RUNNING = 0, /* or it will in its turn */
  LOCKSTEP_WAVE_HALTED = 1,
  LOCKSTEP_WAVE_AT_BARRIER = 2,
  LOCKSTEP_WAVE_SLEEPING = 3,
  LOCKSTEP_WAVE_BLOCKED = 4, /* in global wave sync or an ordered count */
  LOCKSTEP_WAVE_ENDED = 5    /* events only: it was killed, ended before it had done its steps, or its
                                dispatch ended while it was halted */
} lockstep_wave_state;

typedef enum lockstep_halt_cause {
  LOCKSTEP_HALT_NONE = 0, /* it is not halted */
  LOCKSTEP_HALT_COMMAND = 1,
  LOCKSTEP_HALT_START = 2,       /* options.start_halted */
  LOCKSTEP_HALT_STEP = 3,        /* its steps are done */
  LOCKSTEP_HALT_SETHALT = 4,     /* s_sethalt, or a trap handler's write of STATUS */
  LOCKSTEP_HALT_SENDMSGHALT = 5, /* s_sendmsghalt */
  LOCKSTEP_HALT_FATAL = 6,       /* STATUS.FATAL_HALT */
  LOCKSTEP_HALT_REFUSED = 7,     /* the machine refused its instruction (NACK) and may take it when resumed */
  LOCKSTEP_HALT_FAULT = 8        /* options.halt_on_fault */
} lockstep_halt_cause;

typedef struct lockstep_wave_info {
  uint32_t struct_size;
  uint64_t id; /* for the functions below; no other wave of this control ever has it */
  uint32_t work_group[3];
  uint32_t wave; /* its number in the work-group */
  uint32_t wave_size;
  lockstep_wave_state state;
  uint64_t pc; /* of the next instruction; of waves that run, a moment ago */
  lockstep_halt_cause cause;
  /* With LOCKSTEP_HALT_REFUSED and LOCKSTEP_HALT_FAULT what happened; of a wave that is blocked, or was when
   * it was halted, what it waits for; else "". */
  const char* message;
  lockstep_fault_kind fault; /* with LOCKSTEP_HALT_FAULT */
  uint64_t fault_pc;         /* of the instruction that faulted; with results that land late not `pc` */
} lockstep_wave_info;

/* Calls `wave` for each resident wave, in the order of their launch; `info` lives until it returns. */
LOCKSTEP_API lockstep_status lockstep_wave_control_list(
    lockstep_wave_control* control, void (*wave)(void* user, const lockstep_wave_info* info), void* user);
/* Sleeps until a wave has halted, or one that was stepped, killed or halted has ended, and says which. Each
 * is told once, in order; a halt that is over before anybody asked is not. LOCKSTEP_CANCELLED: the time was
 * over, or lockstep_wave_control_interrupt() was called; UINT64_MAX waits without end. `out->message` lives
 * until the thread's next call. */
LOCKSTEP_API lockstep_status lockstep_wave_control_wait(lockstep_wave_control* control,
                                                        uint64_t timeout_nanoseconds,
                                                        lockstep_wave_info* out);
/* Ends one wait, the present or the next; for example when the dispatch is over. */
LOCKSTEP_API lockstep_status lockstep_wave_control_interrupt(lockstep_wave_control* control);

/* In place of a wave's id: all that are resident now. */
#define LOCKSTEP_ALL_WAVES 0

/* Sets STATUS.HALT. In its trap handler the wave goes on until it leaves it. */
LOCKSTEP_API lockstep_status lockstep_wave_halt(lockstep_wave_control* control, uint64_t wave);
/* Clears HALT and FATAL_HALT, whoever set them. */
LOCKSTEP_API lockstep_status lockstep_wave_resume(lockstep_wave_control* control, uint64_t wave);
/* Lets one halted wave execute so many instructions (at least 1; those of a trap handler do not count). */
LOCKSTEP_API lockstep_status lockstep_wave_step(lockstep_wave_control* control, uint64_t wave,
                                                uint64_t instructions);
/* The wave ends as s_endpgm ends it: nobody at a barrier waits for it any more. One with a fault takes the
 * dispatch with it. */
LOCKSTEP_API lockstep_status lockstep_wave_kill(lockstep_wave_control* control, uint64_t wave);
/* COND_DBG_USER and COND_DBG_SYS: 0, 1, or -1 to leave one as it is. */
LOCKSTEP_API lockstep_status lockstep_wave_set_conditions(lockstep_wave_control* control, uint64_t wave,
                                                          int user, int system);

typedef enum lockstep_register {
  LOCKSTEP_REGISTER_PC = 0,
  LOCKSTEP_REGISTER_SGPR = 1, /* `index` 0 to 105 */
  LOCKSTEP_REGISTER_VGPR = 2, /* `index` and `lane` */
  LOCKSTEP_REGISTER_VCC = 3,  /* 64 bits; wave32 has its mask in the lower half */
  LOCKSTEP_REGISTER_M0 = 4,
  LOCKSTEP_REGISTER_EXEC = 5,
  LOCKSTEP_REGISTER_SCC = 6,
  LOCKSTEP_REGISTER_STATUS = 7, /* written: what a trap handler may write, but for HALT and priorities */
  LOCKSTEP_REGISTER_MODE = 8,
  LOCKSTEP_REGISTER_TRAPSTS = 9,
  LOCKSTEP_REGISTER_TTMP = 10 /* `index` 0 to 15 */
} lockstep_register;

/* Of a halted wave; what it had under way has landed. `index` and `lane` are 0 where a register has none. */
LOCKSTEP_API lockstep_status lockstep_wave_read(lockstep_wave_control* control, uint64_t wave,
                                                lockstep_register kind, uint32_t index, uint32_t lane,
                                                uint64_t* out);
LOCKSTEP_API lockstep_status lockstep_wave_write(lockstep_wave_control* control, uint64_t wave,
                                                 lockstep_register kind, uint32_t index, uint32_t lane,
                                                 uint64_t value);

/* -------------------------------------------------------------------------------------------------------------
 * dumps: dispatches of ROCm programs that `lockstep exec --dump` has written to files (docs/dumps.md) */

typedef struct lockstep_dump lockstep_dump;

/* Not 0 if the file begins as dumps do. */
LOCKSTEP_API int lockstep_dump_is_recognized(const char* path);
LOCKSTEP_API lockstep_status lockstep_dump_open(const char* path, lockstep_dump** out);
/* Before the device that has run it. */
LOCKSTEP_API void lockstep_dump_destroy(lockstep_dump* dump);

/* The strings live as long as the dump. */
typedef struct lockstep_dump_info {
  uint32_t struct_size;
  const char* kernel;        /* "" if it is in no code object that the runtime has told of */
  const char* readable_name; /* "(code at 0x...)" then */
  const char* device;        /* the model */
  uint32_t grid[3];          /* work-items */
  uint32_t block[3];
  uint32_t wave_size;
  uint32_t range_count;  /* see lockstep_dump_range() */
  uint64_t memory_bytes; /* of pages that do not hold zeros */
  int has_end;           /* 0: nobody knows what became of it; the rest is 0 then */
  uint64_t wave_instructions;
  const char* fault; /* "" if there was none */
} lockstep_dump_info;
LOCKSTEP_API lockstep_status lockstep_dump_get_info(const lockstep_dump* dump, lockstep_dump_info* out);

/* Memory that the dispatch could reach. */
typedef struct lockstep_dump_range_info {
  uint32_t struct_size;
  uint64_t address, bytes;
  int readable, writable, executable;
  const char* name; /* "device memory" */
} lockstep_dump_range_info;
LOCKSTEP_API lockstep_status lockstep_dump_range(const lockstep_dump* dump, uint32_t index,
                                                 lockstep_dump_range_info* out);

/* Runs it again, in memory as it was. The options' grid, block, offset and LDS must be left as they are:
 * these are the dump's. Everything else is as with lockstep_dispatch, what it leaves with the device, too.
 * Its memory stays on the device until the dump is run again or destroyed. LOCKSTEP_ADDRESS_TAKEN: another
 * process may be able to. */
LOCKSTEP_API lockstep_status lockstep_dump_run(lockstep_device* device, lockstep_dump* dump,
                                               const lockstep_dispatch_options* options,
                                               lockstep_statistics* out);

/* The memory that the last run has left, and that of the program when its dispatch had ended. */
typedef struct lockstep_dump_comparison {
  uint32_t struct_size;
  uint64_t different_bytes; /* neither what they were before nor what they became in the program */
  /* Became something else in the program, and stayed here: what the host, copies and other dispatches wrote
   * meanwhile; or what the run failed to. */
  uint64_t left_bytes;
  uint32_t difference_count; /* of runs of both that can be asked for: the first */
} lockstep_dump_comparison;
LOCKSTEP_API lockstep_status lockstep_dump_compare(lockstep_dump* dump, lockstep_dump_comparison* out);

typedef struct lockstep_dump_difference_info {
  uint32_t struct_size;
  uint64_t address, bytes;
  const char* range;             /* its name */
  int is_left;                   /* not 0: one of left_bytes */
  const uint8_t *wanted, *found; /* `shown` bytes of both */
  uint32_t shown;
} lockstep_dump_difference_info;
/* Valid until the next comparison. */
LOCKSTEP_API lockstep_status lockstep_dump_difference(const lockstep_dump* dump, uint32_t index,
                                                      lockstep_dump_difference_info* out);

/* ---------------------------------------------------------------------------------------------------------
 * disassembly */

typedef struct lockstep_listing_line {
  const char* function; /* not null at the first instruction of a function: its name */
  int is_kernel;        /* with `function`: it is a kernel's entry */
  uint64_t address;     /* as linked */
  const uint8_t* bytes;
  uint32_t size;
  const char* text;    /* instruction; "" if the bytes are none */
  const char* problem; /* why not; "" if they are */
  const char* file;    /* source; "" if not known */
  uint32_t line;       /* source line, 0 if not known */
} lockstep_listing_line;

/* Calls `line` for each instruction of the executable parts; its return value not 0 ends the listing.
 * `kernel` (may be null) restricts it to one kernel. */
LOCKSTEP_API lockstep_status
lockstep_code_object_disassemble(const lockstep_code_object* object, const char* kernel,
                                 int (*line)(void* user, const lockstep_listing_line* line), void* user);

/* Reads one instruction from the bytes. Writes its text (0-terminated, cut to `capacity`) and returns the
 * number of bytes it took; or 0 if the bytes are no instruction, with the reason in lockstep_last_error(). */
LOCKSTEP_API uint32_t lockstep_disassemble(const void* bytes, uint64_t size, uint32_t wave_size, char* text,
                                           uint64_t capacity);

/* --------------------------------------------------------------------------------------------------------------
 * queues and signals: commands as a driver gives them. Kernels are named by the guest address of their
 * descriptor, packets have the layouts of HSA (AQL), of the command processor (PM4) or of the copy engine
 * (SDMA 6), and a device works on any number of queues at the same time. These functions may be called from
 * several threads, beside each other and beside lockstep_dispatch. lockstep_device_kernel_object,
 * lockstep_device_dispatch_packet and lockstep_queue_create with a trap handler, which load code, keep to the
 * rule of one thread a device. Queues and signals end with their device.
 */

typedef struct lockstep_queue lockstep_queue;
/* The guest address of an amd_signal_t, as AQL packets name it; 0 is no signal. */
typedef uint64_t lockstep_signal;

typedef enum lockstep_queue_kind {
  LOCKSTEP_QUEUE_AQL = 0, /* packets of 64 bytes */
  LOCKSTEP_QUEUE_PM4 = 1, /* dwords, compute */
  LOCKSTEP_QUEUE_SDMA = 2 /* dwords, copy engine */
} lockstep_queue_kind;

typedef enum lockstep_queue_error_kind {
  LOCKSTEP_QUEUE_INVALID_PACKET = 0,
  LOCKSTEP_QUEUE_MEMORY_VIOLATION = 1, /* the command processor was sent to memory that is not mapped */
  LOCKSTEP_QUEUE_KERNEL_FAULT = 2,
  LOCKSTEP_QUEUE_NOT_RESIDENT = 3, /* a cooperative grid that does not fit the device */
  LOCKSTEP_QUEUE_UNSUPPORTED = 4
} lockstep_queue_error_kind;

/* The strings live until the callback returns. */
typedef struct lockstep_queue_error {
  lockstep_queue_error_kind kind;
  uint64_t queue;      /* lockstep_queue_info.id */
  uint64_t position;   /* AQL: packet index; PM4 and SDMA: dword index */
  const char* field;   /* of the packet; "" if it is about all of it */
  const char* message; /* queue, packet, what is wrong and how to mend it */
} lockstep_queue_error;

typedef struct lockstep_queue_options {
  uint32_t struct_size;
  lockstep_queue_kind kind;
  uint32_t size;    /* a power of two: AQL packets (0: 4096), or dwords (0: 16384) */
  int32_t priority; /* higher is first */
  int cooperative;  /* AQL: not 0: a grid that cannot be resident at once is refused */
  /* Called once when an error makes the queue inactive, from a thread of the device; may be null. It must not
   * destroy the queue. */
  void (*error)(void* user, const lockstep_queue_error* error);
  void* error_user;
  /* AQL and PM4: of all dispatches, as in lockstep_dispatch_options; exceptions: see
   * lockstep_queue_exception(). A packet whose kernel has another wave size than the handler is refused. */
  int exceptions;
  const lockstep_code_object* trap_handler;
  uint64_t trap_memory;
  const lockstep_trap_options* traps;
  const char* checks; /* AQL and PM4: as in lockstep_dispatch_options; see lockstep_queue_check_finding() */
  const char* const* plugins; /* AQL and PM4: likewise */
  uint32_t plugin_count;
  /* AQL: takes what kernels of lockstep_device_dispatch_packet print, as in lockstep_dispatch_options, never
   * from two threads at a time. All of it has come before the completion signal of the dispatch changes and
   * before `error` is called; kernels that run beside each other (packets without the barrier bit) print
   * beside each other. It must not wait for what the queue still has to do. Null: the process's own standard
   * output and error. */
  void (*output)(void* user, const char* text, uint64_t bytes, int stream);
  void* output_user;
  lockstep_order order; /* AQL and PM4: of all dispatches, as in lockstep_dispatch_options */
  uint64_t order_seed;
} lockstep_queue_options;

LOCKSTEP_API void lockstep_queue_options_init_sized(lockstep_queue_options* options, size_t struct_size);
static inline void lockstep_queue_options_init(lockstep_queue_options* options) {
  lockstep_queue_options_init_sized(options, sizeof *options);
}
LOCKSTEP_API lockstep_status lockstep_queue_create(lockstep_device* device,
                                                   const lockstep_queue_options* options,
                                                   lockstep_queue** out);
/* Ends what the queue runs. */
LOCKSTEP_API void lockstep_queue_destroy(lockstep_queue* queue);

typedef struct lockstep_queue_info {
  uint32_t struct_size;
  uint64_t id;
  uint64_t queue_address; /* AQL: of the amd_queue_t; else 0 */
  uint64_t ring_address;
  uint32_t size;
  int active;           /* 0 after an error */
  uint64_t read_index;  /* AQL: packets, else dwords */
  uint64_t write_index; /* likewise */
} lockstep_queue_info;
LOCKSTEP_API lockstep_status lockstep_queue_get_info(const lockstep_queue* queue, lockstep_queue_info* out);

/* What the instructions of the queue's dispatches have raised so far, if it has options.exceptions; in order
 * of address. `where.offset` is from the start of the function. The count takes stock: indices and strings
 * live until it is asked again. */
LOCKSTEP_API uint32_t lockstep_queue_exception_count(lockstep_queue* queue);
LOCKSTEP_API lockstep_status lockstep_queue_exception(const lockstep_queue* queue, uint32_t index,
                                                      lockstep_exception* out);

/* Likewise what the checkers of options.checks and the plug-ins have found so far. */
LOCKSTEP_API uint32_t lockstep_queue_check_finding_count(lockstep_queue* queue);
LOCKSTEP_API lockstep_status lockstep_queue_check_finding(const lockstep_queue* queue, uint32_t index,
                                                          lockstep_check_finding* out);

/* Waits for room, copies `count` packets (AQL: 64 bytes each, their headers published last; else dwords) to
 * the ring and rings the doorbell. `out_index` (may be null) is the index of the first one. A timeout is
 * LOCKSTEP_CANCELLED; UINT64_MAX waits without end. PM4 and SDMA queues have one producer at a time. */
LOCKSTEP_API lockstep_status lockstep_queue_submit(lockstep_queue* queue, const void* packets, uint32_t count,
                                                   uint64_t timeout_nanoseconds, uint64_t* out_index);
/* For those who write the ring themselves. AQL: the index of a packet that was published; else the dword
 * index behind the last packet. */
LOCKSTEP_API lockstep_status lockstep_queue_ring_doorbell(lockstep_queue* queue, uint64_t value);
/* AQL: ends that packet (its dispatches, or its wait; one that is still to come is passed over); the queue
 * goes on behind it, and the packet's completion signal stays as it is. LOCKSTEP_NOT_FOUND if it is done
 * already, was never published, or the queue is inactive. */
LOCKSTEP_API lockstep_status lockstep_queue_kill(lockstep_queue* queue, uint64_t packet);

/* Loads the kernel's code object if need be; the guest address of its descriptor, for `kernel_object` of a
 * dispatch packet. */
LOCKSTEP_API lockstep_status lockstep_device_kernel_object(lockstep_device* device,
                                                           const lockstep_kernel* kernel,
                                                           uint64_t* out_address);

/* The AQL packet that dispatches the kernel from a queue: writes its argument segment, hidden arguments too,
 * to `segment`, lockstep_kernel_info.argument_bytes of the device's memory that must stay until the dispatch
 * is done (ignored if these are 0), and the 64 bytes of the packet to `out_packet`; its completion signal may
 * be 0. Of `options` count grid, block, global_offset and dynamic_lds_bytes. Loads code as
 * lockstep_device_kernel_object does. A kernel that prints, asserts or allocates memory gets its buffers each
 * time that an AQL queue of the device launches it with that segment; other queues have none. */
LOCKSTEP_API lockstep_status lockstep_device_dispatch_packet(
    lockstep_device* device, const lockstep_kernel* kernel, const lockstep_arguments* arguments,
    const lockstep_dispatch_options* options, uint64_t segment, lockstep_signal completion, void* out_packet);

/* With an event id (not 0) each completion also raises an interrupt. */
LOCKSTEP_API lockstep_status lockstep_signal_create(lockstep_device* device, int64_t value, uint32_t event_id,
                                                    lockstep_signal* out);
LOCKSTEP_API lockstep_status lockstep_signal_destroy(lockstep_device* device, lockstep_signal signal);
LOCKSTEP_API lockstep_status lockstep_signal_load(lockstep_device* device, lockstep_signal signal,
                                                  int64_t* out_value);
LOCKSTEP_API lockstep_status lockstep_signal_store(lockstep_device* device, lockstep_signal signal,
                                                   int64_t value);
/* `out_before` may be null. */
LOCKSTEP_API lockstep_status lockstep_signal_add(lockstep_device* device, lockstep_signal signal,
                                                 int64_t value, int64_t* out_before);

typedef enum lockstep_condition {
  LOCKSTEP_EQUAL = 0,
  LOCKSTEP_NOT_EQUAL = 1,
  LOCKSTEP_LESS = 2,
  LOCKSTEP_GREATER_OR_EQUAL = 3
} lockstep_condition;

/* Sleeps until the signal's value fulfils the condition; whoever changes it wakes the thread. `out_value` may
 * be null. A timeout is LOCKSTEP_CANCELLED; UINT64_MAX waits without end. */
LOCKSTEP_API lockstep_status lockstep_signal_wait(lockstep_device* device, lockstep_signal signal,
                                                  lockstep_condition condition, int64_t value,
                                                  uint64_t timeout_nanoseconds, int64_t* out_value);

typedef enum lockstep_interrupt_source {
  LOCKSTEP_INTERRUPT_WAVE = 0,        /* S_SENDMSG interrupt: `data` is M0 */
  LOCKSTEP_INTERRUPT_END_OF_PIPE = 1, /* a packet completed: `data` is its event */
  LOCKSTEP_INTERRUPT_COPY_ENGINE = 2  /* SDMA trap: `data` is its context */
} lockstep_interrupt_source;

typedef struct lockstep_interrupt {
  uint32_t struct_size;
  lockstep_interrupt_source source;
  uint32_t data;
  uint64_t queue;         /* lockstep_queue_info.id */
  uint32_t work_group[3]; /* of a wave */
  uint32_t wave;
} lockstep_interrupt;

/* The oldest interrupt that nobody has taken; 4096 are kept. Timeouts as above. */
LOCKSTEP_API lockstep_status lockstep_interrupt_wait(lockstep_device* device, uint64_t timeout_nanoseconds,
                                                     lockstep_interrupt* out);

/* ---------------------------------------------------------------------------------------------------------
 * instruction set */

/* One instruction in one encoding. The strings live for ever. */
typedef struct lockstep_isa_row_info {
  uint32_t struct_size;
  const char* encoding; /* "VOP3" */
  uint32_t number;      /* value of the OP field */
  const char* mnemonic; /* without _e32, _e64, _dpp */
  int implemented;      /* 0: executing it faults */
  lockstep_fidelity fidelity;
  int corner_cases_only; /* not 0: only the operands or states that `note` names are in doubt */
  double ulp;
  const char* note; /* "" if exact */
  int executed;     /* by the interpreter, in this process, so far */
} lockstep_isa_row_info;

/* All rows, grouped by encoding, in opcode order. A program that sets the environment variable
 * LOCKSTEP_COVERAGE=FILE appends the rows that it executed to that file when it ends. */
LOCKSTEP_API uint32_t lockstep_isa_row_count(void);
LOCKSTEP_API lockstep_status lockstep_isa_row(uint32_t index, lockstep_isa_row_info* out);

/* Modifiers and forms that leave something open, whatever the instruction. */
typedef struct lockstep_isa_form_info {
  uint32_t struct_size;
  const char* name; /* "DPP with FETCH_INACTIVE" */
  lockstep_fidelity fidelity;
  int corner_cases_only;
  const char* note;
} lockstep_isa_form_info;
LOCKSTEP_API uint32_t lockstep_isa_form_count(void);
LOCKSTEP_API lockstep_status lockstep_isa_form(uint32_t index, lockstep_isa_form_info* out);

#ifdef __cplusplus
}
#endif
#endif /* LOCKSTEP_H */
