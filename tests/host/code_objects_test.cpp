#include "host/code_objects.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "machine/kernel.h"
#include "toolchain/compile.h"

namespace lockstep::host {
namespace {

constexpr const char* kSource =
    "kernel void store(global int* out) {\n"
    "  out[get_global_id(0)] = 5;\n"
    "}\n";

std::vector<std::byte> compiled(const char* source) {
  toolchain::Options options;
  options.debug_info = true;
  const toolchain::Result result =
      toolchain::compile_text(toolchain::Language::opencl, source, "store.cl", options);
  EXPECT_TRUE(result) << result.diagnostics;
  return result.code_object;
}

// A runtime's list with one code object, loaded at an address of its own.
struct CodeObjectsTest : testing::Test {
  std::vector<std::byte> bytes = compiled(kSource);
  AddressSpace memory;
  std::unique_ptr<machine::LoadedCode> loaded;
  std::string uri;
  link_map entry = {};
  r_debug list = {};
  CodeObjects objects;

  void load() {
    auto parsed = loader::CodeObject::parse(bytes, "test");
    ASSERT_TRUE(parsed);
    auto made = machine::LoadedCode::load(std::move(*parsed), memory);
    ASSERT_TRUE(made);
    loaded = std::move(*made);
    entry.l_addr = loaded->loaded_address(0);
    list.r_map = &entry;
    objects.set_list(reinterpret_cast<uint64_t>(&list));
  }
  void name(std::string text) {
    uri = std::move(text);
    entry.l_name = uri.data();
  }
  std::string in_memory() const {
    return "memory://" + std::to_string(getpid()) +
           "#offset=" + std::to_string(reinterpret_cast<uint64_t>(bytes.data())) +
           "&size=" + std::to_string(bytes.size());
  }
  uint64_t entry_point() const {
    return loaded->loaded_address(loaded->object().find_kernel("store")->entry_address);
  }
};

TEST_F(CodeObjectsTest, FindsWhatIsInMemory) {
  load();
  name(in_memory());
  const auto found = objects.at(entry_point());
  ASSERT_NE(found, nullptr);
  const loader::Kernel* kernel = found->kernel_at(entry_point());
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->name, "store");
  EXPECT_EQ(found->kernel_at(entry_point() + 4), nullptr);
  const std::string place = objects.place(entry_point() + 8);
  EXPECT_NE(place.find("kernel 'store' + 0x8"), std::string::npos) << place;
  EXPECT_NE(place.find("store.cl:"), std::string::npos) << place;
  EXPECT_EQ(objects.at(entry_point() - (1 << 30)), nullptr);
}

TEST_F(CodeObjectsTest, TellsWhatWasInlined) {
  bytes = compiled(
      "void put(global int* to, int value) {\n"
      "  *to = value;\n"
      "}\n"
      "kernel void store(global int* out) {\n"
      "  put(out + get_global_id(0), 5);\n"
      "}\n");
  load();
  name(in_memory());
  const uint64_t end = entry_point() + loaded->object().find_kernel("store")->code_size;
  std::vector<std::string> told;
  for (uint64_t pc = entry_point(); pc < end; pc += 4) {
    if (objects.place(pc).find("store.cl:2") == std::string::npos) continue;
    told = objects.caller_lines(pc);
    // What the worker has said is kept.
    EXPECT_EQ(objects.caller_lines(pc), told);
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].starts_with("inlined into store at ")) << told[0];
  EXPECT_TRUE(told[0].ends_with("store.cl:5")) << told[0];
  EXPECT_TRUE(objects.caller_lines(entry_point() - (1 << 30)).empty());
}

// As it stands in a host program, behind other bytes.
TEST_F(CodeObjectsTest, FindsWhatIsInAFile) {
  load();
  const auto path = std::filesystem::temp_directory_path() / ("lockstep code " + std::to_string(getpid()));
  {
    std::ofstream file(path, std::ios::binary);
    file << std::string(4096, 'x');
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file << "more";
  }
  std::string escaped = path.string();
  escaped.replace(escaped.find(' '), 1, "%20");
  escaped.replace(escaped.find(' '), 1, "%20");
  name("file://" + escaped + "#offset=4096&size=" + std::to_string(bytes.size()));
  EXPECT_NE(objects.at(entry_point()), nullptr);

  // The URI names another file than the one that is mapped (the loader, for a program that it has started).
  CodeObjects before, others;
  before.set_list(reinterpret_cast<uint64_t>(&list));
  others.set_list(reinterpret_cast<uint64_t>(&list));
  name("file:///proc/self/exe#offset=4096&size=" + std::to_string(bytes.size()));
  EXPECT_EQ(before.at(entry_point()), nullptr);
  const int file = open(path.c_str(), O_RDONLY);
  void* const mapped = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  EXPECT_NE(others.at(entry_point()), nullptr);
  munmap(mapped, 4096);
  close(file);
  std::filesystem::remove(path);
}

// Unloaded, and another one loaded at its place.
TEST_F(CodeObjectsTest, ForgetsWhatIsUnloaded) {
  load();
  name(in_memory());
  const uint64_t place = entry_point();
  ASSERT_NE(objects.at(place), nullptr);
  auto* const code = reinterpret_cast<uint32_t*>(place);
  const uint32_t first = *code;
  *code = ~first;
  list.r_map = nullptr;
  EXPECT_EQ(objects.at(place), nullptr);
  EXPECT_EQ(objects.place(place), "");
  *code = first;
  EXPECT_EQ(objects.at(place), nullptr);
  list.r_map = &entry;
  EXPECT_NE(objects.at(place), nullptr);
}

TEST_F(CodeObjectsTest, DamagedListsAreNoHarm) {
  load();
  for (const char* text :
       {"", "file://", "file:///nowhere#offset=5", "memory://1#size=18446744073709551615&offset=1",
        "memory://1#offset=4096&size=64", "memory://1", "http://x", "file:///dev/zero#size=99999999999"}) {
    name(text);
    EXPECT_EQ(objects.at(entry_point()), nullptr) << text;
  }
  entry.l_name = reinterpret_cast<char*>(1);
  EXPECT_EQ(objects.at(entry_point()), nullptr);
  entry.l_next = &entry;  // a ring
  EXPECT_EQ(objects.at(entry_point()), nullptr);
  entry.l_next = reinterpret_cast<link_map*>(8);
  EXPECT_EQ(objects.at(entry_point()), nullptr);
  objects.set_list(16);
  EXPECT_EQ(objects.at(entry_point()), nullptr);
  objects.set_list(0);
  EXPECT_EQ(objects.at(entry_point()), nullptr);
}

}  // namespace
}  // namespace lockstep::host
