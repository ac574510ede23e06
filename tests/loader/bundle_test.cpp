#include "loader/bundle.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "loader/code_object.h"
#include "tests/loader/fixtures.h"

namespace lockstep::loader {

FileBytes compress_bundle(const FileBytes& bundle, unsigned version, Method method) {
  std::vector<std::byte> packed;
  if (method == Method::zlib) {
    uLongf size = compressBound(bundle.size());
    packed.resize(size);
    EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(bundle.data()), bundle.size()),
              Z_OK);
    packed.resize(size);
  } else {
    packed.resize(ZSTD_compressBound(bundle.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), bundle.data(), bundle.size(), 3));
  }
  FileBytes out;
  append(out, "CCOB");
  append_number<uint16_t>(out, version);
  append_number<uint16_t>(out, static_cast<uint16_t>(method));
  if (version == 2) append_number<uint32_t>(out, 24 + packed.size());
  if (version == 3) append_number<uint64_t>(out, 32 + packed.size());
  if (version == 3)
    append_number<uint64_t>(out, bundle.size());
  else
    append_number<uint32_t>(out, bundle.size());
  append_number<uint64_t>(out, 0x1234);  // hash, which readers do not need
  out.insert(out.end(), packed.begin(), packed.end());
  return out;
}

namespace {

const std::string kHost = "host-x86_64-unknown-linux-gnu-";
const std::string kGfx1100 = "hipv4-amdgcn-amd-amdhsa--gfx1100";

FileBytes sample_bundle() {
  return make_bundle({{kHost, {}},
                      {kGfx1100, read_fixture("kernels_v5.co")},
                      {"hipv4-amdgcn-amd-amdhsa--gfx1030", read_fixture("kernels_gfx1030.co")}});
}

void expect_kernels(const Result<std::vector<Image>>& images, size_t count) {
  ASSERT_TRUE(images) << images.error().message();
  ASSERT_EQ(images->size(), count);
  for (const Image& i : *images) {
    Result<CodeObject> o = CodeObject::parse(i.bytes, i.where);
    ASSERT_TRUE(o) << o.error().message();
    EXPECT_EQ(o->target().processor, "gfx1100");
    EXPECT_FALSE(o->kernels().empty());
  }
}

TEST(Bundle, LoneCodeObjectIsItsOwnImage) {
  FileBytes file = read_fixture("kernels_v5.co");
  Result<std::vector<Image>> images = list_images(file, "lone");
  expect_kernels(images, 1);
  EXPECT_EQ(images->front().target, "gfx1100");
}

TEST(Bundle, EntriesAreFoundByTarget) {
  FileBytes file = sample_bundle();
  Result<std::vector<Image>> all = list_images(file, "bundle");
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].kind, "host");
  EXPECT_EQ((*all)[0].target, "");
  EXPECT_EQ((*all)[1].id, kGfx1100);
  EXPECT_EQ((*all)[1].kind, "hipv4");
  EXPECT_EQ((*all)[1].target, "gfx1100");
  EXPECT_EQ((*all)[2].target, "gfx1030");
  expect_kernels(find_images(file, "bundle", "gfx1100"), 1);
  Result<std::vector<Image>> none = find_images(file, "bundle", "gfx942");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("gfx1100, gfx1030"), std::string::npos) << none.error().message();
}

TEST(Bundle, SeveralInARowWithPadding) {
  FileBytes file = sample_bundle();
  file.resize((file.size() + 8191) / 4096 * 4096);
  FileBytes second = make_bundle({{kGfx1100, read_fixture("kernels_v4.co")}}, 8);
  file.insert(file.end(), second.begin(), second.end());
  file.resize(file.size() + 100);
  Result<std::vector<Image>> images = find_images(file, "two", "gfx1100");
  expect_kernels(images, 2);
  EXPECT_NE((*images)[0].bundle, (*images)[1].bundle);
}

TEST(Bundle, CompressedInEveryVersionAndMethod) {
  FileBytes bundle = sample_bundle();
  for (unsigned version : {1u, 2u, 3u}) {
    for (Method method : {Method::zlib, Method::zstd}) {
      SCOPED_TRACE(version);
      FileBytes file = compress_bundle(bundle, version, method);
      expect_kernels(find_images(file, "packed", "gfx1100"), 1);
      FileBytes again = file;
      again.resize(again.size() + 40);
      again.insert(again.end(), file.begin(), file.end());
      expect_kernels(find_images(again, "packed twice", "gfx1100"), 2);
    }
  }
}

TEST(Bundle, DamagedCompressionIsAnError) {
  FileBytes file = compress_bundle(sample_bundle(), 2, Method::zstd);
  auto error_of = [&](size_t offset, auto value) {
    FileBytes copy = file;
    put(copy, offset, value);
    Result<std::vector<Image>> r = list_images(copy, "bad");
    return r ? std::string() : r.error().message();
  };
  EXPECT_NE(error_of(4, uint16_t{9}).find("version 9"), std::string::npos);
  EXPECT_NE(error_of(6, uint16_t{7}).find("method 7"), std::string::npos);
  EXPECT_NE(error_of(8, uint32_t{0xffffffff}).find("claims"), std::string::npos);
  EXPECT_NE(error_of(12, uint32_t{0xffffffff}).find("claims"), std::string::npos);
  EXPECT_NE(error_of(12, uint32_t{100}).find("bad"), std::string::npos);
  EXPECT_NE(error_of(24, uint64_t{0}).find("damaged"), std::string::npos);
  EXPECT_FALSE(list_images(std::span(file).first(10), "cut"));
}

TEST(Bundle, NestedAndTooDeep) {
  FileBytes inner = sample_bundle();
  FileBytes nested = make_bundle({{kGfx1100, compress_bundle(inner, 3, Method::zlib)}}, 16);
  expect_kernels(find_images(nested, "nested", "gfx1100"), 1);
  for (int i = 0; i < 8; ++i) nested = make_bundle({{kGfx1100, nested}}, 8);
  Result<std::vector<Image>> deep = list_images(nested, "deep");
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().what.find("nested"), std::string::npos);
}

TEST(Bundle, HostLibraryWithTwoTranslationUnits) {
  FileBytes file = read_fixture("program.so");
  EXPECT_EQ(kind_of_file(file), FileKind::host_elf);
  Result<std::vector<Image>> images = find_images(file, "program.so", "gfx1100");
  expect_kernels(images, 2);
  Result<std::vector<Image>> other = find_images(file, "program.so", "gfx90a");
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ((*other)[0].target, "gfx90a:xnack+");
  EXPECT_FALSE(find_images(file, "program.so", "gfx90a:xnack-"));
}

TEST(Bundle, CompressedByClang) {
  expect_kernels(find_images(read_fixture("program_compressed.o"), "program_compressed.o", "gfx1100"), 1);
}

TEST(Bundle, FilesThatHoldNoCodeObject) {
  Result<std::vector<Image>> r = list_images({}, "empty");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().what.find("empty"), std::string::npos);
  FileBytes text;
  append(text, "# __CLANG_OFFLOAD_BUNDLE____START__ host");
  r = list_images(text, "text");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().what.find("text bundle"), std::string::npos);
}

TEST(Target, FeatureSigns) {
  EXPECT_TRUE(target_matches("gfx1100", "gfx1100"));
  EXPECT_TRUE(target_matches("gfx90a:xnack+", "gfx90a"));
  EXPECT_TRUE(target_matches("gfx90a", "gfx90a:xnack+"));
  EXPECT_TRUE(target_matches("gfx90a:sramecc+:xnack-", "gfx90a:xnack-"));
  EXPECT_FALSE(target_matches("gfx90a:sramecc+:xnack-", "gfx90a:xnack+"));
  EXPECT_TRUE(target_matches("gfx11-generic", "gfx1101"));
  EXPECT_FALSE(target_matches("gfx1100", "gfx1101"));
  EXPECT_FALSE(target_matches("", "gfx1100"));
}

}  // namespace
}  // namespace lockstep::loader
