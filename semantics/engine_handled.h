// The instructions that have no body because their meaning is the engine's own state: the PC, registers
// chosen at run time, hardware registers, counters, barriers, messages. Each with the reason, so that a check
// "every row has a body, is handled by the engine, or is unsupported with a reason" is possible
// (tests/semantics/completeness_test.cpp). Loads, stores and atomics are not listed: memory_shape.h speaks of
// those.
#pragma once

#include <string_view>

#include "isa/row.h"

namespace lockstep::semantics {

struct EngineHandled {
  isa::Opcode opcode;
  std::string_view reason;
};

inline constexpr EngineHandled engine_handled[] = {
    {isa::Opcode::s_getpc_b64, "reads the PC"},
    {isa::Opcode::s_setpc_b64, "writes the PC"},
    {isa::Opcode::s_swappc_b64, "reads and writes the PC"},
    {isa::Opcode::s_call_b64, "reads and writes the PC"},
    {isa::Opcode::s_movrels_b32, "M0 chooses the source SGPR"},
    {isa::Opcode::s_movrels_b64, "M0 chooses the source SGPR"},
    {isa::Opcode::s_movreld_b32, "M0 chooses the destination SGPR"},
    {isa::Opcode::s_movreld_b64, "M0 chooses the destination SGPR"},
    {isa::Opcode::s_movrelsd_2_b32, "M0 chooses both SGPRs"},
    {isa::Opcode::s_sendmsg_rtn_b32, "asks the machine"},
    {isa::Opcode::s_sendmsg_rtn_b64, "asks the machine"},
    {isa::Opcode::s_version, "marks the code for tools, no effect"},
    {isa::Opcode::s_getreg_b32, "reads a hardware register"},
    {isa::Opcode::s_setreg_b32, "writes a hardware register"},
    {isa::Opcode::s_setreg_imm32_b32, "writes a hardware register"},
    {isa::Opcode::s_waitcnt_vscnt, "waits for a counter"},
    {isa::Opcode::s_waitcnt_vmcnt, "waits for a counter"},
    {isa::Opcode::s_waitcnt_expcnt, "waits for a counter"},
    {isa::Opcode::s_waitcnt_lgkmcnt, "waits for a counter"},
    {isa::Opcode::s_nop, "spends issue cycles"},
    {isa::Opcode::s_rfe_b64, "in trap handlers; elsewhere it faults"},
    {isa::Opcode::s_setkill, "ends the wave"},
    {isa::Opcode::s_sethalt, "stops the wave until a debugger resumes it"},
    {isa::Opcode::s_sendmsghalt, "tells the machine and stops the wave"},
    {isa::Opcode::s_atc_probe, "address translation ahead of use, no result"},
    {isa::Opcode::s_atc_probe_buffer, "address translation ahead of use, no result"},
    {isa::Opcode::s_sleep, "scheduling"},
    {isa::Opcode::s_set_inst_prefetch_distance, "instruction fetch, no result"},
    {isa::Opcode::s_clause, "groups the instructions that follow"},
    {isa::Opcode::s_delay_alu, "issue timing, no result"},
    {isa::Opcode::s_waitcnt_depctr, "waits for hardware pipelines"},
    {isa::Opcode::s_waitcnt, "waits for counters"},
    {isa::Opcode::s_wait_idle, "waits for counters"},
    {isa::Opcode::s_wait_event, "waits for an event"},
    {isa::Opcode::s_trap, "enters the trap handler"},
    {isa::Opcode::s_round_mode, "writes MODE"},
    {isa::Opcode::s_denorm_mode, "writes MODE"},
    {isa::Opcode::s_code_end, "padding, illegal to execute"},
    {isa::Opcode::s_branch, "writes the PC"},
    {isa::Opcode::s_cbranch_scc0, "may write the PC"},
    {isa::Opcode::s_cbranch_scc1, "may write the PC"},
    {isa::Opcode::s_cbranch_vccz, "may write the PC"},
    {isa::Opcode::s_cbranch_vccnz, "may write the PC"},
    {isa::Opcode::s_cbranch_execz, "may write the PC"},
    {isa::Opcode::s_cbranch_execnz, "may write the PC"},
    {isa::Opcode::s_cbranch_cdbgsys, "may write the PC"},
    {isa::Opcode::s_cbranch_cdbguser, "may write the PC"},
    {isa::Opcode::s_cbranch_cdbgsys_or_user, "may write the PC"},
    {isa::Opcode::s_cbranch_cdbgsys_and_user, "may write the PC"},
    {isa::Opcode::s_endpgm, "ends the wave"},
    {isa::Opcode::s_endpgm_saved, "ends the wave"},
    {isa::Opcode::s_wakeup, "scheduling"},
    {isa::Opcode::s_setprio, "scheduling"},
    {isa::Opcode::s_sendmsg, "tells the machine"},
    {isa::Opcode::s_incperflevel, "performance counters"},
    {isa::Opcode::s_decperflevel, "performance counters"},
    {isa::Opcode::s_icache_inv, "caches"},
    {isa::Opcode::s_barrier, "waits for the work-group"},
    {isa::Opcode::s_dcache_inv, "caches"},
    {isa::Opcode::s_gl1_inv, "caches"},
    {isa::Opcode::buffer_gl0_inv, "caches"},
    {isa::Opcode::buffer_gl1_inv, "caches"},
    {isa::Opcode::ds_nop, "spends an issue cycle"},
    {isa::Opcode::s_ttracedata, "writes to the thread trace"},
    {isa::Opcode::s_ttracedata_imm, "writes to the thread trace"},
    {isa::Opcode::s_subvector_loop_begin, "changes EXEC halves and may write the PC"},
    {isa::Opcode::s_subvector_loop_end, "changes EXEC halves and may write the PC"},
    {isa::Opcode::v_illegal, "always illegal to execute"},
    {isa::Opcode::v_nop, "spends an issue cycle"},
    {isa::Opcode::lds_direct_load, "broadcasts from LDS to whole quads"},
    {isa::Opcode::lds_param_load, "spreads a primitive's parameters over a quad"},
    {isa::Opcode::ds_bvh_stack_rtn_b32, "keeps a ring of node pointers in LDS"},
    {isa::Opcode::ds_gws_sema_release_all, "waves of the device wait for each other"},
    {isa::Opcode::ds_gws_init, "waves of the device wait for each other"},
    {isa::Opcode::ds_gws_sema_v, "waves of the device wait for each other"},
    {isa::Opcode::ds_gws_sema_br, "waves of the device wait for each other"},
    {isa::Opcode::ds_gws_sema_p, "waves of the device wait for each other"},
    {isa::Opcode::ds_gws_barrier, "waves of the device wait for each other"},
    {isa::Opcode::ds_ordered_count, "waves of a dispatch take turns"},
    {isa::Opcode::ds_add_gs_reg_rtn, "counts in registers of the device"},
    {isa::Opcode::ds_sub_gs_reg_rtn, "counts in registers of the device"},
    {isa::Opcode::v_pipeflush, "empties the vector pipeline, no result"},
    {isa::Opcode::v_movreld_b32, "M0 chooses the destination VGPR"},
    {isa::Opcode::v_movrels_b32, "M0 chooses the source VGPR"},
    {isa::Opcode::v_movrelsd_b32, "M0 chooses both VGPRs"},
    {isa::Opcode::v_movrelsd_2_b32, "M0 chooses both VGPRs"},
    {isa::Opcode::v_swaprel_b32, "M0 chooses both VGPRs"},
};

constexpr const EngineHandled* find_engine_handled(isa::Opcode opcode) {
  for (const EngineHandled& entry : engine_handled)
    if (entry.opcode == opcode) return &entry;
  return nullptr;
}

// What no engine executes yet: such an instruction faults with the reason. Whole encodings, then single
// instructions.
struct Unsupported {
  isa::Encoding encoding;
  std::string_view reason;
};

inline constexpr Unsupported unsupported_encodings[] = {
    {isa::Encoding::mimg, "image instructions need image resources, samplers and ray tracing"},
    {isa::Encoding::exp, "exports need graphics stages"},
};
inline constexpr EngineHandled unsupported[] = {
    {isa::Opcode::s_endpgm_ordered_ps_done, "needs pixel shader waves"},
};

// The reason why an instruction is not executed, or null.
constexpr const std::string_view* find_unsupported(const isa::Row& row) {
  for (const EngineHandled& entry : unsupported)
    if (entry.opcode == row.opcode) return &entry.reason;
  for (const Unsupported& entry : unsupported_encodings)
    if (entry.encoding == row.encoding) return &entry.reason;
  return nullptr;
}

}  // namespace lockstep::semantics
