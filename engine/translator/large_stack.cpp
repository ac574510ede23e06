#include "engine/translator/large_stack.h"

#include <pthread.h>

#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

namespace lockstep::translator {
namespace {

// Address space, not memory: what is not touched costs nothing.
constexpr size_t kStackBytes = size_t{256} << 20;

struct Job {
  const std::function<void()>& work;
  std::exception_ptr thrown;
};

void* run(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  try {
    job.work();
  } catch (...) {
    job.thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void on_large_stack(const std::function<void()>& work) {
  Job job{work, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  int error = pthread_attr_setstacksize(&attributes, kStackBytes);
  if (error == 0) error = pthread_create(&thread, &attributes, &run, &job);
  pthread_attr_destroy(&attributes);
  if (error != 0)
    throw std::runtime_error("no thread with a stack of " + std::to_string(kStackBytes >> 20) +
                             " MB for the translator: " + std::strerror(error));
  pthread_join(thread, nullptr);
  if (job.thrown) std::rethrow_exception(job.thrown);
}

}  // namespace lockstep::translator
