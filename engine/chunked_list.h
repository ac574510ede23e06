// Grows without moving what it has, and takes memory by the chunk: for thousands of things of a few hundred
// bytes, which a std::deque allocates one by one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

template <class T, size_t kEach = 32>
class ChunkedList {
 public:
  ChunkedList() = default;
  ChunkedList(const ChunkedList&) = delete;
  ChunkedList& operator=(const ChunkedList&) = delete;
  ~ChunkedList() {
    for (size_t i = 0; i < size_; ++i) std::destroy_at(place(i));
  }

  size_t size() const { return size_; }
  template <class... Arguments>
  T& add(Arguments&&... arguments) {
    if (size_ % kEach == 0) chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
    T* const made = std::construct_at(place(size_), std::forward<Arguments>(arguments)...);
    ++size_;
    return *made;
  }

 private:
  struct Chunk {
    alignas(T) std::array<std::byte, kEach * sizeof(T)> bytes;
  };
  T* place(size_t i) {
    return reinterpret_cast<T*>(chunks_[i / kEach]->bytes.data() + i % kEach * sizeof(T));
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  size_t size_ = 0;
};

}  // namespace lockstep
