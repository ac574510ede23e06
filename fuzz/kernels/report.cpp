#include "fuzz/kernels/report.h"

#include <cstring>

#include "fuzz/kernels/emit.h"

namespace lockstep::kernel_fuzz {

namespace {

std::string format(const char* pattern, auto... values) {
  char text[128];
  snprintf(text, sizeof text, pattern, values...);
  return text;
}

uint32_t word(const Bytes& bytes, size_t at) {
  uint32_t value = 0;
  memcpy(&value, &bytes[at], std::min<size_t>(4, bytes.size() - at));
  return value;
}

constexpr size_t kMostDifferences = 64;

// The words that differ or that the kernel wrote, with the value before.
std::string compare(const char* title, const Bytes& before, const Bytes& device, const Bytes& host,
                    const Kernel* kernel) {
  std::string text = std::string("\n") + title + "\n";
  size_t shown = 0, differences = 0, written = 0;
  for (size_t at = 0; at < before.size(); at += 4) {
    const bool differs = word(device, at) != word(host, at);
    differences += differs;
    written += word(host, at) != word(before, at);
    if (!differs || shown >= kMostDifferences) continue;
    ++shown;
    std::string where = format("+0x%zx", at);
    if (kernel) {
      const size_t item = at / kernel->output_bytes;
      where = format("group %zu item %3zu +%-3zu", item / kernel->local(), item % kernel->local(),
                     at % kernel->output_bytes);
    }
    text += format("! %-24s before %08x  device %08x  host %08x\n", where.c_str(), word(before, at),
                   word(device, at), word(host, at));
  }
  return text + format("  %zu words, %zu written by the host, %zu differ%s\n", before.size() / 4, written,
                       differences, differences > shown ? " (the first are shown)" : "");
}

}  // namespace

std::string describe(const Outcome& outcome) {
  const std::string first_line = outcome.message.substr(0, outcome.message.find('\n'));
  switch (outcome.kind) {
    case Outcome::Kind::same:
      return "same";
    case Outcome::Kind::different:
      return "DIFFERENT results";
    case Outcome::Kind::fault:
      return "FAULT " + first_line;
    case Outcome::Kind::not_compiled:
      return "NOT COMPILED " + first_line;
    case Outcome::Kind::finding:
      return "FINDING " + first_line;
  }
  return {};
}

std::string report(const Kernel& kernel, const Runner::Details& details) {
  const Kernel* const one[] = {&kernel};
  const Buffers before(kernel);
  std::string text = "\n---- " + details.outcome.variant.name() + ": " + describe(details.outcome) + "\n";
  if (details.outcome.kind != Outcome::Kind::different) text += details.outcome.message + "\n";
  text += "\n---- source for the device, without the macros and types (--print shows them)\n";
  const std::string source = emit(one, Target::device);
  text += source.substr(source.find("#define NOINLINE"));
  text += "\n---- listing\n" + details.listing;
  text += "\n---- initial state\n";
  for (unsigned i = 0; i < kArguments; ++i)
    text += format("a%u = 0x%llx\n", i, static_cast<unsigned long long>(kernel.arguments[i]));
  text += "input:";
  for (size_t at = 0; at < 512; at += 4)
    text +=
        (at % 32 == 0 ? format("\n  %03zx ", at) : std::string()) + format(" %08x", word(before.input, at));
  text += "\n  ... (all of it follows from the seed)\n";
  if (details.outcome.kind == Outcome::Kind::not_compiled) return text;
  text += "\n---- final states\n";
  text += compare("output", before.output, details.device_output, details.host_output, &kernel);
  text += compare("atomics", before.atomics, details.device_atomics, details.host_atomics, nullptr);
  return text;
}

}  // namespace lockstep::kernel_fuzz
