#include "machine/wait_text.h"

#include "state/dispatch_state.h"
#include "state/work_group.h"

namespace lockstep::machine {

std::optional<WaitText> describe_wait(const Wave& wave) {
  DispatchState& dispatch = *wave.group->dispatch;
  DeviceState::Access device(*dispatch.device);
  // The wave's own thread may change what the wave itself says of its wait; the queues are the device's.
  if (dispatch.ordered.is_waiting(wave))
    return WaitText{"wave " + std::to_string(wave.creation_index) +
                        " of the dispatch waits for its turn at ds_ordered_count",
                    "it is the turn of wave " + std::to_string(dispatch.ordered.turn()) +
                        ", which must issue one with wave_release (guide 13.4.3)"};
  const std::optional<unsigned> id = device.gws().resource_of(wave);
  if (!id) return std::nullopt;
  const GlobalWaveSync::Resource& resource = device.gws().resource(*id);
  const std::string place = " in global wave sync resource " + std::to_string(*id);
  if (wave.wait.kind == WaitKind::semaphore)
    return WaitText{"the wave waits at the semaphore" + place,
                    "it lacks a ds_gws_sema_v, ds_gws_sema_br or ds_gws_sema_release_all (guide 13.4.4)" +
                        std::string(resource.type == GlobalWaveSync::Type::semaphore
                                        ? ""
                                        : "; the resource was used as a barrier since")};
  return WaitText{
      "the wave waits at the barrier" + place,
      std::to_string(resource.counter) +
          " more must arrive. ds_gws_init takes the number of waves, ds_gws_barrier that number minus one "
          "(guide table 63)" +
          (resource.type == GlobalWaveSync::Type::barrier ? ""
                                                          : "; the resource was used as a semaphore since")};
}

}  // namespace lockstep::machine
