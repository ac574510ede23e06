#include "tests/engine/interpreter/test_wave.h"

#include <map>
#include <mutex>
#include <new>

#include "isa/effects.h"
#include "loader/code_object.h"
#include "toolchain/compile.h"

namespace lockstep::interpreter {

namespace {

constexpr uint32_t kEndProgram = 0xbfb00000, kNoInstruction = 0xbfff0000;

std::string text_of(const isa::Instruction& instruction, unsigned wave_size) {
  char text[isa::kMaxText];
  return {text, isa::disassemble(instruction, wave_size, text, sizeof text)};
}

std::vector<uint32_t> assemble(std::string_view text, unsigned wave_size) {
  toolchain::Options options;
  options.wave_size = wave_size;
  const toolchain::Result result = toolchain::assemble(text, "listing", options);
  if (!result) {
    ADD_FAILURE() << text << "\n" << result.diagnostics;
    return {kEndProgram};
  }
  auto object = loader::CodeObject::parse(result.code_object, "listing");
  if (!object) {
    ADD_FAILURE() << "the assembled listing does not load";
    return {kEndProgram};
  }
  const loader::Kernel& kernel = object->kernels()[0];
  const auto bytes = object->file_bytes(kernel.entry_address, kernel.code_size);
  std::vector<uint32_t> code(bytes.size() / 4 - 64);
  std::memcpy(code.data(), bytes.data(), code.size() * 4);
  return code;
}

// Its result depends on where or when it stands, or it leaves straight-line code.
bool depends_on_place(const isa::Instruction& instruction) {
  return instruction.row->flags & isa::kBranch || (instruction.row->implicit_reads & isa::kPc) ||
         instruction.gds;
}

std::vector<isa::Instruction> decode_all(const std::vector<uint32_t>& code, unsigned wave_size) {
  std::vector<isa::Instruction> instructions;
  for (size_t at = 0; at < code.size();) {
    isa::Instruction instruction;
    const auto bytes = std::as_bytes(std::span(code)).subspan(4 * at);
    if (isa::decode(bytes, wave_size, instruction) != isa::DecodeError::none) return {};
    instructions.push_back(instruction);
    at += instruction.size / 4;
  }
  return instructions;
}

}  // namespace

const std::vector<uint32_t>& assembled(std::string_view text, unsigned wave_size) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, unsigned>, std::vector<uint32_t>> cache;
  std::lock_guard lock(mutex);
  auto [entry, is_new] = cache.try_emplace({std::string(text), wave_size});
  if (is_new) entry->second = assemble(text, wave_size);
  return entry->second;
}

const std::vector<Configuration>& configurations() {
  static const std::vector<Configuration> all = [] {
    std::vector<Configuration> list{{32, HostTarget::x86_64_v3}, {64, HostTarget::x86_64_v3}};
    // The translator has one for the processor.
    if (engine_maker()) return list;
    if (best_host_target() == HostTarget::x86_64_v4) {
      list.push_back({32, HostTarget::x86_64_v4});
      list.push_back({64, HostTarget::x86_64_v4});
    }
    return list;
  }();
  return all;
}

void for_each_wave(const std::function<void(TestWave&)>& body) {
  for (const Configuration& configuration : configurations()) {
    SCOPED_TRACE("wave" + std::to_string(configuration.wave_size) +
                 (configuration.host == HostTarget::x86_64_v4 ? ", AVX-512" : ", AVX2"));
    TestWave wave(configuration);
    body(wave);
  }
}

TestWave::Storage TestWave::allocate(size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
  std::memset(memory, 0, bytes);
  return Storage(memory);
}

std::unique_ptr<std::byte, TestWave::Unmap> TestWave::map_memory() {
  void* mapped = mmap(nullptr, kMappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  std::unique_ptr<std::byte, Unmap> memory(static_cast<std::byte*>(mapped));
  if (mprotect(memory.get() + kMarginBytes, kMemoryBytes, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
  return memory;
}

TestWave::TestWave(Configuration configuration) : configuration_(configuration) {
  vgprs_ = allocate(size_t{kMaxVgprs + kEngineVgprs} * size() * 4);
  memory_ = map_memory();
  lds_ = allocate(65536);  // as work-groups have it, whatever they may use of that
  scratch_ = allocate(size_t{kScratchBytes} * size());
  ranges_ = std::make_shared<RangeSet>(
      std::vector<Range>{{memory_address(), memory_address() + kMemoryBytes, kReadWrite, "buffer 'test'"}});
  group_.wave_count = 1;
  group_.lds = lds_.get();
  group_.dispatch = &dispatch_;
  group_.lds_bytes = kLdsBytes;
  initialise_wave(wave_, size(), vgprs_.get());
  reset_wave(wave_, kMaxVgprs);
  wave_.group = &group_;
  wave_.lds = lds_.get();
  wave_.lds_bytes = kLdsBytes;
  give_scratch(wave_, reinterpret_cast<uint64_t>(scratch_.get()), kScratchBytes);
  wave_.mode = kDefaultFloatMode;
  for (unsigned i = 0; i < 106; ++i) s(i) = 0x5000'0000u + i * 0x0101;
  for (unsigned number = 0; number < kMaxVgprs; ++number)
    for (unsigned lane = 0; lane < size(); ++lane) v(number, lane) = 0x7000'0000u + number * 0x1000 + lane;
  wave_.set_exec(~uint64_t{0});
}

void TestWave::fill(unsigned number, const std::function<uint32_t(unsigned)>& value) {
  for (unsigned lane = 0; lane < size(); ++lane) v(number, lane) = value(lane);
}

void TestWave::fill64(unsigned number, const std::function<uint64_t(unsigned)>& value) {
  for (unsigned lane = 0; lane < size(); ++lane) {
    v(number, lane) = static_cast<uint32_t>(value(lane));
    v(number + 1, lane) = static_cast<uint32_t>(value(lane) >> 32);
  }
}

TestWave::State TestWave::save() const {
  auto copy = [](const std::byte* storage, size_t bytes) {
    return std::vector<std::byte>(storage, storage + bytes);
  };
  return {std::vector<uint32_t>(wave_.scalar, wave_.scalar + kScalarSlots),
          copy(vgprs_.get(), vgpr_bytes()),
          copy(lds_.get(), kLdsBytes),
          copy(memory(), kMemoryBytes),
          copy(scratch_.get(), size_t{kScratchBytes} * size()),
          wave_.mode};
}

void TestWave::restore(const State& state) {
  std::copy(state.scalar.begin(), state.scalar.end(), wave_.scalar);
  std::copy(state.vgprs.begin(), state.vgprs.end(), vgprs_.get());
  std::copy(state.lds.begin(), state.lds.end(), lds_.get());
  std::copy(state.memory.begin(), state.memory.end(), memory());
  std::copy(state.scratch.begin(), state.scratch.end(), scratch_.get());
  wave_.mode = state.mode;
}

uint32_t TestWave::before(const State& state, unsigned number, unsigned lane) const {
  uint32_t value;
  std::memcpy(&value, state.vgprs.data() + (size_t{number} * size() + lane) * 4, 4);
  return value;
}

bool TestWave::differs(const State& state, unsigned number) const {
  const size_t bytes = size_t{size()} * 4;
  return std::memcmp(vgprs_.get() + number * bytes, state.vgprs.data() + number * bytes, bytes) != 0;
}

EngineMaker& engine_maker() {
  static EngineMaker maker;
  return maker;
}

void TestWave::execute(const std::vector<uint32_t>& code, int64_t budget) {
  if (engine_maker()) {
    // Where a wave ends nobody needs its registers. What is no instruction leaves them in the wave.
    std::vector<uint32_t> open_ended = code;
    size_t at = 0;
    for (const isa::Instruction& instruction : decode_all(code, size())) {
      if (instruction.row->opcode == isa::Opcode::s_endpgm) open_ended[at] = kNoInstruction;
      at += instruction.size / 4;
    }
    const auto entry = reinterpret_cast<uint64_t>(open_ended.data());
    const auto engine = engine_maker()({{entry, entry + 4 * code.size()}}, size(), ranges_, entry,
                                       wave_.vgpr_count, wave_.mode);
    execute(*engine, entry, budget);
    const size_t place = (wave_.pc - entry) / 4;
    wave_.pc += reinterpret_cast<uint64_t>(code.data()) - entry;
    if (wave_.state == WaveState::faulted && place < code.size() && code[place] == kEndProgram) {
      wave_.state = WaveState::ended;
      wave_.fault = {};
    }
    return;
  }
  const auto begin = reinterpret_cast<uint64_t>(code.data());
  Interpreter engine({{begin, begin + 4 * code.size()}}, size(), ranges_, configuration_.host,
                     wave_.vgpr_count);
  execute(engine, begin, budget);
}

void TestWave::execute(Engine& engine, uint64_t entry, int64_t budget) {
  wave_.state = WaveState::ready;
  wave_.fault = {};
  wave_.passed_turn = false;
  wave_.ordered_counts = 0;
  dispatch_.ordered = {};
  for (unsigned i = 0; i < kCachedRanges; ++i) wave_.read_ranges[i] = wave_.write_ranges[i] = {};
  if (!engine.enter(wave_, entry)) {
    ADD_FAILURE() << "no code";
    return;
  }
  while (budget > 0 && (wave_.state == WaveState::ready || wave_.state == WaveState::sleeping)) {
    wave_.state = WaveState::ready;
    budget -= std::max<int64_t>(1, engine.run(wave_, std::min<int64_t>(budget, 1000)));
  }
  DeviceState::Access(*dispatch_.device).forget(wave_);
  wave_.program = wave_.dispatch = nullptr;
}

void TestWave::run(std::string_view text) {
  SCOPED_TRACE(std::string(text));
  run(assembled(text, size()));
}

void TestWave::run(const std::vector<uint32_t>& code) {
  start_ = save();
  execute(code);
  ASSERT_EQ(wave_.state, WaveState::ended) << wave_.fault.message;
  step_through(code, start_);
}

Fault TestWave::run_to_fault(std::string_view text) {
  SCOPED_TRACE(std::string(text));
  return run_to_fault(assembled(text, size()));
}

Fault TestWave::run_to_fault(const std::vector<uint32_t>& code) {
  start_ = save();
  execute(code);
  EXPECT_EQ(wave_.state, WaveState::faulted);
  return wave_.fault;
}

void TestWave::step_through(const std::vector<uint32_t>& code, const State& start) {
  if (engine_maker()) return;
  const std::vector<isa::Instruction> instructions = decode_all(code, size());
  for (const isa::Instruction& instruction : instructions)
    if (depends_on_place(instruction)) return;
  const State whole = save();
  restore(start);
  size_t at = 0;
  for (const isa::Instruction& instruction : instructions) {
    std::vector<uint32_t> single(code.begin() + static_cast<ptrdiff_t>(at),
                                 code.begin() + static_cast<ptrdiff_t>(at + instruction.size / 4));
    single.push_back(kEndProgram);
    at += instruction.size / 4;
    const State before = save();
    execute(single);
    EXPECT_EQ(wave_.state, WaveState::ended) << text_of(instruction, size()) << ": " << wave_.fault.message;
    EXPECT_EQ(violation(instruction, before), "");
  }
  const State stepped = save();
  EXPECT_TRUE(std::equal(whole.scalar.begin(), whole.scalar.begin() + 128, stepped.scalar.begin()) &&
              whole.vgprs == stepped.vgprs && whole.lds == stepped.lds && whole.memory == stepped.memory &&
              whole.scratch == stepped.scratch && whole.mode == stepped.mode)
      << "the listing as a whole gives another result than its instructions one by one";
  restore(whole);
}

std::string TestWave::violation(const isa::Instruction& instruction, const State& before) const {
  using isa::Opcode;
  const std::string text = text_of(instruction, size());
  std::vector<bool> scalar_may_change(kScalarSlots, false), vgpr_may_change(kMaxVgprs, false);
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.written) continue;
    for (unsigned word = 0; word < operand.words; ++word) {
      if (operand.is_vgpr() && operand.vgpr() + word < kMaxVgprs)
        vgpr_may_change[operand.vgpr() + word] = true;
      if (!operand.is_vgpr() && operand.code != isa::code::kNull)
        scalar_may_change[operand.code + word] = true;
    }
  }
  uint32_t implicit = isa::implicit_writes(instruction);
  if (instruction.row_y) implicit |= instruction.row_y->implicit_writes;
  if (implicit & isa::kVcc) scalar_may_change[106] = scalar_may_change[107] = true;
  if (implicit & isa::kExec) scalar_may_change[126] = scalar_may_change[127] = true;
  if (implicit & isa::kM0) scalar_may_change[125] = true;
  if (implicit & isa::kScc) scalar_may_change[253] = true;
  bool relative = false, ignores_exec = instruction.row->flags & isa::kMatrix;
  switch (instruction.row->opcode) {
    case Opcode::s_movreld_b32:
    case Opcode::s_movreld_b64:
    case Opcode::s_movrelsd_2_b32:
      std::fill_n(scalar_may_change.begin(), 108, true);
      break;
    case Opcode::v_movreld_b32:
    case Opcode::v_movrelsd_b32:
    case Opcode::v_movrelsd_2_b32:
    case Opcode::v_swaprel_b32:
      relative = true;
      break;
    case Opcode::v_writelane_b32:
      ignores_exec = true;
      break;
    default:
      break;
  }
  // The upper half of EXEC and of VCC is none of a wave32's business; the engine's own slots may change.
  const uint32_t engine_slots[] = {kScalarConditions, kScalarConditions + 2, kScalarLiteral,
                                   kScalarLiteral + 1};
  for (uint32_t slot : engine_slots) scalar_may_change[slot] = true;
  for (unsigned i = 0; i < 16; ++i) scalar_may_change[kScalarDiscard + i] = true;
  for (unsigned i = 0; i < kScalarSlots; ++i)
    if (!scalar_may_change[i] && wave_.scalar[i] != before.scalar[i])
      return text + " changed scalar register " + std::to_string(i);
  uint64_t exec =
      (before.scalar[126] | uint64_t{before.scalar[127]} << 32) & (size() == 64 ? ~uint64_t{0} : 0xffffffffu);
  if (instruction.row->encoding == isa::Encoding::ldsdir)  // fills quads in which any lane is active
    for (unsigned quad = 0; quad < 64; quad += 4)
      if (exec >> quad & 0xf) exec |= uint64_t{0xf} << quad;
  if (instruction.gds) {
    // One lane, the first; an ordered count takes lane 0 if there is none (guide 13.4.2). Counts of lanes are
    // for all.
    const bool counts_lanes =
        instruction.row->opcode == Opcode::ds_append || instruction.row->opcode == Opcode::ds_consume;
    if (!counts_lanes) exec &= ~exec + 1;
    if (exec == 0 && instruction.row->opcode == Opcode::ds_ordered_count) exec = 1;
  }
  for (unsigned number = 0; number < kMaxVgprs; ++number) {
    if (!differs(before, number)) continue;
    for (unsigned lane = 0; lane < size(); ++lane) {
      const bool may = (vgpr_may_change[number] || relative) && (ignores_exec || (exec >> lane & 1));
      uint32_t now;
      std::memcpy(&now, vgprs_.get() + (size_t{number} * size() + lane) * 4, 4);
      if (!may && now != this->before(before, number, lane))
        return text + " changed v" + std::to_string(number) + " of lane " + std::to_string(lane);
    }
  }
  if (wave_.mode != before.mode && !(implicit & isa::kMode)) return text + " changed MODE";
  return "";
}

void TestWave::expect_v(unsigned number, const std::function<uint32_t(unsigned)>& value,
                        std::string_view what) {
  const uint64_t exec = start_.scalar[126] | uint64_t{start_.scalar[127]} << 32;
  for (unsigned lane = 0; lane < size(); ++lane) {
    const uint32_t expected = exec >> lane & 1 ? value(lane) : before(start_, number, lane);
    EXPECT_EQ(v(number, lane), expected) << what << " v" << number << " lane " << lane << std::hex
                                         << ": got 0x" << v(number, lane) << ", expected 0x" << expected;
    if (v(number, lane) != expected) return;
  }
}

void TestWave::expect_v64(unsigned number, const std::function<uint64_t(unsigned)>& value,
                          std::string_view what) {
  expect_v(number, [&](unsigned lane) { return static_cast<uint32_t>(value(lane)); }, what);
  expect_v(number + 1, [&](unsigned lane) { return static_cast<uint32_t>(value(lane) >> 32); }, what);
}

}  // namespace lockstep::interpreter
