// Pages that programs store to when they have published packets, and the thread that notices and processes
// what it can of them: each hand-over to another thread costs more than an empty kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "host/gpu.h"
#include "host/store.h"

namespace lockstep::host {

class Doorbells {
 public:
  Doorbells(Store& store, const std::vector<std::unique_ptr<Gpu>>& gpus);
  ~Doorbells();
  Doorbells(const Doorbells&) = delete;
  Doorbells& operator=(const Doorbells&) = delete;

  static constexpr unsigned kOfDevice = Store::kDoorbellBytes / 8;

  // A free doorbell of the device, with the value that no program stores; null if all are taken.
  uint64_t* take(const Gpu& gpu);
  void give_back(const Gpu& gpu, uint64_t* doorbell);
  // What a program maps to reach it, and where in these pages it is.
  uint64_t offset(const Gpu& gpu, const uint64_t* doorbell) const;
  // Lets the device process packets for a moment on a thread that is about to wait for them; whether there
  // may be more.
  bool serve_for_waiter();
  // For who was told so and will not call it again.
  void waiter_leaves();
  // To be called by a thread that has published packets, before it rings: then its store need not wait until
  // the thread that looks at the pages has woken up. Costs a load where that one is awake.
  void about_to_ring();
  // Stores to the doorbell there, for a thread that has published packets, and lets the device process them
  // on it for a moment: after a rest nobody need wake up for a small kernel. False, and nothing done, where
  // the thread that looks at the pages is awake, or rings come so fast that it had better be.
  bool ring(const void* address, uint64_t value);
  // The program has mapped the doorbells of a device there.
  void mapped(uint64_t offset, void* address);

 private:
  using Clock = std::chrono::steady_clock;

  struct Pages {
    uint64_t* ours = nullptr;
    void* programs = nullptr;                                       // null: not mapped, or nobody saw it
    bool is_new = false;                                            // mapped since they were registered
    std::vector<uint32_t> taken;                                    // numbers of doorbells
    std::vector<uint64_t> seen = std::vector<uint64_t>(kOfDevice);  // their values as of the last look
  };

  void run();
  // How long the next ring is worth waiting for: programs that rang every few milliseconds do so again.
  void note_ring(Clock::time_point time);
  bool expects_ring(Clock::time_point time) const { return time - last_rung_.load() < expected_.load(); }
  // Until there is something to do, with rehearsals as long as a ring is expected.
  void sleep();
  // Looks at all pages; whether anything was rung.
  bool look();
  // Lets the devices process packets for a moment: those that were rung or have more to do.
  void serve();
  // Waits until somebody is about to store to a protected page, where the kernel has that; false if it has
  // not, or not all pages are known.
  bool wait_for_store();
  void protect(bool on);
  void wake();
  void open_userfault();

  Store& store_;
  const std::vector<std::unique_ptr<Gpu>>& gpus_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Pages> pages_;
  unsigned in_use_ = 0;
  bool stop_ = false;
  std::vector<bool> to_serve_;  // by device; the thread's own
  int userfault_ = -1, event_ = -1;
  std::atomic<bool> asleep_ = false;  // the pages are protected
  bool sleeps_deeply_ = false;        // and nothing is rehearsed
  std::atomic<Clock::time_point> last_rung_{};
  std::atomic<Clock::duration> expected_{};
  Clock::time_point crowded_until_{};  // the thread's own: others want the processors
  unsigned burst_ = 0;                 // rings that ring() has taken, one soon behind the other
  std::vector<void*> registered_;      // with userfault_, by device
  std::thread thread_;
};

}  // namespace lockstep::host
