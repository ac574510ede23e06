#include "memory/mapped_pages.h"

#include <new>
#include <utility>

namespace lockstep {

MappedPages::MappedPages(AddressSpace& memory, size_t bytes, uint8_t access, std::string name)
    : MappedPages(memory, HostPages::make((bytes + 4095) / 4096 * 4096), access, std::move(name)) {}

MappedPages::MappedPages(AddressSpace& memory, std::shared_ptr<const HostPages> pages, uint8_t access,
                         std::string name)
    : memory_(memory), pages_(std::move(pages)) {
  if (!pages_ || !memory_.map(address(), pages_->bytes(), access, std::move(name), pages_))
    throw std::bad_alloc();
}

MappedPages::~MappedPages() {
  memory_.unmap(address());
  pages_->empty();
}

}  // namespace lockstep
