#include "observe/code/code_flow.h"

#include <algorithm>

#include "isa/branch.h"
#include "isa/code_addresses.h"

namespace lockstep::observe {

namespace {

using isa::Opcode;

Leaves leaving(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case Opcode::s_branch:
      return Leaves::to_target;
    case Opcode::s_call_b64:
    case Opcode::s_swappc_b64:
      return Leaves::by_call;
    case Opcode::s_setpc_b64:
    case Opcode::s_rfe_b64:
      return Leaves::by_return;
    case Opcode::s_trap:
      return Leaves::to_next;
    case Opcode::s_code_end:
      return Leaves::at_end;
    default:
      if (instruction.row->flags & isa::kEndsWave) return Leaves::at_end;
      return instruction.row->flags & isa::kBranch ? Leaves::to_both : Leaves::to_next;
  }
}

std::optional<uint64_t> target_of(const isa::Instruction& instruction, uint64_t next,
                                  const isa::CodeAddresses& addresses) {
  if (const auto target = isa::label_target(instruction, next)) return target;
  const bool by_register =
      instruction.row->opcode == Opcode::s_setpc_b64 || instruction.row->opcode == Opcode::s_swappc_b64;
  return by_register ? addresses.find(instruction.find(isa::Role::src0)->code) : std::nullopt;
}

}  // namespace

CodeFlow::CodeFlow(const Code& code, const Root& root) {
  functions_.insert(root.begin);
  std::vector<uint64_t> further = {root.begin};
  std::set<uint64_t> reached;
  while (!further.empty()) {
    const uint64_t begin = further.back();
    further.pop_back();
    if (!reached.insert(begin).second) continue;
    follow(code, begin, root.wave_size, further);
  }
  std::sort(places_.begin(), places_.end(),
            [](const Place& a, const Place& b) { return a.address < b.address; });
  for (uint32_t i = 0; i < places_.size(); ++i) {
    index_[places_[i].address] = i;
    places_[i].is_reached_by_jump = reached.contains(places_[i].address);
  }
}

const Place* CodeFlow::at(uint64_t address) const {
  const auto found = index_.find(address);
  return found == index_.end() ? nullptr : &places_[found->second];
}

// From `begin` on, until it comes to what is known or does not go on to the next instruction.
void CodeFlow::follow(const Code& code, uint64_t begin, unsigned wave_size, std::vector<uint64_t>& further) {
  isa::CodeAddresses addresses;
  const auto is_inside = [&](uint64_t address) {
    return address >= code.address && address < code.end() && address % 4 == 0;
  };
  for (uint64_t at = begin; is_inside(at) && !index_.contains(at);) {
    Place place;
    place.address = at;
    if (isa::decode(code.bytes.subspan(at - code.address), wave_size, place.instruction) !=
        isa::DecodeError::none) {
      undecodable_.push_back(at);
      return;
    }
    place.leaves = leaving(place.instruction);
    place.target = target_of(place.instruction, place.next(), addresses);
    if (place.target && !is_inside(*place.target)) place.target.reset();
    if (place.leaves == Leaves::by_return && place.target) place.leaves = Leaves::to_target;
    addresses.note(place.instruction, place.next(), wave_size);
    if (place.target) further.push_back(*place.target);
    if (place.target && place.leaves == Leaves::by_call) functions_.insert(*place.target);
    // Behind a call that does not return stands another function.
    place.goes_on = place.leaves != Leaves::to_target && place.leaves != Leaves::by_return &&
                    place.leaves != Leaves::at_end && !code.function_begins.contains(place.next());
    const bool ends_block = place.leaves != Leaves::to_next;
    if (place.goes_on && ends_block) further.push_back(place.next());
    const bool goes_on = place.goes_on;
    at = place.next();
    index_[place.address] = static_cast<uint32_t>(places_.size());
    places_.push_back(std::move(place));
    if (!goes_on || ends_block) return;
  }
}

}  // namespace lockstep::observe
