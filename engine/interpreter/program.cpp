#include "engine/interpreter/program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "engine/chunked_list.h"
#include "engine/code_range.h"
#include "engine/coverage.h"
#include "engine/interpreter/common.h"
#include "engine/interpreter/predecode.h"

namespace lockstep::interpreter {

struct Program::Page {
  // First, so that a slot finds its page. One that is not decoded has its number in `detail`.
  Operation slots[kPageDwords + kGuardSlots];
  Operation chain[kChainSlots];
  unsigned chain_used = 0;
  // Of slots that are not decoded yet: the operation in front, where it may be one of a pair.
  Operation* in_front[kPageDwords] = {};
  ChunkedList<isa::Instruction> instructions;
  const Region* region = nullptr;
  uint64_t reach = 0;  // instructions begin less than so many bytes behind its begin

  static Page* of(Operation* slot) { return reinterpret_cast<Page*>(slot - slot->detail); }
};

// A range of code, or so much of it as has a table of pages.
struct Program::Region {
  const CodeRange code;
  const uint64_t code_end;            // where instructions that begin here must end
  std::atomic<uint64_t> version = 0;  // of the mappings when it was last looked whether it is still theirs
  std::vector<std::atomic<Page*>> pages;

  Region(const CodeRange& part, uint64_t range_end)
      : code(part), code_end(range_end), pages((part.end - part.begin + kPageBytes - 1) / kPageBytes) {}
  ~Region() {
    for (auto& page : pages) delete page.load();
  }
  bool has(uint64_t pc) const { return pc >= code.begin && pc < code.end && code_end - pc >= 4; }
};

// The code from one address on, as far as decoding looks.
struct Program::Bytes {
  uint64_t begin = 0, end = 0;
  std::array<std::byte, kPageBytes + isa::kMaxInstructionBytes> bytes;

  // Before `last_begin` the last instruction begins that decoding looks at. Outside of all locks, since the
  // memory may be gone, which is then a fault of the wave (host_fault.h).
  Bytes(uint64_t pc, uint64_t last_begin, uint64_t code_end)
      : begin(pc), end(std::min(last_begin + isa::kMaxInstructionBytes, code_end)) {
    std::memcpy(bytes.data(), reinterpret_cast<const std::byte*>(begin), end - begin);
  }
  std::span<const std::byte> from(uint64_t pc) const {
    return {bytes.data() + (pc - begin), std::min<uint64_t>(end - pc, isa::kMaxInstructionBytes)};
  }
};

namespace {

// First visit of a slot: decode, then run what came out.
void decode_slot(const Operation* op, Wave* wave, int64_t budget) {
  program_of(wave)->decode(const_cast<Operation*>(op));
  [[clang::musttail]] return handler_of(op)(op, wave, budget);
}

// Of the wave whose turn it is on this thread: Observer::Answer::passes_until. Where the program's own
// variables are found without a call of the loader, even from a library.
[[gnu::tls_model("initial-exec")]] constinit thread_local uint64_t passes_until = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local const Operation* observed_operation = nullptr;

// The first operation of every instruction of an observed program.
void observe(const Operation* op, Wave* wave, int64_t budget) {
  observed_operation = op;
  const Observer::Answer answer = program_of(wave)->observer()->on_instruction(
      *wave, *op->instruction, op->pc, reinterpret_cast<const void*>(op->literal));
  passes_until = answer.passes_until;
  if (!answer.goes_on) return leave(wave, op->pc, budget, WaveState::ready);
  LOCKSTEP_NEXT();
}

// Likewise, where the observer may have said that it need not be called.
void observe_or_pass(const Operation* op, Wave* wave, int64_t budget) {
  if (op->pc >= passes_until) [[clang::musttail]]
    return observe(op, wave, budget);
  // It costs nothing: the one behind it is charged.
  const Operation* const following = next_of(op);
  [[clang::musttail]] return handler_of(following)(following, wave, budget);
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

Program::Program(const std::vector<CodeRange>& code, const std::shared_ptr<const RangeSet>& memory,
                 unsigned wave_size, unsigned vgpr_count, bool default_float_mode, const HandlerTable& table,
                 Observer* observer, bool privileged)
    : wave_size_(wave_size),
      vgpr_count_(vgpr_count),
      default_float_mode_(default_float_mode),
      table_(table),
      observer_(observer),
      privileged_(privileged),
      memory_(memory && memory->version() != 0 ? memory : nullptr) {
  for (const CodeRange& range : code) own_.push_back(std::make_unique<Region>(range, range.end));
}

Program::~Program() = default;

const Operation* Program::observed() {
  return observed_operation;
}

void Program::end_passing() {
  passes_until = 0;
}

Program::Region* Program::own_region(uint64_t pc) const {
  for (const auto& region : own_)
    if (region->has(pc)) return region.get();
  return nullptr;
}

Program::Region* Program::region_elsewhere(uint64_t pc) {
  if (!memory_) return nullptr;
  const uint64_t version = memory_->version();
  const auto known = [&]() -> Region* {
    const auto after = elsewhere_.upper_bound(pc);
    if (after == elsewhere_.begin()) return nullptr;
    Region* region = std::prev(after)->second.get();
    return region->has(pc) ? region : nullptr;
  };
  {
    std::shared_lock lock(elsewhere_mutex_);
    Region* region = known();
    if (region && region->version.load(std::memory_order_relaxed) == version) return region;
  }
  const CodeRange code = code_at(*memory_, pc);
  if (code == CodeRange{}) return nullptr;
  std::unique_lock lock(elsewhere_mutex_);
  // Mappings may be as large as the card's memory, which a driver lets all be executed: not all of one has a
  // table of pages.
  const uint64_t begin = code.begin + (pc - code.begin) / kRegionBytes * kRegionBytes;
  const CodeRange part{begin, std::min(code.end, begin + kRegionBytes), code.serial};
  Region* region = known();
  if (!region || region->code != part || region->code_end != code.end) {
    for (auto at = elsewhere_.begin(); at != elsewhere_.end();) {
      const bool gives_way = at->second->code.begin < part.end && at->second->code.end > part.begin;
      if (gives_way) {
        stale_.push_back(std::move(at->second));
        has_stale_code_.store(true, std::memory_order_relaxed);
      }
      at = gives_way ? elsewhere_.erase(at) : std::next(at);
    }
    auto made = std::make_unique<Region>(part, code.end);
    region = made.get();
    elsewhere_.emplace(part.begin, std::move(made));
  }
  region->version.store(version, std::memory_order_relaxed);
  return region->has(pc) ? region : nullptr;
}

Program::Page* Program::page_for(Region& region, uint64_t pc) {
  const uint64_t index = (pc - region.code.begin) / kPageBytes;
  std::atomic<Page*>& entry = region.pages[index];
  if (Page* page = entry.load(std::memory_order_acquire)) return page;
  std::lock_guard lock(mutex_);
  if (Page* page = entry.load(std::memory_order_acquire)) return page;
  // The chain is written before it is read.
  auto page = std::unique_ptr<Page>(new Page);
  page->region = &region;
  const uint64_t first = region.code.begin + index * kPageBytes;
  page->reach = std::min(kPageBytes, std::min(region.code.end, region.code_end - 3) - first);
  for (unsigned slot = 0; slot < kPageDwords + kGuardSlots; ++slot) {
    Operation& op = page->slots[slot];
    std::memset(static_cast<void*>(&op), 0, sizeof op);
    op.pc = first + slot * 4;
    op.detail = static_cast<uint16_t>(slot);
    op.run = slot < kPageDwords && op.pc < region.code.end ? &decode_slot : &enter_page;
  }
  Page* raw = page.release();
  entry.store(raw, std::memory_order_release);
  return raw;
}

const Operation* Program::at(Region* region, uint64_t pc) {
  if (!region) return nullptr;
  Page* page = page_for(*region, pc);
  return &page->slots[(pc - page->slots[0].pc) / 4];
}

const Operation* Program::at(uint64_t pc) {
  if (pc % 4 != 0) return nullptr;
  // Waves that take turns at barriers enter where the one before did.
  if (Page* page = last_entered_.load(std::memory_order_acquire);
      page && pc - page->slots[0].pc < page->reach)
    return &page->slots[(pc - page->slots[0].pc) / 4];
  Region* own = own_region(pc);
  if (!own) return at(region_elsewhere(pc), pc);
  last_entered_.store(page_for(*own, pc), std::memory_order_release);
  return at(own, pc);
}

const Operation* Program::target(uint64_t from, uint64_t pc) {
  if (Region* own = own_region(pc)) return at(own, pc);
  if (own_region(from)) return nullptr;
  Region* source = region_elsewhere(from);
  Region* destination = region_elsewhere(pc);
  if (!source || !destination || source->code.serial != destination->code.serial) return nullptr;
  return at(destination, pc);
}

unsigned Program::skip_without_effect(Operation** after, const Operation* page_end, const Bytes& bytes,
                                      bool reached) const {
  constexpr unsigned kMost = 100;  // Operation::cost is a byte
  for (unsigned count = 0; count < kMost; ++count) {
    if (*after >= page_end || (*after)->pc >= bytes.end) return count;
    isa::Instruction instruction;
    if (isa::decode(bytes.from((*after)->pc), wave_size_, instruction) != isa::DecodeError::none ||
        table_.other[static_cast<size_t>(instruction.row->opcode)] != table_.no_effect)
      return count;
    if (reached) record_executed(*instruction.row);
    *after += instruction.size / 4;
  }
  return kMost;
}

void Program::decode(Operation* slot) {
  std::unique_lock lock(mutex_);
  if (handler_of(slot) != &decode_slot) return;
  Page* page = Page::of(slot);
  lock.unlock();
  // Observed code skips nothing.
  const Bytes bytes(slot->pc, observer_ ? slot->pc : page->slots[0].pc + kPageBytes, page->region->code_end);
  lock.lock();
  if (handler_of(slot) != &decode_slot) return;
  Predecoder predecoder{*this, slot->pc, bytes.from(slot->pc)};
  isa::Instruction& instruction = page->instructions.add();
  OperationList operations = predecoder.predecode(instruction);

  // The first operation takes the slot, the others stand in the chain area and lead back behind the
  // instruction.
  if (page->chain_used + operations.size() + (observer_ ? 2 : 0) > kChainSlots + 1)
    operations = {predecoder.refuse(instruction, FaultKind::unsupported,
                                    "too many split instructions in one kilobyte of code")};
  // Handlers that leave the chain charge for the instruction themselves, so it is not the observing operation
  // that does.
  const auto [calls, known, may_be_passed] = observer_ && !predecoder.is_refused()
                                                 ? observer_->wish_for(instruction)
                                                 : Observer::Wish{Observer::Calls::none};
  const size_t charged = calls == Observer::Calls::none ? 0 : 1;
  if (charged) {
    // Like the last one in all but what it does, since the account of accesses looks at the last one.
    Operation behind = operations.back();
    behind.run = &observe_executed;
    if (calls == Observer::Calls::before_and_behind) operations.push_back(behind);
    Operation observed = operations[0];
    observed.run = may_be_passed ? &observe_or_pass : &observe;
    observed.literal = reinterpret_cast<uint64_t>(known);
    operations.push_front(observed);
  }
  if (!predecoder.is_refused()) {
    record_executed(*instruction.row);
    if (instruction.row_y) record_executed(*instruction.row_y);
  }
  // What stands behind a branch or the end may never be reached.
  const bool goes_on =
      !predecoder.is_refused() && !(instruction.row->flags & (isa::kBranch | isa::kEndsWave));
  Operation first = operations[0];
  Operation* const chain = page->chain + page->chain_used;
  page->chain_used += static_cast<unsigned>(operations.size() - 1);
  const auto place_of = [&](size_t i) { return i == 0 ? slot : chain + (i - 1); };
  for (size_t i = 1; i < operations.size(); ++i) *place_of(i) = operations[i];
  Operation* after = slot + instruction.size / 4;
  const unsigned skipped =
      observer_ ? 0 : skip_without_effect(&after, page->slots + kPageDwords, bytes, goes_on);
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation* const following = i + 1 < operations.size() ? place_of(i + 1) : after;
    Operation& placed = i == 0 ? first : *place_of(i);
    placed.next = static_cast<int32_t>((following - place_of(i)) * static_cast<ptrdiff_t>(sizeof(Operation)));
    placed.cost = static_cast<uint8_t>(i == charged ? 1 + skipped : 0);
  }
  // Each operation that makes a pair with the one behind it gets the pair's handler. The other one keeps its
  // own, for those who come from elsewhere.
  const auto join = [&](Operation& placed, Handler handler, Handler handler_behind, const Operation& behind) {
    if (const Handler both = table_.pairs.of(handler, placed, handler_behind, behind))
      __atomic_store_n(&placed.run, both, __ATOMIC_RELEASE);
  };
  Operation* in_front = nullptr;
  if (!observer_) {
    const size_t last = operations.size() - 1;
    for (size_t i = 0; i < last; ++i)
      join(i == 0 ? first : *place_of(i), operations[i].run, operations[i + 1].run, operations[i + 1]);
    if (after < page->slots + kPageDwords) {
      if (const Handler behind = handler_of(after); behind != &decode_slot)
        join(last == 0 ? first : *place_of(last), operations[last].run, behind, *after);
      else
        page->in_front[after - page->slots] = place_of(last);
    }
    in_front = page->in_front[slot - page->slots];
  }
  // Publish the handler last: other threads read it first. The PC stands since the page was made, and they
  // may be reading it now.
  constexpr size_t kBehindPc = offsetof(Operation, pc) + sizeof first.pc;
  slot->instruction = first.instruction;
  std::memcpy(reinterpret_cast<std::byte*>(slot) + kBehindPc,
              reinterpret_cast<const std::byte*>(&first) + kBehindPc, sizeof first - kBehindPc);
  __atomic_store_n(&slot->run, first.run, __ATOMIC_RELEASE);
  if (in_front) join(*in_front, in_front->run, operations[0].run, first);
}

}  // namespace lockstep::interpreter
