// Requests to the kernel's driver that nothing answers here: their names, and why.
#pragma once

namespace lockstep::host {

// Tell it on the standard error, each once in a process. Numbers are those of ioctls (_IOC_NR), or of what
// AMDGPU_INFO asks for.
void refuse_kfd(unsigned number);
void refuse_render_node(unsigned number);
void refuse_query(unsigned number);
// Of commands that come by the render node.
void refuse_engine(unsigned type);
void refuse_chunk(unsigned id);
// Of an image of ROCr's, by its hsa_ext_image_geometry_t.
void refuse_image(unsigned geometry);

}  // namespace lockstep::host
