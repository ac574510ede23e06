// libFuzzer target: any bytes as the file of a dump. It is refused with a reason, or its memory is mapped,
// read and compared without harm.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dump/description.h"
#include "dump/file.h"
#include "dump/memory.h"

namespace {

using namespace lockstep::dump;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// What a writer makes of a small dispatch.
std::string made_file() {
  constexpr uint64_t kAddress = 0x1234'5600'0000;
  Dispatch dispatch;
  dispatch.device = "navi31";
  dispatch.kernel = "k";
  dispatch.launch.entry = kAddress;
  dispatch.launch.grid = {64, 1, 1};
  dispatch.launch.group = {32, 1, 1};
  dispatch.launch.user_data = {1, 2};
  dispatch.launch.code = {{kAddress, kAddress + kPageBytes, 7}};
  dispatch.ranges = {
      {kAddress, kAddress + kPageBytes, lockstep::kReadWrite | lockstep::kExecute, "code", true},
      {kAddress + 2 * kPageBytes + 16, kAddress + 3 * kPageBytes, lockstep::kReadWrite, "data", true}};
  char folder[] = "/tmp/lockstep-dump-fuzz-XXXXXX";
  require(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/dump";
  const std::vector<std::byte> page(kPageBytes, std::byte{7});
  SectionWriter writer(path);
  writer.pages(SectionKind::memory, kAddress, page);
  writer.packed(SectionKind::code_object, std::span(page).first(100));
  writer.text(SectionKind::description, text_of(dispatch));
  writer.pages(SectionKind::changed_memory, kAddress + 2 * kPageBytes, page);
  writer.text(SectionKind::end, text_of(End{2, 100, false, "a fault"}));
  writer.finish();
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  unlink(path.c_str());
  rmdir(folder);
  return bytes;
}

const std::string& good_file() {
  static const std::string bytes = made_file();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int descriptor = memfd_create("dump", MFD_CLOEXEC);
  require(descriptor >= 0 && write(descriptor, data, size) == static_cast<ssize_t>(size));
  {
    const auto file = File::open("/proc/self/fd/" + std::to_string(descriptor));
    if (!file) {
      require(!file.error().message().empty());
    } else {
      (void)(*file)->code_object();
      lockstep::AddressSpace space;
      const Memory::Mapped mapped = Memory::map(**file, space);
      require(mapped.memory || !mapped.problem.empty());
      if (mapped.memory) (void)mapped.memory->compare(**file);
    }
  }
  close(descriptor);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

// Chance alone makes no file with a magic number, sections and JSON.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.starts_with(kMagic)) bytes = good_file();
  const size_t digit = bytes.find_first_of("0123456789", random() % bytes.size());
  if (random() % 2 && digit != std::string::npos) {
    bytes[digit] = static_cast<char>('0' + random() % 10);
  } else if (random() % 4 == 0) {
    bytes[random() % bytes.size()] = static_cast<char>(random());
  } else if (bytes.size() <= most) {
    std::copy(bytes.begin(), bytes.end(), data);
    return LLVMFuzzerMutate(data, bytes.size(), most);
  }
  size = std::min(bytes.size(), most);
  std::copy_n(bytes.begin(), size, data);
  return size;
}

// Longer than libFuzzer makes inputs by itself where it has none to begin with.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const std::string& good = good_file();
  return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(good.data()), good.size());
}
