// Declarations of HIP's host interface, so that a program with kernels and main() in one file compiles for
// the device: clang checks host functions even then, but emits nothing of them. Nothing here is defined; a
// program that runs as a whole needs ROCm's own headers and library.
#pragma once

#include "lockstep/hip_device.h"

typedef enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorMemoryAllocation = 2,
  hipErrorNotInitialized = 3,
  hipErrorInitializationError = 3,
  hipErrorDeinitialized = 4,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidPitchValue = 12,
  hipErrorInvalidSymbol = 13,
  hipErrorInvalidDevicePointer = 17,
  hipErrorInvalidMemcpyDirection = 21,
  hipErrorInsufficientDriver = 35,
  hipErrorMissingConfiguration = 52,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidImage = 200,
  hipErrorInvalidContext = 201,
  hipErrorNoBinaryForGpu = 209,
  hipErrorInvalidSource = 300,
  hipErrorFileNotFound = 301,
  hipErrorInvalidHandle = 400,
  hipErrorNotFound = 500,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchTimeOut = 702,
  hipErrorPeerAccessAlreadyEnabled = 704,
  hipErrorPeerAccessNotEnabled = 705,
  hipErrorAssert = 710,
  hipErrorHostMemoryAlreadyRegistered = 712,
  hipErrorHostMemoryNotRegistered = 713,
  hipErrorLaunchFailure = 719,
  hipErrorCooperativeLaunchTooLarge = 720,
  hipErrorNotSupported = 801,
  hipErrorUnknown = 999,
} hipError_t;

typedef enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
} hipMemcpyKind;

// Programs of these headers are never run as a whole, so that the numbers do not matter.
typedef enum hipDeviceAttribute_t {
  hipDeviceAttributeClockRate,
  hipDeviceAttributeComputeCapabilityMajor,
  hipDeviceAttributeComputeCapabilityMinor,
  hipDeviceAttributeConcurrentKernels,
  hipDeviceAttributeCooperativeLaunch,
  hipDeviceAttributeCanMapHostMemory,
  hipDeviceAttributeConcurrentManagedAccess,
  hipDeviceAttributeDirectManagedMemAccessFromHost,
  hipDeviceAttributeHostNativeAtomicSupported,
  hipDeviceAttributeIntegrated,
  hipDeviceAttributeL2CacheSize,
  hipDeviceAttributeManagedMemory,
  hipDeviceAttributeMaxBlockDimX,
  hipDeviceAttributeMaxBlockDimY,
  hipDeviceAttributeMaxBlockDimZ,
  hipDeviceAttributeMaxGridDimX,
  hipDeviceAttributeMaxGridDimY,
  hipDeviceAttributeMaxGridDimZ,
  hipDeviceAttributeMaxRegistersPerBlock,
  hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor,
  hipDeviceAttributeMaxThreadsPerBlock,
  hipDeviceAttributeMaxThreadsPerMultiProcessor,
  hipDeviceAttributeMemoryBusWidth,
  hipDeviceAttributeMemoryClockRate,
  hipDeviceAttributeMemoryPoolsSupported,
  hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributePageableMemoryAccess,
  hipDeviceAttributePageableMemoryAccessUsesHostPageTables,
  hipDeviceAttributeTotalConstantMemory,
  hipDeviceAttributeUnifiedAddressing,
  hipDeviceAttributeWarpSize,
  hipDeviceAttributeWallClockRate,
} hipDeviceAttribute_t;

typedef struct hipDeviceProp_t {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, sharedMemPerMultiprocessor;
  size_t maxSharedMemoryPerMultiProcessor, memPitch, textureAlignment;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int clockRate, memoryClockRate, memoryBusWidth, major, minor, multiProcessorCount, l2CacheSize;
  int maxThreadsPerMultiProcessor, computeMode, concurrentKernels, pciBusID, pciDeviceID, pciDomainID;
  int integrated, canMapHostMemory, unifiedAddressing, managedMemory, concurrentManagedAccess;
  int cooperativeLaunch, cooperativeMultiDeviceLaunch, isMultiGpuBoard, ECCEnabled, asicRevision;
  int pageableMemoryAccess, pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int hostNativeAtomicSupported, asyncEngineCount, maxBlocksPerMultiProcessor;
  int clockInstructionRate, kernelExecTimeoutEnabled, tccDriver, isLargeBar, persistingL2CacheMaxSize;
  char gcnArchName[256];
} hipDeviceProp_t;
typedef hipDeviceProp_t hipDeviceProp_tR0600;

typedef enum hipComputeMode {
  hipComputeModeDefault,
  hipComputeModeExclusive,
  hipComputeModeProhibited,
  hipComputeModeExclusiveProcess,
} hipComputeMode;

typedef enum hipFuncCache_t {
  hipFuncCachePreferNone,
  hipFuncCachePreferShared,
  hipFuncCachePreferL1,
  hipFuncCachePreferEqual,
} hipFuncCache_t;
typedef enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout = 9,
} hipFuncAttribute;
typedef struct hipFuncAttributes {
  int binaryVersion, cacheModeCA;
  size_t constSizeBytes, localSizeBytes;
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  size_t sharedSizeBytes;
} hipFuncAttributes;
typedef enum hipLimit_t { hipLimitStackSize, hipLimitPrintfFifoSize, hipLimitMallocHeapSize } hipLimit_t;
typedef enum hipMemoryAdvise {
  hipMemAdviseSetReadMostly = 1,
  hipMemAdviseUnsetReadMostly,
  hipMemAdviseSetPreferredLocation,
  hipMemAdviseUnsetPreferredLocation,
  hipMemAdviseSetAccessedBy,
  hipMemAdviseUnsetAccessedBy,
} hipMemoryAdvise;
typedef struct hipPointerAttribute_t {
  int type, device, isManaged;
  void *devicePointer, *hostPointer;
  unsigned allocationFlags;
} hipPointerAttribute_t;

// Images have types, so that programs that make them compile; kernels that read them do not.
typedef enum hipChannelFormatKind {
  hipChannelFormatKindSigned,
  hipChannelFormatKindUnsigned,
  hipChannelFormatKindFloat,
  hipChannelFormatKindNone,
} hipChannelFormatKind;
typedef struct hipChannelFormatDesc {
  int x, y, z, w;
  hipChannelFormatKind f;
} hipChannelFormatDesc;
typedef struct __hip_texture* hipTextureObject_t;
typedef struct __hip_surface* hipSurfaceObject_t;
typedef struct hipArray* hipArray_t;
typedef struct hipMipmappedArray* hipMipmappedArray_t;
typedef enum hipTextureAddressMode {
  hipAddressModeWrap,
  hipAddressModeClamp,
  hipAddressModeMirror,
  hipAddressModeBorder,
} hipTextureAddressMode;
typedef enum hipTextureFilterMode { hipFilterModePoint, hipFilterModeLinear } hipTextureFilterMode;
typedef enum hipTextureReadMode { hipReadModeElementType, hipReadModeNormalizedFloat } hipTextureReadMode;
typedef enum hipResourceType {
  hipResourceTypeArray,
  hipResourceTypeMipmappedArray,
  hipResourceTypeLinear,
  hipResourceTypePitch2D,
} hipResourceType;
typedef struct hipTextureDesc {
  hipTextureAddressMode addressMode[3];
  hipTextureFilterMode filterMode;
  hipTextureReadMode readMode;
  int sRGB, normalizedCoords;
  float borderColor[4];
  unsigned maxAnisotropy;
} hipTextureDesc;
typedef struct hipResourceDesc {
  hipResourceType resType;
  union {
    struct {
      hipArray_t array;
    } array;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
} hipResourceDesc;
#define LOCKSTEP_NO_TEXTURES(name)                                                                          \
  template <class T, class... Arguments>                                                                    \
  __device__ __attribute__((unavailable("Lockstep has no images and textures yet: read a buffer"))) T name( \
      Arguments...);
LOCKSTEP_NO_TEXTURES(tex1Dfetch)
LOCKSTEP_NO_TEXTURES(tex1D)
LOCKSTEP_NO_TEXTURES(tex2D)
LOCKSTEP_NO_TEXTURES(tex3D)
LOCKSTEP_NO_TEXTURES(tex1DLayered)
LOCKSTEP_NO_TEXTURES(tex2DLayered)
LOCKSTEP_NO_TEXTURES(tex2DLod)
LOCKSTEP_NO_TEXTURES(surf2Dread)
LOCKSTEP_NO_TEXTURES(surf2Dwrite)
#undef LOCKSTEP_NO_TEXTURES

typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
typedef struct ihipMemPoolHandle_t* hipMemPool_t;
typedef struct ihipGraph* hipGraph_t;
typedef struct hipGraphNode* hipGraphNode_t;
typedef struct hipGraphExec* hipGraphExec_t;
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void* data);
typedef int hipDevice_t;
typedef void* hipDeviceptr_t;

// Memory of several dimensions.
typedef struct hipPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
} hipPitchedPtr;
typedef struct hipExtent {
  size_t width, height, depth;
} hipExtent;
typedef struct hipPos {
  size_t x, y, z;
} hipPos;
typedef struct hipMemcpy3DParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  hipExtent extent;
  hipMemcpyKind kind;
} hipMemcpy3DParms;
static inline hipPitchedPtr make_hipPitchedPtr(void* address, size_t pitch, size_t width, size_t height) {
  return {address, pitch, width, height};
}
static inline hipExtent make_hipExtent(size_t width, size_t height, size_t depth) {
  return {width, height, depth};
}
static inline hipPos make_hipPos(size_t x, size_t y, size_t z) {
  return {x, y, z};
}

typedef enum hipMemPoolAttr {
  hipMemPoolReuseFollowEventDependencies = 1,
  hipMemPoolReuseAllowOpportunistic,
  hipMemPoolReuseAllowInternalDependencies,
  hipMemPoolAttrReleaseThreshold,
  hipMemPoolAttrReservedMemCurrent,
  hipMemPoolAttrReservedMemHigh,
  hipMemPoolAttrUsedMemCurrent,
  hipMemPoolAttrUsedMemHigh,
} hipMemPoolAttr;

#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2
#define hipHostMallocWriteCombined 0x4
#define hipHostMallocNonCoherent 0x80000000
#define hipHostAllocDefault 0x0
#define hipHostAllocPortable 0x1
#define hipHostAllocMapped 0x2
#define hipHostAllocWriteCombined 0x4
#define hipHostRegisterDefault 0x0
#define hipHostRegisterMapped 0x2
#define hipDeviceScheduleAuto 0x0
#define hipDeviceMapHost 0x8
#define hipEventBlockingSync 0x1
#define hipEventDisableTiming 0x2
#define hipCpuDeviceId (-1)
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void*)1)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void*)2)
#define HIP_LAUNCH_PARAM_END ((void*)3)
#define hipMemAttachGlobal 0x1
#define hipStreamDefault 0x0
#define hipStreamNonBlocking 0x1
#define hipEventDefault 0x0
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(symbol) symbol

extern "C" {
// What clang calls for kernel<<<grid, block, bytes, stream>>>(...).
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes = 0, hipStream_t stream = 0);
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                           hipStream_t stream);

const char* hipGetErrorString(hipError_t error);
const char* hipGetErrorName(hipError_t error);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();

hipError_t hipInit(unsigned flags);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevice(int* device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipRuntimeGetVersion(int* version);

hipError_t hipMalloc(void** address, size_t bytes);
hipError_t hipMallocManaged(void** address, size_t bytes, unsigned flags = hipMemAttachGlobal);
hipError_t hipHostMalloc(void** address, size_t bytes, unsigned flags = hipHostMallocDefault);
hipError_t hipHostAlloc(void** address, size_t bytes, unsigned flags);
hipError_t hipMallocAsync(void** address, size_t bytes, hipStream_t stream);
hipError_t hipMallocFromPoolAsync(void** address, size_t bytes, hipMemPool_t pool, hipStream_t stream);
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device);
hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device);
hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool);
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value);
hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value);
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t bytes_to_hold);
hipError_t hipFree(void* address);
hipError_t hipFreeAsync(void* address, hipStream_t stream);
hipError_t hipHostFree(void* address);
hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total_bytes);
hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream = 0);
hipError_t hipMemset(void* address, int value, size_t bytes);
hipError_t hipMemsetAsync(void* address, int value, size_t bytes, hipStream_t stream = 0);
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice);
hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost);
hipError_t hipGetSymbolAddress(void** address, const void* symbol);

hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
hipError_t hipStreamSynchronize(hipStream_t stream);
typedef enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal,
  hipStreamCaptureModeThreadLocal,
  hipStreamCaptureModeRelaxed,
} hipStreamCaptureMode;
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* error_node,
                               char* log, size_t log_bytes);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                        unsigned long long flags);
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphExecDestroy(hipGraphExec_t executable);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = 0);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);
hipError_t hipEventDestroy(hipEvent_t event);

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data, unsigned flags);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
hipError_t hipEventQuery(hipEvent_t event);

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer);
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags);
hipError_t hipDeviceDisablePeerAccess(int peer);
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest);
hipError_t hipDeviceGetLimit(size_t* value, hipLimit_t limit);
hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t value);
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config);
hipError_t hipSetDeviceFlags(unsigned flags);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal);
hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device);
hipError_t hipFuncSetCacheConfig(const void* kernel, hipFuncCache_t config);
hipError_t hipFuncSetAttribute(const void* kernel, hipFuncAttribute attribute, int value);
hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* kernel);
hipError_t hipLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                      unsigned shared_bytes, hipStream_t stream);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size,
                                                        size_t shared_bytes);
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, const void* kernel,
                                             size_t shared_bytes, int limit);

hipError_t hipHostRegister(void* address, size_t bytes, unsigned flags);
hipError_t hipHostUnregister(void* address);
hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags);
hipError_t hipMallocHost(void** address, size_t bytes);
hipError_t hipFreeHost(void* address);
hipError_t hipMallocPitch(void** address, size_t* pitch, size_t width, size_t height);
hipError_t hipMalloc3D(hipPitchedPtr* memory, hipExtent extent);
hipError_t hipMemset3D(hipPitchedPtr memory, int value, hipExtent extent);
hipError_t hipMemset3DAsync(hipPitchedPtr memory, int value, hipExtent extent, hipStream_t stream = 0);
hipError_t hipMemcpy3D(const hipMemcpy3DParms* parameters);
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* parameters, hipStream_t stream = 0);
hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                       size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                            size_t height, hipMemcpyKind kind, hipStream_t stream = 0);
hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes);
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void* from, size_t bytes);
hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes);
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes);
hipError_t hipMemset2D(void* address, size_t pitch, int value, size_t width, size_t height);
hipError_t hipMemsetD8(hipDeviceptr_t address, unsigned char value, size_t count);
hipError_t hipMemsetD32(hipDeviceptr_t address, int value, size_t count);
hipError_t hipMemPrefetchAsync(const void* address, size_t bytes, int device, hipStream_t stream = 0);
hipError_t hipMemAdvise(const void* address, size_t bytes, hipMemoryAdvise advice, int device);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* address);
hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream = 0);
hipError_t hipGetSymbolSize(size_t* bytes, const void* symbol);

hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind);
hipError_t hipMallocArray(hipArray_t* array, const hipChannelFormatDesc* format, size_t width,
                          size_t height = 0, unsigned flags = 0);
hipError_t hipFreeArray(hipArray_t array);
hipError_t hipMemcpy2DToArray(hipArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                              size_t height, hipMemcpyKind kind);
hipError_t hipCreateTextureObject(hipTextureObject_t* texture, const hipResourceDesc* resource,
                                  const hipTextureDesc* description, const struct hipResourceViewDesc* view);
hipError_t hipDestroyTextureObject(hipTextureObject_t texture);

hipError_t hipModuleLoadData(hipModule_t* module, const void* image);
hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* bytes, hipModule_t module, const char* name);
hipError_t hipModuleLoad(hipModule_t* module, const char* file);
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 hipStream_t stream, void** arguments, void** extra);
}

// The typed forms that C++ programs use.
template <class T>
hipError_t hipMalloc(T** address, size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(address), bytes);
}
template <class T>
hipError_t hipMallocManaged(T** address, size_t bytes, unsigned flags = hipMemAttachGlobal) {
  return hipMallocManaged(reinterpret_cast<void**>(address), bytes, flags);
}
template <class T>
hipError_t hipHostMalloc(T** address, size_t bytes, unsigned flags = hipHostMallocDefault) {
  return hipHostMalloc(reinterpret_cast<void**>(address), bytes, flags);
}
template <class T>
hipError_t hipHostAlloc(T** address, size_t bytes, unsigned flags) {
  return hipHostAlloc(reinterpret_cast<void**>(address), bytes, flags);
}
template <class T>
hipError_t hipMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return hipMemcpyToSymbol(static_cast<const void*>(&symbol), from, bytes, offset, kind);
}
template <class T>
hipError_t hipMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return hipMemcpyFromSymbol(to, static_cast<const void*>(&symbol), bytes, offset, kind);
}
template <class T>
hipError_t hipGetSymbolAddress(void** address, const T& symbol) {
  return hipGetSymbolAddress(address, static_cast<const void*>(&symbol));
}
template <class T>
hipError_t hipGetSymbolSize(size_t* bytes, const T& symbol) {
  return hipGetSymbolSize(bytes, static_cast<const void*>(&symbol));
}
template <class T>
hipError_t hipMallocAsync(T** address, size_t bytes, hipStream_t stream) {
  return hipMallocAsync(reinterpret_cast<void**>(address), bytes, stream);
}
template <class T>
hipError_t hipMallocHost(T** address, size_t bytes) {
  return hipMallocHost(reinterpret_cast<void**>(address), bytes);
}
template <class T>
hipError_t hipMallocPitch(T** address, size_t* pitch, size_t width, size_t height) {
  return hipMallocPitch(reinterpret_cast<void**>(address), pitch, width, height);
}
template <class T>
hipError_t hipHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return hipHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}
template <class... Parameters>
hipError_t hipFuncSetAttribute(void (*kernel)(Parameters...), hipFuncAttribute attribute, int value) {
  return hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class... Parameters>
hipError_t hipLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                      unsigned shared_bytes, hipStream_t stream) {
  return hipLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                                    shared_bytes, stream);
}
template <class Kernel>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int block_size,
                                                        size_t shared_bytes) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel),
                                                      block_size, shared_bytes);
}
template <class Kernel>
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, Kernel kernel,
                                             size_t shared_bytes = 0, int limit = 0) {
  return hipOccupancyMaxPotentialBlockSize(grid_size, block_size, reinterpret_cast<const void*>(kernel),
                                           shared_bytes, limit);
}
template <class T>
hipChannelFormatDesc hipCreateChannelDesc();
#ifdef HIP_TEMPLATE_KERNEL_LAUNCH
// Takes names of kernels with commas in them, and templates whose arguments follow from those of the call.
template <class... Arguments, class Kernel = void (*)(Arguments...)>
void hipLaunchKernelGGL(Kernel kernel, dim3 grid, dim3 block, unsigned shared_bytes, hipStream_t stream,
                        Arguments... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(arguments...);
}
#else
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__)
#endif
