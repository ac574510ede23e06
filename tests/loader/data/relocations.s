// Absolute words in data: the linker leaves R_AMDGPU_RELATIVE64 for the local symbol and R_AMDGPU_ABS64 for the others.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
  .amdhsa_code_object_version 5
  .text
  .p2align 8
  .type bare,@function
bare:
  s_endpgm
.Lend:
  .size bare, .Lend-bare

  .rodata
  .p2align 6
  .amdhsa_kernel bare
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
    .amdhsa_wavefront_size32 1
  .end_amdhsa_kernel

  .data
  .p2align 3
  .globl words
  .type words,@object
words:
  .quad hidden_word + 4
  .quad words + 8
  .quad elsewhere
  .quad perhaps
  .size words, 32
  .hidden hidden_word
  .type hidden_word,@object
hidden_word:
  .long 1
  .long 2
  .size hidden_word, 8
  .weak perhaps
