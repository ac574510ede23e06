// Addresses that are reserved apart from the memory that is mapped there: an array that grows in place, and one piece
// of memory at two addresses.
#include <vector>

#include "check.h"

__global__ void add(int* data, int count, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += value;
}

int main() {
  int supported = 0;
  CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeVirtualMemoryManagementSupported, 0));
  if (!supported) {
    std::printf("virtual memory: this runtime does not offer it\n");
    return 0;
  }
  constexpr size_t kPiece = size_t{2} << 20, kPieces = 4;
  constexpr int kCount = kPiece / sizeof(int);
  hipMemAllocationProp properties = {};
  properties.type = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  hipMemAccessDesc access = {};
  access.location = properties.location;
  access.flags = hipMemAccessFlagsProtReadWrite;

  void* reserved;
  CHECK(hipMemAddressReserve(&reserved, (kPieces + 1) * kPiece, 0, nullptr, 0));
  char* const begin = static_cast<char*>(reserved);
  std::vector<hipMemGenericAllocationHandle_t> pieces;
  long wrong = 0;
  for (size_t i = 0; i < kPieces; ++i) {
    hipMemGenericAllocationHandle_t piece;
    CHECK(hipMemCreate(&piece, kPiece, &properties, 0));
    CHECK(hipMemMap(begin + i * kPiece, kPiece, 0, piece, 0));
    CHECK(hipMemSetAccess(begin + i * kPiece, kPiece, &access, 1));
    CHECK(hipMemset(begin + i * kPiece, 0, kPiece));
    pieces.push_back(piece);
    // All that is there by now, as one array.
    const int count = static_cast<int>(i + 1) * kCount;
    add<<<(count + 255) / 256, 256>>>(reinterpret_cast<int*>(begin), count, 1);
  }
  std::vector<int> data(kPieces * kCount);
  for (size_t i = 0; i < kPieces; ++i)
    CHECK(hipMemcpy(&data[i * kCount], begin + i * kPiece, kPiece, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < data.size(); ++i) wrong += data[i] != static_cast<int>(kPieces - i / kCount);

  char* const again = begin + kPieces * kPiece;
  CHECK(hipMemMap(again, kPiece, 0, pieces[0], 0));
  CHECK(hipMemSetAccess(again, kPiece, &access, 1));
  add<<<kCount / 256, 256>>>(reinterpret_cast<int*>(again), kCount, 10);
  CHECK(hipMemcpy(data.data(), begin, kPiece, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) wrong += data[i] != static_cast<int>(kPieces) + 10;

  CHECK(hipMemUnmap(again, kPiece));
  for (size_t i = 0; i < kPieces; ++i) {
    CHECK(hipMemUnmap(begin + i * kPiece, kPiece));
    CHECK(hipMemRelease(pieces[i]));
  }
  CHECK(hipMemAddressFree(reserved, (kPieces + 1) * kPiece));
  return verdict("virtual memory", wrong);
}
