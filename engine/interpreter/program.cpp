#include "engine/interpreter/program.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "engine/coverage.h"
#include "engine/interpreter/common.h"
#include "engine/interpreter/predecode.h"

namespace lockstep::interpreter {

struct Program::Page {
  Operation slots[kPageDwords + kGuardSlots];
  Operation chain[kChainSlots];
  unsigned chain_used = 0;
  std::deque<isa::Instruction> instructions;
};

struct Program::RangePages {
  std::vector<std::atomic<Page*>> pages;
  explicit RangePages(size_t count) : pages(count) {}
  ~RangePages() {
    for (auto& page : pages) delete page.load();
  }
};

namespace {

// First visit of a slot: decode, then run what came out.
void decode_slot(const Operation* op, Wave* wave, int64_t budget) {
  program_of(wave)->decode(const_cast<Operation*>(op));
  [[clang::musttail]] return handler_of(op)(op, wave, budget);
}

// The first operation of every instruction of an observed program.
void observe(const Operation* op, Wave* wave, int64_t budget) {
  if (!program_of(wave)->observer()->on_instruction(*wave, *op->instruction, op->pc))
    return leave(wave, op->pc, budget, WaveState::ready);
  LOCKSTEP_NEXT();
}

// The last operation of those whose observer wants to be called behind them.
void observe_executed(const Operation* op, Wave* wave, int64_t budget) {
  program_of(wave)->observer()->on_executed(*wave);
  LOCKSTEP_NEXT();
}

// The slots behind a page: go on in the page that really holds that address.
void enter_page(const Operation* op, Wave* wave, int64_t budget) {
  const Operation* real = program_of(wave)->at(op->pc);
  if (!real) {
    Fault fault;
    fault.kind = FaultKind::bad_pc;
    fault.message = kPastTheEnd;
    return raise(op, wave, budget, std::move(fault));
  }
  [[clang::musttail]] return handler_of(real)(real, wave, budget);
}

}  // namespace

Program::Program(std::vector<CodeRange> code, unsigned wave_size, unsigned vgpr_count,
                 bool default_float_mode, const HandlerTable& table, Observer* observer, bool privileged)
    : code_(std::move(code)),
      wave_size_(wave_size),
      vgpr_count_(vgpr_count),
      default_float_mode_(default_float_mode),
      table_(table),
      observer_(observer),
      privileged_(privileged) {
  for (const CodeRange& range : code_) {
    const uint64_t dwords = (range.end - range.begin) / 4;
    pages_.push_back(std::make_unique<RangePages>((dwords + kPageDwords - 1) / kPageDwords));
  }
}

Program::~Program() = default;

Program::Page* Program::page_for(uint64_t pc) {
  for (size_t i = 0; i < code_.size(); ++i) {
    const CodeRange& range = code_[i];
    if (pc < range.begin || pc >= range.end || range.end - pc < 4) continue;
    const uint64_t index = (pc - range.begin) / 4 / kPageDwords;
    std::atomic<Page*>& entry = pages_[i]->pages[index];
    if (Page* page = entry.load(std::memory_order_acquire)) return page;
    std::lock_guard lock(mutex_);
    if (Page* page = entry.load(std::memory_order_acquire)) return page;
    // The chain is written before it is read.
    auto page = std::unique_ptr<Page>(new Page);
    const uint64_t first = range.begin + index * kPageDwords * 4;
    for (unsigned slot = 0; slot < kPageDwords + kGuardSlots; ++slot) {
      Operation& op = page->slots[slot];
      std::memset(static_cast<void*>(&op), 0, sizeof op);
      op.pc = first + slot * 4;
      op.run = slot < kPageDwords && op.pc < range.end ? &decode_slot : &enter_page;
    }
    Page* raw = page.release();
    entry.store(raw, std::memory_order_release);
    return raw;
  }
  return nullptr;
}

const Operation* Program::at(uint64_t pc) {
  if (pc % 4 != 0) return nullptr;
  Page* page = page_for(pc);
  if (!page) return nullptr;
  return &page->slots[(pc - page->slots[0].pc) / 4];
}

unsigned Program::skip_without_effect(Operation** after, const Operation* page_end, uint64_t code_end,
                                      bool reached) const {
  constexpr unsigned kMost = 100;  // Operation::cost is a byte
  for (unsigned count = 0; count < kMost; ++count) {
    if (*after >= page_end || (*after)->pc >= code_end) return count;
    isa::Instruction instruction;
    const uint64_t pc = (*after)->pc;
    const size_t available = std::min<uint64_t>(code_end - pc, isa::kMaxInstructionBytes);
    if (isa::decode({reinterpret_cast<const std::byte*>(pc), available}, wave_size_, instruction) !=
            isa::DecodeError::none ||
        table_.other[static_cast<size_t>(instruction.row->opcode)] != table_.no_effect)
      return count;
    if (reached) record_executed(*instruction.row);
    *after += instruction.size / 4;
  }
  return kMost;
}

void Program::decode(Operation* slot) {
  std::lock_guard lock(mutex_);
  Page* page = page_for(slot->pc);
  if (handler_of(slot) != &decode_slot) return;
  uint64_t code_end = 0;
  for (const CodeRange& range : code_)
    if (slot->pc >= range.begin && slot->pc < range.end) code_end = range.end;
  Predecoder predecoder{*this, slot->pc, code_end};
  isa::Instruction& instruction = page->instructions.emplace_back();
  std::vector<Operation> operations = predecoder.predecode(instruction);

  // The first operation takes the slot, the others stand in the chain area and lead back behind the
  // instruction.
  if (page->chain_used + operations.size() + (observer_ ? 2 : 0) > kChainSlots + 1)
    operations = {predecoder.refuse(instruction, FaultKind::unsupported,
                                    "too many split instructions in one kilobyte of code")};
  // Handlers that leave the chain charge for the instruction themselves, so it is not the observing operation
  // that does.
  const Observer::Calls calls =
      observer_ && !predecoder.is_refused() ? observer_->calls_for(instruction) : Observer::Calls::none;
  const size_t charged = calls == Observer::Calls::none ? 0 : 1;
  if (charged) {
    Operation observed = operations[0];
    observed.run = &observe;
    operations.insert(operations.begin(), observed);
    if (calls == Observer::Calls::before_and_behind) {
      observed.run = &observe_executed;
      operations.push_back(observed);
    }
  }
  if (!predecoder.is_refused()) {
    record_executed(*instruction.row);
    if (instruction.row_y) record_executed(*instruction.row_y);
  }
  // What stands behind a branch or the end may never be reached.
  const bool goes_on =
      !predecoder.is_refused() && !(instruction.row->flags & (isa::kBranch | isa::kEndsWave));
  Operation first = operations[0];
  std::vector<Operation*> placed{slot};
  for (size_t i = 1; i < operations.size(); ++i) {
    Operation* place = &page->chain[page->chain_used++];
    *place = operations[i];
    placed.push_back(place);
  }
  Operation* after = slot + instruction.size / 4;
  const unsigned skipped =
      observer_ ? 0 : skip_without_effect(&after, page->slots + kPageDwords, code_end, goes_on);
  for (size_t i = 0; i < placed.size(); ++i) {
    Operation* following = i + 1 < placed.size() ? placed[i + 1] : after;
    const int32_t next = static_cast<int32_t>((following - placed[i]) * sizeof(Operation));
    (i == 0 ? first : *placed[i]).next = next;
    (i == 0 ? first : *placed[i]).cost = static_cast<uint8_t>(i == charged ? 1 + skipped : 0);
  }
  // Publish the handler last: other threads read it first. The PC stands since the page was made, and they
  // may be reading it now.
  constexpr size_t kBehindPc = offsetof(Operation, pc) + sizeof first.pc;
  slot->instruction = first.instruction;
  std::memcpy(reinterpret_cast<std::byte*>(slot) + kBehindPc,
              reinterpret_cast<const std::byte*>(&first) + kBehindPc, sizeof first - kBehindPc);
  __atomic_store_n(&slot->run, first.run, __ATOMIC_RELEASE);
}

}  // namespace lockstep::interpreter
