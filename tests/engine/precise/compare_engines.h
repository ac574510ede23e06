// The same program in the interpreter and in the precise engine. For the fuzzer and for the test that needs
// no fuzzer.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep::precise {

// The bytes choose a dispatch of one or two small work-groups and the instructions of its program, most of
// them of program flow. Runs it by the interpreter, by the precise engine with its rules checked, and with
// results that land late or at random. Empty if all that must agree agrees: memory and the dumped registers
// afterwards, the fault and where it is, interrupts, instructions executed. Else what differs, with the
// listing. Programs that run for too long are only run, not compared.
std::string compare_engines(std::span<const std::byte> bytes);

}  // namespace lockstep::precise
