// A run of vector instructions as a loop over the chunks of the wave.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "engine/translator/emitter.h"

namespace lockstep::translator {

// While it is open, chunk 0 of the emitter's locals stands for the chunk in work, and the vector instructions
// of the run are emitted for that one alone.
class Emitter::RolledRun {
 public:
  explicit RolledRun(Emitter& emitter);

  void begin();
  // Of the chunk in work: a VGPR; the lanes of a mask that was one before the run.
  Value* load(unsigned number);
  Value* bits_of(std::span<Value* const> words);
  void end();
  // What the run has made, for all chunks. A wave in doubt leaves as it was at the `start`.
  void leave(const Snapshot& start);

 private:
  void forget();
  Value* row_of(unsigned number);

  Emitter& e_;
  llvm::Type* mask_;        // one bit a lane
  const RegisterSet live_;  // behind the run
  Locals outside_;          // of the code around the loop
  llvm::BasicBlock *before_ = nullptr, *body_ = nullptr;
  llvm::BranchInst* at_entry_ = nullptr;
  llvm::PHINode *chunk_ = nullptr, *doubt_ = nullptr;
  Value *shift_ = nullptr, *exec_at_start_ = nullptr, *doubted_ = nullptr;
  std::map<unsigned, llvm::PHINode*> masks_;  // of the chunks before, by register
  std::map<unsigned, Value*> loaded_;
  std::vector<unsigned> written_;
  std::vector<std::pair<unsigned, Value*>> wholes_;
};

}  // namespace lockstep::translator
