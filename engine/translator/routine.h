// The code that a wave can reach from a kernel's entry: decoded, classified, cut into basic blocks, and these
// into pieces of bounded size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "isa/instruction.h"
#include "numeric/float_mode.h"
#include "numeric/lanes.h"
#include "state/wave.h"

namespace lockstep::translator {

enum class NodeKind : uint8_t {
  nothing,     // hints, waits for loads, whose results are there at once, and what has no destination
  store_wait,  // what was stored must be in memory before what follows looks there
  scalar_alu,
  vector_alu,
  dual,  // a VOPD pair
  scalar_load,
  global,  // FLAT, too
  scratch,
  buffer,  // loads and stores through a buffer resource, without conversion of formats
  atomic,  // on memory or LDS, one address a lane
  lds,
  lane_access,  // v_readlane, v_readfirstlane, v_writelane
  permute,      // between the lanes of a wave: ds_bpermute, ds_swizzle, v_permlane
  indexed,      // VGPRs that M0 chooses: v_movrels, v_movreld
  matrix,       // WMMA: a function of the host computes on the registers, which are in the Wave
  get_pc,
  mode_write,  // of constants to MODE: what follows is translated for what they make of it
  // Executed by the interpreter from within translated code: what it reads is stored before, and what it
  // writes is loaded behind it. Node::reason says why.
  call,
  branch,
  jump,  // to an address in registers: calls of functions and what comes back from them
  barrier,
  end,
  step,     // one instruction for which the wave leaves to the interpreter; Node::reason says why
  outside,  // no instruction: what is there is the interpreter's, until it comes back to an entry
};

struct Node {
  int64_t offset = 0;  // bytes from the routine's entry
  NodeKind kind = NodeKind::nothing;
  uint32_t float_mode = kDefaultFloatMode;  // of waves that come here; others are the interpreter's
  isa::Instruction instruction;             // outside: without a row and of no size
  std::string reason;                       // of a step, a call and what is outside
  uint32_t interpreted = 0;                 // of these: number in Routine::interpreted
};

// What the interpreter executes in the middle of translated code.
struct InterpretedInstruction {
  std::string name;  // mnemonic; empty: code that was not looked at
  NodeKind kind = NodeKind::step;
  std::string reason;  // of the first one
  size_t count = 0;    // in the code
};

struct Block {
  unsigned first = 0, last = 0;  // nodes [first, last)
  int64_t offset = 0;            // of its first instruction
  int taken = -1;                // block that the branch at the end goes to, if there is one
  int next = -1;                 // block that follows, if control can fall through (or resume there)
  // EXEC is zero then: s_cbranch_execz and s_cbranch_execnz.
  bool is_taken_without_lanes = false, goes_on_without_lanes = false;
  std::vector<unsigned> jumps;  // likely targets of the jump at the end
  unsigned piece = 0;
  std::vector<unsigned> predecessors;  // in the same piece
  // Where run() may start: the kernel's entry, behind barriers, steps and calls, functions, loop headers, and
  // what other pieces jump to.
  bool is_entry = false;
};

// Blocks [first, last): one host function. Compilers take more than linear time and stack for what is in one
// function, so that long code is cut. Between pieces all registers are in the Wave.
struct Piece {
  unsigned first = 0, last = 0;
};

inline constexpr unsigned kNoGroupId = ~0u;

// What a dispatch says of the launch of its waves, for rows of groups.
struct LaunchShape {
  // The SGPR that has the x of the work-group id at launch, if it has that.
  unsigned group_id_register = kNoGroupId;
  // Of so many lanes, from each multiple of that number on, v0 counts up: all of a wave, the 16 of a chunk,
  // as in groups of 16x16, or fewer, a power of two, as the 8 of groups of 8x8.
  unsigned counting_lanes = 0;
  bool has_short_rows() const { return counting_lanes != 0 && counting_lanes < kLanesPerChunk; }
  // Waves begin with no more lanes than these, the lowest, as where groups have 16 work-items; 0: with any.
  unsigned most_lanes = 0;
  bool has_lone_waves = false;  // each is all of its group: barriers are hints for it (guide 5.5)
  bool is_one_row = false;      // v0 counts up from 0 through all of a group
};

// Of so many pieces a routine is long: its translation takes seconds, and straight code of it is to be short
// rather than fast (kernels of two pieces ran an eighth slower as loops over the chunks).
inline constexpr unsigned kLeastLongPieces = 4;

struct Routine {
  unsigned wave_size = 32;
  unsigned vgpr_count = kMaxVgprs;          // allocated to each wave
  uint32_t float_mode = kDefaultFloatMode;  // of waves at the entry
  LaunchShape launch;
  unsigned lanes = 32;                              // the lowest, of which others never come on
  std::vector<Node> nodes;                          // in address order
  std::vector<Block> blocks;                        // in address order
  std::vector<Piece> pieces;                        // in address order
  std::vector<InterpretedInstruction> interpreted;  // by name
  unsigned entry_block = 0;
  bool changes_mode = false;  // an instruction may write MODE
  // Where many results are NaNs: the code finds them itself, and does not leave for them.
  bool selects_nans = false;

  bool is_long() const { return pieces.size() >= kLeastLongPieces; }
  bool has_barriers() const;
  int block_at(int64_t offset) const;
  // Bytes that say all about the routine: two routines with the same key behave alike wherever they are
  // loaded.
  std::string key;
};

// Of a piece, in instructions; blocks cost as much as so many more, for what grows faster than the code's
// size are loops and entries.
inline constexpr unsigned kMaxPieceSize = 600, kBlockSize = 4;
// A loop without others in it may be as long as that: each round through two pieces would store and load all
// that it computes with.
inline constexpr unsigned kMaxLoopSize = 1500;
// Code beyond so many instructions is outside.
inline constexpr size_t kMaxNodes = 20'000;

// By block: those that lead there, of all pieces.
std::vector<std::vector<unsigned>> blocks_before(const Routine& routine);

// For each block that branches behind it go back to: the number of the block behind the last of these; else
// 0.
std::vector<unsigned> loop_ends(const Routine& routine);

// The second version of a routine, for waves whose results are NaNs often.
Routine selecting_nans(Routine routine);

// Decodes a routine in steps of bounded length: of tens of thousands of instructions, who waits for all to be
// decoded waits for tens of milliseconds. The code must be there and the same until the last step.
class RoutineSearch {
 public:
  // `float_mode`: MODE of waves at the entry, of which the bits of kFloatModeMask count.
  RoutineSearch(std::span<const CodeRange> code, uint64_t entry, unsigned wave_size, unsigned vgpr_count,
                uint32_t float_mode, const LaunchShape& launch);
  ~RoutineSearch();
  RoutineSearch(const RoutineSearch&) = delete;
  RoutineSearch& operator=(const RoutineSearch&) = delete;

  // Up to so many instructions more; whether none is left.
  bool decode(size_t instructions);
  // When none is left.
  Routine routine() &&;

 private:
  class Finder;
  std::unique_ptr<Finder> finder_;
  LaunchShape launch_;
};

// In one step.
Routine find_routine(std::span<const CodeRange> code, uint64_t entry, unsigned wave_size, unsigned vgpr_count,
                     uint32_t float_mode = kDefaultFloatMode, const LaunchShape& launch = {});

}  // namespace lockstep::translator
