# The bodies of semantics/ in the library's read-only data.
    .section .rodata
    .balign 16
    .globl lockstep_translator_bodies_begin
    .hidden lockstep_translator_bodies_begin
    .globl lockstep_translator_bodies_end
    .hidden lockstep_translator_bodies_end
lockstep_translator_bodies_begin:
    .incbin LOCKSTEP_BODIES
lockstep_translator_bodies_end:
    .section .note.GNU-stack,"",@progbits
