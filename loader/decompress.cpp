#include "loader/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <string>

#include "llvm/Support/Endian.h"

namespace lockstep::loader {
namespace {

namespace endian = llvm::support::endian;
struct Header {
  unsigned version = 0, method = 0;
  uint64_t file_size = 0;  // 0: not said (version 1)
  uint64_t uncompressed_size = 0;
  size_t size = 0;
};

Result<Header> read_header(std::span<const std::byte> bytes, std::string_view where) {
  auto fail = [&](std::string what, const char* mend = kDamaged) {
    return Error{std::move(what), std::string(where), mend};
  };
  if (bytes.size() < 8) return fail("the compressed bundle's header is cut off");
  Header h;
  h.version = endian::read16le(bytes.data() + 4);
  h.method = endian::read16le(bytes.data() + 6);
  constexpr size_t kSizes[] = {20, 24, 32};
  if (h.version < 1 || h.version > 3)
    return fail("the compressed bundle has version " + std::to_string(h.version) + ", not 1, 2 or 3",
                "unpack it with the clang-offload-bundler that made it");
  h.size = kSizes[h.version - 1];
  if (bytes.size() < h.size) return fail("the compressed bundle's header is cut off");
  const std::byte* p = bytes.data() + 8;
  if (h.version == 1) {
    h.uncompressed_size = endian::read32le(p);
  } else if (h.version == 2) {
    h.file_size = endian::read32le(p);
    h.uncompressed_size = endian::read32le(p + 4);
  } else {
    h.file_size = endian::read64le(p);
    h.uncompressed_size = endian::read64le(p + 8);
  }
  if (h.version > 1 && (h.file_size < h.size || h.file_size > bytes.size()))
    return fail("the compressed bundle claims " + std::to_string(h.file_size) + " bytes, " +
                std::to_string(bytes.size()) + " are there");
  return h;
}

// Output grows in steps, so that a wrong size field costs no more memory than the data can fill.
constexpr size_t kStep = 4 << 20;

Result<size_t> inflate_zlib(std::span<const std::byte> in, uint64_t limit, std::vector<std::byte>& out,
                            std::string_view where) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK)
    return Error{"zlib does not start", std::string(where), "free some memory"};
  size_t used = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    size_t input = std::min<size_t>(in.size() - used, UINT32_MAX);
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data() + used));
    stream.avail_in = static_cast<uInt>(input);
    size_t old = out.size(), room = std::min<uint64_t>(kStep, limit - old + 1);
    out.resize(old + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + old);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    used += input - stream.avail_in;
    out.resize(old + room - stream.avail_out);
    if (out.size() > limit) break;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) return Error{"the zlib data is damaged", std::string(where), kDamaged};
  return used;
}

Result<size_t> inflate_zstd(std::span<const std::byte> in, uint64_t limit, std::vector<std::byte>& out,
                            std::string_view where) {
  ZSTD_DStream* stream = ZSTD_createDStream();
  if (!stream) return Error{"zstd does not start", std::string(where), "free some memory"};
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  size_t status = 1;
  while (status != 0) {
    size_t old = out.size(), room = std::min<uint64_t>(kStep, limit - old + 1);
    out.resize(old + room);
    ZSTD_outBuffer output{out.data() + old, room, 0};
    size_t before = input.pos;
    status = ZSTD_decompressStream(stream, &output, &input);
    out.resize(old + output.pos);
    bool stuck = output.pos == 0 && input.pos == before;
    if (ZSTD_isError(status) || out.size() > limit || (status != 0 && stuck)) break;
  }
  ZSTD_freeDStream(stream);
  if (status != 0) return Error{"the zstd data is damaged", std::string(where), kDamaged};
  return input.pos;
}

}  // namespace

Result<Decompressed> decompress(Compression method, std::span<const std::byte> packed, uint64_t size,
                                uint64_t most, std::string_view where) {
  if (size > most)
    return Error{"the compressed data claims to unpack to " + std::to_string(size) + " bytes, and " +
                     std::to_string(most) + " are left to a file of this size",
                 std::string(where), "if it is not damaged, unpack it with clang-offload-bundler"};
  Decompressed out;
  Result<size_t> used = method == Compression::zlib ? inflate_zlib(packed, size, out.bytes, where)
                                                    : inflate_zstd(packed, size, out.bytes, where);
  if (!used) return used.error();
  if (out.bytes.size() != size)
    return Error{"the compressed data unpacks to " + std::to_string(out.bytes.size()) + " bytes, not the " +
                     std::to_string(size) + " that its header claims",
                 std::string(where), kDamaged};
  out.consumed = *used;
  return out;
}

Result<Decompressed> decompress_bundle(std::span<const std::byte> bytes, uint64_t most,
                                       std::string_view where) {
  Result<Header> header = read_header(bytes, where);
  if (!header) return header.error();
  if (header->method > static_cast<unsigned>(Compression::zstd))
    return Error{"the compressed bundle has the unknown method " + std::to_string(header->method),
                 std::string(where), "unpack it with the clang-offload-bundler that made it"};
  size_t end = header->file_size ? header->file_size : bytes.size();
  Result<Decompressed> out =
      decompress(static_cast<Compression>(header->method), bytes.subspan(header->size, end - header->size),
                 header->uncompressed_size, most, where);
  if (out) out->consumed = header->file_size ? header->file_size : header->size + out->consumed;
  return out;
}

}  // namespace lockstep::loader
