// Declarations of HIP's compiler at run time, where no ROCm is installed: programs that call it run with
// ROCm's library.
#pragma once
#include "hip/hip_runtime.h"

typedef enum hiprtcResult { HIPRTC_SUCCESS = 0, HIPRTC_ERROR_COMPILATION = 6 } hiprtcResult;
typedef struct _hiprtcProgram* hiprtcProgram;

extern "C" {
const char* hiprtcGetErrorString(hiprtcResult result);
hiprtcResult hiprtcVersion(int* major, int* minor);
hiprtcResult hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name,
                                 int header_count, const char* const* headers,
                                 const char* const* include_names);
hiprtcResult hiprtcDestroyProgram(hiprtcProgram* program);
hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char* expression);
hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char* expression, const char** lowered);
hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int option_count, const char* const* options);
hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t* bytes);
hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char* log);
hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t* bytes);
hiprtcResult hiprtcGetCode(hiprtcProgram program, char* code);
}
