#include "loader/code_object.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "llvm/BinaryFormat/ELF.h"
#include "loader/hidden_arguments.h"
#include "tests/loader/fixtures.h"

namespace lockstep::loader {
namespace {

CodeObject parse_fixture(const std::string& name) {
  Result<CodeObject> object = CodeObject::parse(read_fixture(name), name);
  if (!object) {
    ADD_FAILURE() << object.error().message();
    std::abort();
  }
  return std::move(*object);
}

Error parse_error(const FileBytes& bytes) {
  Result<CodeObject> object = CodeObject::parse(bytes, "bad.co");
  if (object) {
    ADD_FAILURE() << "parsed";
    return {};
  }
  EXPECT_FALSE(object.error().what.empty());
  EXPECT_NE(object.error().where.find("bad.co"), std::string::npos);
  EXPECT_FALSE(object.error().mend.empty());
  return object.error();
}

class EveryVersion : public testing::TestWithParam<unsigned> {};

TEST_P(EveryVersion, HasTheKernelsOfTheSource) {
  CodeObject o = parse_fixture("kernels_v" + std::to_string(GetParam()) + ".co");
  EXPECT_EQ(o.version(), GetParam());
  EXPECT_EQ(o.target().processor, "gfx1100");
  EXPECT_EQ(o.target().id(), "gfx1100");
  EXPECT_TRUE(o.target().runs_on("gfx1100"));
  EXPECT_FALSE(o.target().runs_on("gfx1030"));
  ASSERT_EQ(o.kernels().size(), 3u);
  ASSERT_TRUE(o.metadata());
  EXPECT_EQ(o.metadata()->target, "amdgcn-amd-amdhsa--gfx1100");
  EXPECT_EQ(o.metadata()->version_major, 1u);

  const Kernel* k = o.find_kernel("scaled");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(o.find_kernel("scaled.kd"), k);
  EXPECT_EQ(o.find_kernel("absent"), nullptr);
  ASSERT_TRUE(k->metadata);
  EXPECT_EQ(k->metadata->language, "OpenCL C");
  EXPECT_EQ(k->metadata->required_workgroup_size, (std::array<uint32_t, 3>{64, 2, 1}));
  EXPECT_EQ(k->metadata->max_flat_workgroup_size, 128u);
  EXPECT_EQ(k->metadata->wavefront_size, 32u);
  EXPECT_TRUE(k->metadata->sgpr_count && k->metadata->vgpr_count);
  std::vector<const Argument*> args = k->metadata->user_arguments();
  ASSERT_EQ(args.size(), 5u);
  EXPECT_EQ(args[0]->name, "in");
  EXPECT_EQ(args[0]->type_name, "float*");
  EXPECT_EQ(args[0]->kind, ValueKind::global_buffer);
  EXPECT_EQ(args[0]->address_space, "global");
  EXPECT_TRUE(args[0]->is_const && args[0]->is_restrict);
  EXPECT_EQ(args[2]->name, "factor");
  EXPECT_EQ(args[2]->kind, ValueKind::by_value);
  EXPECT_EQ(args[2]->offset, 16u);
  EXPECT_EQ(args[2]->size, 4u);
  EXPECT_EQ(args[4]->type_name, "pair");
  EXPECT_EQ(args[4]->size, 8u);

  EXPECT_EQ(k->descriptor.kernarg_size, k->metadata->kernarg_segment_size);
  EXPECT_EQ(k->descriptor.wave_size(), 32u);
  EXPECT_GE(k->descriptor.vgpr_count(), *k->metadata->vgpr_count);
  EXPECT_GE(k->descriptor.rsrc2.user_sgpr_count, k->descriptor.enabled_user_sgprs());
  EXPECT_TRUE(k->descriptor.properties.kernarg_segment_pointer);
  EXPECT_TRUE(k->descriptor.rsrc2.workgroup_id_x);
  EXPECT_TRUE(k->descriptor.rsrc1.memory_ordered);
  EXPECT_EQ(k->descriptor.rsrc1.float_denorm_16_64, 3);
  EXPECT_EQ(k->entry_address % 256, 0u);
  EXPECT_GT(k->code_size, 0u);
  const Symbol* f = o.function_at(k->entry_address + 4);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->name, "scaled");
  ASSERT_NE(o.find_symbol("counter"), nullptr);
  EXPECT_EQ(o.find_symbol("counter")->kind, SymbolKind::object);

  const Kernel* local = o.find_kernel("local_sum");
  ASSERT_NE(local, nullptr);
  EXPECT_EQ(local->descriptor.group_segment_fixed_size, 400u);
  args = local->metadata->user_arguments();
  ASSERT_EQ(args.size(), 5u);
  EXPECT_EQ(args[1]->kind, ValueKind::dynamic_shared_pointer);
  EXPECT_EQ(args[1]->pointee_align, 4u);
  EXPECT_EQ(args[3]->size, 1u);
}

TEST_P(EveryVersion, LoadsItsSegments) {
  CodeObject o = parse_fixture("kernels_v" + std::to_string(GetParam()) + ".co");
  std::vector<std::byte> image(o.image_size(), std::byte{0xaa});
  ASSERT_TRUE(o.load_into(image, 0x10000));
  const Symbol* counter = o.find_symbol("counter");
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(get<int>(image, counter->address - o.image_start()), 7);
  const Kernel* k = o.find_kernel("scaled");
  std::span<const std::byte> code = o.file_bytes(k->entry_address, k->code_size);
  ASSERT_EQ(code.size(), k->code_size);
  EXPECT_TRUE(std::equal(code.begin(), code.end(), image.begin() + (k->entry_address - o.image_start())));
  EXPECT_FALSE(o.load_into(std::span(image).first(100), 0));
}

TEST_P(EveryVersion, FillsHiddenArguments) {
  CodeObject o = parse_fixture("kernels_v" + std::to_string(GetParam()) + ".co");
  const Kernel* k = o.find_kernel("sizes");
  ASSERT_NE(k, nullptr);
  ASSERT_TRUE(k->metadata);
  EXPECT_EQ(k->metadata->user_arguments().size(), 1u);
  HiddenValues v;
  v.grid = {100, 21, 7};
  v.block = {32, 4, 7};
  v.global_offset = {0x100000001, 2, 3};
  v.dimensions = 2;
  std::vector<std::byte> segment(k->metadata->kernarg_segment_size);
  Result<void> filled = fill_hidden_arguments(*k->metadata, v, segment);
  ASSERT_TRUE(filled) << filled.error().message();
  auto hidden = std::span<const std::byte>(segment).subspan(8);
  if (GetParam() == 4) {
    EXPECT_EQ(get<uint64_t>(hidden, 0), 0x100000001u);
    EXPECT_EQ(get<uint64_t>(hidden, 8), 2u);
    EXPECT_EQ(get<uint64_t>(hidden, 16), 3u);
  } else {
    EXPECT_EQ(get<uint32_t>(hidden, 0), 3u);
    EXPECT_EQ(get<uint32_t>(hidden, 4), 5u);
    EXPECT_EQ(get<uint32_t>(hidden, 8), 1u);
    EXPECT_EQ(get<uint16_t>(hidden, 12), 32);
    EXPECT_EQ(get<uint16_t>(hidden, 14), 4);
    EXPECT_EQ(get<uint16_t>(hidden, 16), 7);
    EXPECT_EQ(get<uint16_t>(hidden, 18), 4);
    EXPECT_EQ(get<uint16_t>(hidden, 20), 1);
    EXPECT_EQ(get<uint16_t>(hidden, 22), 0);
    EXPECT_EQ(get<uint64_t>(hidden, 40), 0x100000001u);
    EXPECT_EQ(get<uint64_t>(hidden, 56), 3u);
    EXPECT_EQ(get<uint16_t>(hidden, 64), 2);
  }
  EXPECT_FALSE(fill_hidden_arguments(*k->metadata, v, std::span(segment).first(16)));
}

INSTANTIATE_TEST_SUITE_P(CodeObject, EveryVersion, testing::Values(4u, 5u, 6u));

TEST(HiddenArguments, EveryKindHasItsValue) {
  KernelMetadata k;
  k.name = "all";
  HiddenValues v;
  v.printf_buffer = 0x11;
  v.hostcall_buffer = 0x22;
  v.multigrid_sync = 0x33;
  v.heap = 0x44;
  v.default_queue = 0x55;
  v.completion_action = 0x66;
  v.queue = 0x77;
  v.dynamic_lds_bytes = 0x88;
  v.private_base_high = 0x99;
  v.shared_base_high = 0xaa;
  // Offsets of LLVM's implicit argument layout of code object v5.
  struct Row {
    ValueKind kind;
    uint32_t offset, size;
    uint64_t value;
  };
  const Row rows[] = {
      {ValueKind::hidden_printf_buffer, 72, 8, 0x11},
      {ValueKind::hidden_hostcall_buffer, 80, 8, 0x22},
      {ValueKind::hidden_multigrid_sync_arg, 88, 8, 0x33},
      {ValueKind::hidden_heap_v1, 96, 8, 0x44},
      {ValueKind::hidden_default_queue, 104, 8, 0x55},
      {ValueKind::hidden_completion_action, 112, 8, 0x66},
      {ValueKind::hidden_dynamic_lds_size, 120, 4, 0x88},
      {ValueKind::hidden_private_base, 192, 4, 0x99},
      {ValueKind::hidden_shared_base, 196, 4, 0xaa},
      {ValueKind::hidden_queue_ptr, 200, 8, 0x77},
      {ValueKind::hidden_none, 208, 8, 0xcccccccccccccccc},
  };
  for (const Row& r : rows) {
    Argument a;
    a.kind = r.kind;
    a.offset = r.offset;
    a.size = r.size;
    k.arguments.push_back(a);
  }
  std::vector<std::byte> segment(256, std::byte{0xcc});
  ASSERT_TRUE(fill_hidden_arguments(k, v, segment));
  for (const Row& r : rows)
    EXPECT_EQ(r.size == 8 ? get<uint64_t>(segment, r.offset) : get<uint32_t>(segment, r.offset), r.value)
        << name_of(r.kind);
}

TEST(CodeObject, WaveSizeAndGenericTarget) {
  CodeObject debug = parse_fixture("kernels_debug.co");
  EXPECT_EQ(debug.find_kernel("scaled")->descriptor.wave_size(), 64u);
  CodeObject generic = parse_fixture("kernels_generic.co");
  EXPECT_EQ(generic.version(), 6u);
  EXPECT_EQ(generic.target().processor, "gfx11-generic");
  EXPECT_EQ(generic.target().generic_version, 1);
  EXPECT_TRUE(generic.target().runs_on("gfx1100"));
  EXPECT_TRUE(generic.target().runs_on("gfx1103"));
  EXPECT_FALSE(generic.target().runs_on("gfx1200"));
  EXPECT_EQ(parse_fixture("kernels_gfx1030.co").target().processor, "gfx1030");
}

TEST(CodeObject, StrippedSectionsAreReadFromTheDynamicSegment) {
  FileBytes bytes = read_fixture("kernels_v5.co");
  put<uint64_t>(bytes, 40, 0);  // e_shoff
  put<uint16_t>(bytes, 60, 0);  // e_shnum
  Result<CodeObject> o = CodeObject::parse(bytes, "stripped");
  ASSERT_TRUE(o) << o.error().message();
  EXPECT_EQ(o->kernels().size(), 3u);
  EXPECT_NE(o->find_kernel("local_sum"), nullptr);
}

TEST(CodeObject, AppliesRelocations) {
  CodeObject o = parse_fixture("relocations.co");
  ASSERT_EQ(o.relocations().size(), 4u);
  ASSERT_EQ(o.kernels().size(), 1u);
  EXPECT_FALSE(o.kernels()[0].metadata);
  const uint64_t base = 0x7f1234560000;
  std::vector<std::byte> image(o.image_size());

  Result<void> undefined = o.load_into(image, base);
  ASSERT_FALSE(undefined);
  EXPECT_NE(undefined.error().what.find("'elsewhere'"), std::string::npos);

  auto resolve = [](std::string_view name) -> std::optional<uint64_t> {
    if (name == "elsewhere") return 0xabcdef;
    return std::nullopt;
  };
  Result<void> loaded = o.load_into(image, base, resolve);
  ASSERT_TRUE(loaded) << loaded.error().message();
  const Symbol* words = o.find_symbol("words");
  const Symbol* hidden = o.find_symbol("hidden_word");
  ASSERT_TRUE(words && hidden);
  size_t at = words->address - o.image_start();
  EXPECT_EQ(get<uint64_t>(image, at), o.loaded_address(hidden->address, base) + 4);
  EXPECT_EQ(get<uint64_t>(image, at + 8), o.loaded_address(words->address, base) + 8);
  EXPECT_EQ(get<uint64_t>(image, at + 16), 0xabcdefu);
  EXPECT_EQ(get<uint64_t>(image, at + 24), 0u);
  EXPECT_EQ(o.linked_address(o.loaded_address(0x1400, base), base), 0x1400u);
}

// The linker makes no other dynamic relocations of data, so the test rewrites the type of the one against
// `words`.
TEST(CodeObject, AppliesEveryRelocationType) {
  namespace elf = llvm::ELF;
  FileBytes bytes = read_fixture("relocations.co");
  CodeObject original = parse_fixture("relocations.co");
  uint64_t words = original.find_symbol("words")->address;
  size_t entry = 0;
  for (size_t at = 0; at + 24 <= bytes.size(); at += 8)
    if (get<uint64_t>(bytes, at) == words + 8 && get<uint32_t>(bytes, at + 8) == elf::R_AMDGPU_ABS64)
      entry = at;
  ASSERT_NE(entry, 0u);
  const uint64_t base = 0x7f1234560000;
  const uint64_t value = original.loaded_address(words, base) + 8, place = value;
  auto apply = [&](uint32_t type, uint64_t load_base) {
    FileBytes copy = bytes;
    put<uint32_t>(copy, entry + 8, type);
    put<int64_t>(copy, entry + 16, 24);
    Result<CodeObject> o = CodeObject::parse(copy, "types");
    EXPECT_TRUE(o) << o.error().message();
    std::vector<std::byte> image(o->image_size());
    Result<void> r = o->load_into(image, load_base, [](std::string_view) { return 0; });
    struct Outcome {
      bool good;
      uint64_t word;
      std::string what;
    };
    return Outcome{static_cast<bool>(r), get<uint64_t>(image, words + 8 - o->image_start()),
                   r ? "" : r.error().message()};
  };
  uint64_t target = value + 16;  // addend 24 in place of 8
  EXPECT_EQ(apply(elf::R_AMDGPU_ABS64, base).word, target);
  EXPECT_EQ(apply(elf::R_AMDGPU_REL64, base).word, target - place);
  EXPECT_EQ(apply(elf::R_AMDGPU_ABS32_LO, base).word, target & 0xffffffff);
  EXPECT_EQ(apply(elf::R_AMDGPU_ABS32_HI, base).word, target >> 32);
  EXPECT_EQ(apply(elf::R_AMDGPU_REL32, base).word, (target - place) & 0xffffffff);
  EXPECT_EQ(apply(elf::R_AMDGPU_REL32_LO, base).word, (target - place) & 0xffffffff);
  EXPECT_EQ(apply(elf::R_AMDGPU_REL32_HI, base).word, 0u);
  EXPECT_EQ(apply(elf::R_AMDGPU_NONE, base).word, 0u);
  auto low = apply(elf::R_AMDGPU_ABS32, 0x10000);
  EXPECT_TRUE(low.good);
  EXPECT_EQ(low.word, words + 24 + 0x10000 - original.image_start());
  EXPECT_FALSE(apply(elf::R_AMDGPU_ABS32, base).good);
  auto unknown = apply(99, base);
  EXPECT_FALSE(unknown.good);
  EXPECT_NE(unknown.what.find("type 99"), std::string::npos);
}

TEST(KernelDescriptor, EveryFieldIsDecoded) {
  FileBytes bytes(kKernelDescriptorBytes);
  put<uint32_t>(bytes, 0, 1000);
  put<uint32_t>(bytes, 4, 2000);
  put<uint32_t>(bytes, 8, 3000);
  put<int64_t>(bytes, 16, -4096);
  put<uint32_t>(bytes, 44, 0x80000000u | 1u << 11 | 33u << 4 | 9u);
  put<uint32_t>(bytes, 48,
                7u | 15u << 6 | 2u << 10 | 1u << 12 | 2u << 14 | 3u << 16 | 1u << 18 | 1u << 21 | 1u << 23 |
                    1u << 26 | 3u << 27 | 1u << 29 | 1u << 31);
  put<uint32_t>(bytes, 52, 1u | 13u << 1 | 1u << 8 | 2u << 11 | 300u << 15 | 1u << 26 | 1u << 30);
  put<uint16_t>(bytes, 56, 1u << 1 | 1u << 3 | 1u << 6 | 1u << 10 | 1u << 11);
  put<uint16_t>(bytes, 58, 5u | 9u << 7);
  KernelDescriptor d =
      decode_kernel_descriptor(std::span<const std::byte, kKernelDescriptorBytes>(bytes.data(), 64));
  EXPECT_EQ(d.group_segment_fixed_size, 1000u);
  EXPECT_EQ(d.private_segment_fixed_size, 2000u);
  EXPECT_EQ(d.kernarg_size, 3000u);
  EXPECT_EQ(d.entry_byte_offset, -4096);
  EXPECT_EQ(d.rsrc3.shared_vgpr_count, 9);
  EXPECT_EQ(d.rsrc3.instruction_prefetch_size, 33);
  EXPECT_FALSE(d.rsrc3.trap_on_start);
  EXPECT_TRUE(d.rsrc3.trap_on_end && d.rsrc3.image_op);
  EXPECT_EQ(d.rsrc1.granulated_vgpr_count, 7);
  EXPECT_EQ(d.vgpr_count(), 64u);
  EXPECT_EQ(d.rsrc1.granulated_sgpr_count, 15);
  EXPECT_EQ(d.rsrc1.priority, 2);
  EXPECT_EQ(d.rsrc1.float_round_32, 1);
  EXPECT_EQ(d.rsrc1.float_round_16_64, 2);
  EXPECT_EQ(d.rsrc1.float_denorm_32, 3);
  EXPECT_EQ(d.rsrc1.float_denorm_16_64, 1);
  EXPECT_TRUE(d.rsrc1.dx10_clamp && d.rsrc1.ieee_mode && d.rsrc1.fp16_overflow && d.rsrc1.wgp_mode);
  EXPECT_FALSE(d.rsrc1.privileged || d.rsrc1.debug_mode || d.rsrc1.memory_ordered);
  EXPECT_EQ(d.rsrc1.reserved, 3);  // set, and no reason to refuse
  EXPECT_TRUE(d.rsrc1.forward_progress);
  EXPECT_TRUE(d.rsrc2.private_segment && d.rsrc2.workgroup_id_y);
  EXPECT_FALSE(d.rsrc2.workgroup_id_x || d.rsrc2.workgroup_id_z || d.rsrc2.trap_handler);
  EXPECT_EQ(d.rsrc2.user_sgpr_count, 13);
  EXPECT_EQ(d.rsrc2.workitem_id, 2);
  EXPECT_EQ(d.rsrc2.granulated_lds_size, 300);
  EXPECT_TRUE(d.rsrc2.exception_float_divide_by_zero && d.rsrc2.exception_integer_divide_by_zero);
  EXPECT_FALSE(d.rsrc2.exception_float_invalid);
  EXPECT_TRUE(d.properties.dispatch_pointer && d.properties.kernarg_segment_pointer &&
              d.properties.private_segment_size && d.properties.wave32 && d.properties.dynamic_stack);
  EXPECT_FALSE(d.properties.queue_pointer);
  EXPECT_EQ(d.enabled_user_sgprs(), 5u);
  EXPECT_EQ(d.kernarg_preload_length, 5);
  EXPECT_EQ(d.kernarg_preload_offset, 9);
  EXPECT_FALSE(d.reserved_bytes_set);
}

TEST(Metadata, OldNamesAndOddValuesAreTolerated) {
  // {"amdhsa.kernels": [{"name": "k", "args": [{".size": 8, ".offset": 0, ".value_kind":
  // "HiddenGlobalOffsetX"},
  //   {".size": 4, ".offset": 8, ".value_kind": "ByValue"}, {".size": 4, ".offset": 12, ".value_kind":
  //   "hidden_new"}]}]}
  FileBytes bytes;
  auto string = [&](std::string_view s) {
    append_number<uint8_t>(bytes, 0xd9);
    append_number<uint8_t>(bytes, s.size());
    append(bytes, s);
  };
  auto argument = [&](uint8_t size, uint8_t offset, std::string_view kind) {
    append_number<uint8_t>(bytes, 0x83);
    string(".size");
    append_number<uint8_t>(bytes, size);
    string(".offset");
    append_number<uint8_t>(bytes, offset);
    string(".value_kind");
    string(kind);
  };
  append_number<uint8_t>(bytes, 0x81);
  string("amdhsa.kernels");
  append_number<uint8_t>(bytes, 0x91);
  append_number<uint8_t>(bytes, 0x82);
  string("name");
  string("k");
  string("args");
  append_number<uint8_t>(bytes, 0x93);
  argument(8, 0, "HiddenGlobalOffsetX");
  argument(4, 8, "ByValue");
  argument(4, 12, "hidden_new");
  Result<Metadata> m = parse_metadata(bytes, "test");
  ASSERT_TRUE(m) << m.error().message();
  ASSERT_EQ(m->kernels.size(), 1u);
  const KernelMetadata& k = m->kernels[0];
  EXPECT_EQ(k.symbol, "k.kd");
  ASSERT_EQ(k.arguments.size(), 3u);
  EXPECT_EQ(k.arguments[0].kind, ValueKind::hidden_global_offset_x);
  EXPECT_EQ(k.arguments[1].kind, ValueKind::by_value);
  EXPECT_EQ(k.arguments[2].kind, ValueKind::hidden_none);
  EXPECT_EQ(k.user_arguments().size(), 1u);
}

TEST(Metadata, DamageIsAnError) {
  FileBytes deep(1 << 20, std::byte{0x91});  // arrays in arrays
  Result<Metadata> m = parse_metadata(deep, "test");
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().what.find("deeper"), std::string::npos);
  EXPECT_FALSE(parse_metadata({}, "test"));
  FileBytes array{std::byte{0x90}};
  m = parse_metadata(array, "test");
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().what.find("not a map"), std::string::npos);
  FileBytes huge{std::byte{0xdd}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  EXPECT_FALSE(parse_metadata(huge, "test"));
}

TEST(CodeObject, ErrorsSayWhatAndHowToMend) {
  FileBytes good = read_fixture("kernels_v5.co");
  auto changed = [&](size_t offset, auto value) {
    FileBytes copy = good;
    put(copy, offset, value);
    return parse_error(copy).message();
  };
  EXPECT_NE(parse_error({}).what.find("not an ELF"), std::string::npos);
  EXPECT_NE(parse_error(FileBytes(good.begin(), good.begin() + 40)).what.find("cut off"), std::string::npos);
  EXPECT_NE(changed(4, uint8_t{1}).find("64-bit"), std::string::npos);
  EXPECT_NE(changed(18, uint16_t{62}).find("machine 62"), std::string::npos);
  EXPECT_NE(changed(7, uint8_t{0}).find("OS ABI"), std::string::npos);
  EXPECT_NE(changed(8, uint8_t{1}).find("ABI version 1"), std::string::npos);
  EXPECT_NE(changed(8, uint8_t{5}).find("ABI version 5"), std::string::npos);
  EXPECT_NE(changed(48, uint8_t{0xfe}).find("processor"), std::string::npos);
  EXPECT_NE(parse_error(read_fixture("kernels.o")).mend.find("ld.lld"), std::string::npos);
  EXPECT_FALSE(changed(56, uint16_t{0}).empty());  // no program header
}

TEST(CodeObject, EveryTruncationIsAnErrorOrHarmless) {
  FileBytes good = read_fixture("kernels_v5.co");
  for (size_t n = 0; n < good.size(); n += 7) {
    Result<CodeObject> o = CodeObject::parse(std::span(good).first(n), "cut");
    if (!o) {
      EXPECT_FALSE(o.error().message().empty());
    }
  }
}

// Each behind the one before it, at a multiple of what it points to; what has no bytes, no place for an
// offset or is none of them is left alone.
TEST(LocalArguments, HaveTheirPlacesBehindStaticLds) {
  const auto argument = [](ValueKind kind, uint32_t offset, uint32_t align) {
    Argument a;
    a.kind = kind;
    a.offset = offset;
    a.pointee_align = align;
    return a;
  };
  const Argument all[] = {
      argument(ValueKind::global_buffer, 0, 4),           argument(ValueKind::dynamic_shared_pointer, 8, 16),
      argument(ValueKind::dynamic_shared_pointer, 12, 1), argument(ValueKind::dynamic_shared_pointer, 16, 8),
      argument(ValueKind::dynamic_shared_pointer, 20, 4), argument(ValueKind::dynamic_shared_pointer, 26, 4)};
  std::vector<const Argument*> pointers;
  for (const Argument& a : all) pointers.push_back(&a);
  const uint32_t bytes[] = {0, 5, 3, 16, 0, 8};
  std::vector<std::byte> segment(28, std::byte{0xee});
  // 4 static bytes; 16 to 21, 21 to 24, 24 to 40, 40 to 48.
  EXPECT_EQ(fill_local_offsets(pointers, bytes, 4, segment), 44u);
  uint32_t words[7];
  std::memcpy(words, segment.data(), sizeof words);
  EXPECT_EQ(words[2], 16u);
  EXPECT_EQ(words[3], 21u);
  EXPECT_EQ(words[4], 24u);
  for (const unsigned untouched : {0u, 1u, 5u, 6u}) EXPECT_EQ(words[untouched], 0xeeeeeeeeu) << untouched;
}

}  // namespace
}  // namespace lockstep::loader
