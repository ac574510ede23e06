# Runtime functions as translated code calls them where it hardly ever comes: all registers of vectors, masks and
# integers come back as they were, but for the result in RAX. Then the code keeps there what it would have to
# store for such a call on the way that is taken always. Code calls them with LLVM's attribute
# no_caller_saved_registers, whose list of registers this is. At most eight words of arguments are on the stack.
    .text
    .altmacro

    .macro keeps name, level, is_void
    .globl \name\()_keeping_\level
    .hidden \name\()_keeping_\level
    .type \name\()_keeping_\level, @function
\name\()_keeping_\level:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %r8
    push %r9
    push %r10
    push %r11
    push %rax
    sub $(2048 + 64), %rsp
    and $-64, %rsp
    store_\level
    vzeroupper
    sub $64, %rsp  # arguments behind the sixth
    .set i, 0
    .rept 8
    mov (16 + 8 * i)(%rbp), %rax
    mov %rax, (8 * i)(%rsp)
    .set i, i + 1
    .endr
    call \name
    add $64, %rsp
    load_\level
    lea -72(%rbp), %rsp
    .if \is_void
    pop %rax
    .else
    add $8, %rsp
    .endif
    pop %r11
    pop %r10
    pop %r9
    pop %r8
    pop %rdi
    pop %rsi
    pop %rdx
    pop %rcx
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size \name\()_keeping_\level, . - \name\()_keeping_\level
    .endm

    .macro store_one_zmm n
    vmovdqa64 %zmm\n, (64 * \n)(%rsp)
    .endm
    .macro load_one_zmm n
    vmovdqa64 (64 * \n)(%rsp), %zmm\n
    .endm
    .macro store_one_ymm n
    vmovdqa %ymm\n, (64 * \n)(%rsp)
    .endm
    .macro load_one_ymm n
    vmovdqa (64 * \n)(%rsp), %ymm\n
    .endm
    .macro store_one_k n
    kmovq %k\n, (2048 + 8 * \n)(%rsp)
    .endm
    .macro load_one_k n
    kmovq (2048 + 8 * \n)(%rsp), %k\n
    .endm
    .macro each what, count
    .set i, 0
    .rept \count
    \what %i
    .set i, i + 1
    .endr
    .endm
    .macro store_v4
    each store_one_zmm, 32
    each store_one_k, 8
    .endm
    .macro load_v4
    each load_one_zmm, 32
    each load_one_k, 8
    .endm
    .macro store_v3
    each store_one_ymm, 16
    .endm
    .macro load_v3
    each load_one_ymm, 16
    .endm

    keeps lockstep_translator_allowed, v3, 0
    keeps lockstep_translator_allowed, v4, 0
    keeps lockstep_translator_global, v3, 0
    keeps lockstep_translator_global, v4, 0
    keeps lockstep_translator_flat, v3, 0
    keeps lockstep_translator_flat, v4, 0
    keeps lockstep_translator_store_rows, v3, 1
    keeps lockstep_translator_store_rows, v4, 1
    keeps lockstep_translator_forget_paths, v3, 1
    keeps lockstep_translator_forget_paths, v4, 1

    .section .note.GNU-stack,"",@progbits
