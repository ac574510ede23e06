#include "toolchain/worker_protocol.h"

#include "toolchain/message.h"

namespace lockstep::toolchain {

std::optional<RequestKind> kind_of_request(std::string_view bytes) {
  MessageReader in(bytes);
  const auto kind = RequestKind(in.number());
  if (!in.good() || (kind != RequestKind::assembly && kind != RequestKind::frames)) return std::nullopt;
  return kind;
}

std::string encode(const AssemblyRequest& request) {
  MessageWriter out;
  out.number(uint64_t(RequestKind::assembly));
  for (const std::string& text :
       {request.text, request.name, request.folder, request.compilation_directory, request.options.processor})
    out.text(text);
  const Options& options = request.options;
  for (const uint64_t number : {uint64_t{options.wave_size}, uint64_t{options.code_object_version},
                                uint64_t{options.debug_info}, uint64_t{options.limits.seconds},
                                options.limits.megabytes, uint64_t{options.include_directories.size()}})
    out.number(number);
  for (const auto& directory : options.include_directories) out.text(directory.string());
  const ListingKernel& kernel = options.listing;
  out.text(kernel.name);
  for (const unsigned number :
       {kernel.vgprs, kernel.lds_bytes, kernel.scratch_bytes_per_lane, kernel.kernarg_bytes})
    out.number(number);
  return out.bytes();
}

std::optional<AssemblyRequest> decode_request(std::string_view bytes) {
  MessageReader in(bytes);
  if (RequestKind(in.number()) != RequestKind::assembly) return std::nullopt;
  AssemblyRequest request;
  Options& options = request.options;
  for (std::string* text :
       {&request.text, &request.name, &request.folder, &request.compilation_directory, &options.processor})
    *text = in.text();
  options.wave_size = unsigned(in.number());
  options.code_object_version = unsigned(in.number());
  options.debug_info = in.number() != 0;
  options.limits.seconds = unsigned(in.number());
  options.limits.megabytes = in.number();
  for (uint64_t left = in.number(); left > 0 && in.good(); --left)
    options.include_directories.emplace_back(in.text());
  ListingKernel& kernel = options.listing;
  kernel.name = in.text();
  for (unsigned* number :
       {&kernel.vgprs, &kernel.lds_bytes, &kernel.scratch_bytes_per_lane, &kernel.kernarg_bytes})
    *number = unsigned(in.number());
  if (!in.good() || !in.at_end()) return std::nullopt;
  return request;
}

std::string encode(const FramesRequest& request) {
  MessageWriter out;
  out.number(uint64_t(RequestKind::frames));
  out.text(request.code_object);
  for (const uint64_t address : request.addresses) out.number(address);
  return out.bytes();
}

std::optional<FramesRequest> decode_frames_request(std::string_view bytes) {
  MessageReader in(bytes);
  if (RequestKind(in.number()) != RequestKind::frames) return std::nullopt;
  FramesRequest request;
  request.code_object = in.text();
  while (in.good() && !in.at_end()) request.addresses.push_back(in.number());
  if (!in.good() || !in.at_end()) return std::nullopt;
  return request;
}

std::string encode(const std::vector<std::vector<Frame>>& frames) {
  MessageWriter out;
  for (const std::vector<Frame>& of_address : frames) {
    out.number(of_address.size());
    for (const Frame& frame : of_address) {
      out.text(frame.function);
      out.text(frame.file);
      out.number(frame.line);
    }
  }
  return out.bytes();
}

std::optional<std::vector<std::vector<Frame>>> decode_frames(std::string_view bytes) {
  MessageReader in(bytes);
  std::vector<std::vector<Frame>> frames;
  while (in.good() && !in.at_end()) {
    std::vector<Frame>& of_address = frames.emplace_back();
    for (uint64_t left = in.number(); left > 0 && in.good(); --left) {
      Frame& frame = of_address.emplace_back();
      frame.function = in.text();
      frame.file = in.text();
      frame.line = uint32_t(in.number());
    }
  }
  if (!in.good()) return std::nullopt;
  return frames;
}

std::optional<Result> decode_answer(std::string_view bytes) {
  MessageReader in(bytes);
  Result result;
  while (in.good() && !in.at_end()) {
    const auto record = Record(in.number());
    const std::string_view text = in.text();
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    if (record == Record::diagnostics)
      result.diagnostics += text;
    else if (record == Record::code_object)
      result.code_object.assign(first, first + text.size());
    else
      return std::nullopt;
  }
  if (!in.good()) return std::nullopt;
  return result;
}

}  // namespace lockstep::toolchain
