// A plug-in as a listener: what is told of waves goes to its call-backs, what it finds to the findings.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/findings.h"
#include "engine/listener.h"
#include "observe/plugin/plugin_library.h"

namespace lockstep::observe {

class PluginListener final : public Listener {
 public:
  // `text` as for PluginLibrary; `findings` must outlive this. Throws PluginError.
  PluginListener(std::string_view text, Findings& findings);
  ~PluginListener() override;
  PluginListener(const PluginListener&) = delete;
  PluginListener& operator=(const PluginListener&) = delete;

  // Of the checker that its findings have.
  const char* name() const { return name_; }
  Order order() const override { return plugin_.is_concurrent ? Order::groups : Order::serial; }
  bool wants(const isa::Instruction& instruction) const override;
  void before(const Event& event) override { tell(plugin_.before, event); }
  void after(const Event& event) override { tell(plugin_.after, event); }
  void faulted(const Event& event) override { tell(plugin_.faulted, event); }
  void dispatch_begins(const DispatchEvent& event) override;
  void dispatch_ends(const DispatchEvent& event) override;
  void group_begins(const WorkGroup& group) override { tell(plugin_.group_begins, group); }
  void group_ends(const WorkGroup& group) override { tell(plugin_.group_ends, group); }
  void barrier_passed(const WorkGroup& group) override { tell(plugin_.barrier, group); }

 private:
  // What the plug-in holds: its functions find this by it.
  struct Host : lockstep_plugin_host {
    PluginListener* owner = nullptr;
  };

  static void find(const lockstep_plugin_host* host, const lockstep_plugin_finding* finding);
  static int range(const lockstep_plugin_host* host, uint64_t dispatch, uint64_t address,
                   lockstep_plugin_range* out);
  std::unique_lock<std::mutex> turn() const;
  void tell(void (*call)(void*, const lockstep_plugin_event*), const Event& event) const;
  void tell(void (*call)(void*, const lockstep_plugin_group*), const WorkGroup& group) const;
  void tell(void (*call)(void*, const lockstep_plugin_dispatch*), const DispatchEvent& event) const;

  PluginLibrary library_;
  Findings& findings_;
  Host host_;
  lockstep_plugin plugin_ = {};
  const char* name_ = nullptr;  // lives for ever, as findings want it
  mutable std::mutex mutex_;    // held while a plug-in is called that is not concurrent
  mutable std::array<std::atomic<uint8_t>, static_cast<size_t>(isa::Opcode::count)> wanted_{};
  mutable std::mutex memories_mutex_;
  std::unordered_map<uint64_t, const RangeSet*> memories_;  // of the dispatches that run, by their numbers
};

}  // namespace lockstep::observe
