/* SPDX-License-Identifier: MIT */
/* Functions as compilers do not write them; each calls the function it is given (rdi) with what it needs. */

	.text

/* rbx and r15 saved by pushes, rbp as a number. */
	.globl rung_pushes
	.type rung_pushes, @function
rung_pushes:
	.cfi_startproc
	pushq %r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	subq $24, %rsp
	.cfi_adjust_cfa_offset 24
	movq $-1, %rbp
	movq $1, %r15
	call *%rdi
	addq $24, %rsp
	.cfi_adjust_cfa_offset -24
	popq %rbp
	.cfi_adjust_cfa_offset -8
	popq %r15
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size rung_pushes, . - rung_pushes

/* rbp is 0 while it calls: no root. */
	.globl rung_rbp_is_zero
	.type rung_rbp_is_zero, @function
rung_rbp_is_zero:
	.cfi_startproc
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	xorl %ebp, %ebp
	call *%rdi
	popq %rbp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size rung_rbp_is_zero, . - rung_rbp_is_zero

/* The CFA in rbx, and a stack aligned downwards by hand. */
	.globl rung_cfa_in_rbx
	.type rung_cfa_in_rbx, @function
rung_cfa_in_rbx:
	.cfi_startproc
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	movq %rsp, %rbx
	.cfi_def_cfa_register rbx
	subq $200, %rsp
	andq $-64, %rsp
	xorl %ebp, %ebp
	call *%rdi
	movq %rbx, %rsp
	.cfi_def_cfa_register rsp
	popq %rbx
	.cfi_adjust_cfa_offset -8
	popq %rbp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size rung_cfa_in_rbx, . - rung_cfa_in_rbx

/* A leaf whose CFA is in a register that a call would not keep. */
	.globl rung_cfa_in_r10
	.type rung_cfa_in_r10, @function
rung_cfa_in_r10:
	.cfi_startproc
	leaq 8(%rsp), %r10
	.cfi_def_cfa r10, 0
	subq $88, %rsp
	andq $-32, %rsp
	movl $20, %eax
1:	subl $1, %eax
	jnz 1b
	leaq -8(%r10), %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size rung_cfa_in_r10, . - rung_cfa_in_r10

/* Its CFA is in a register that a call need not keep, but that the function it calls does keep. */
	.globl rung_cfa_in_rax
	.type rung_cfa_in_rax, @function
rung_cfa_in_rax:
	.cfi_startproc
	leaq (%rsp), %rax
	.cfi_def_cfa_register rax
	pushq %rbx
	.cfi_offset rbx, -16
	subq $72, %rsp
	andq $-64, %rsp
	call rung_leaves_rax
	movq -8(%rax), %rbx
	.cfi_restore rbx
	leaq (%rax), %rsp
	.cfi_def_cfa_register rsp
	ret
	.cfi_endproc
	.size rung_cfa_in_rax, . - rung_cfa_in_rax

	.type rung_leaves_rax, @function
rung_leaves_rax:
	.cfi_startproc
	movl $3, %ecx
1:	imull $5, %ecx, %edx
	subl $1, %ecx
	jnz 1b
	ret
	.cfi_endproc
	.size rung_leaves_rax, . - rung_leaves_rax

/* Keeps its caller's stack pointer below its own, where signals leave it alone and dumps do not reach. */
	.globl rung_red_zone
	.type rung_red_zone, @function
rung_red_zone:
	.cfi_startproc
	movq %rsp, %rax
	.cfi_def_cfa_register rax
	subq $328, %rsp
	movq %rdi, 136(%rsp)
	movq %rax, 152(%rsp)
	leaq -128(%rsp), %rsp
	movq %rax, -8(%rsp)
	.cfi_escape 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8
	xorl %eax, %eax
	movl $4, %ecx
1:	addl %ecx, %eax
	subl $1, %ecx
	jnz 1b
	movq -8(%rsp), %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size rung_red_zone, . - rung_red_zone

/* Keeps its caller's stack pointer in memory: the CFA is an expression, *(rsp + 40) + 8. */
	.globl rung_saved_sp
	.type rung_saved_sp, @function
rung_saved_sp:
	.cfi_startproc
	movq %rsp, %rax
	subq $56, %rsp
	.cfi_adjust_cfa_offset 56
	movq %rax, 40(%rsp)
	.cfi_escape 0x0f, 5, 0x77, 40, 0x06, 0x23, 8
	call *%rdi
	movq 40(%rsp), %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size rung_saved_sp, . - rung_saved_sp

/* The same at an index: *(rsp + 8 + r12 * 8) + 8, which no short form holds. */
	.globl rung_indexed_sp
	.type rung_indexed_sp, @function
rung_indexed_sp:
	.cfi_startproc
	pushq %r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	leaq 8(%rsp), %rax
	movl $3, %r12d
	subq $64, %rsp
	.cfi_adjust_cfa_offset 64
	movq %rax, 8(%rsp,%r12,8)
	.cfi_escape 0x0f, 11, 0x77, 8, 0x7c, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8, 0x96
	call *%rdi
	movq 8(%rsp,%r12,8), %rsp
	.cfi_def_cfa rsp, 8
	movq -8(%rsp), %r12
	.cfi_restore r12
	ret
	.cfi_endproc
	.size rung_indexed_sp, . - rung_indexed_sp

/* Nothing follows the call, and what lies behind it has another frame. */
	.globl rung_never_returns
	.type rung_never_returns, @function
rung_never_returns:
	.cfi_startproc
	subq $1032, %rsp
	.cfi_adjust_cfa_offset 1032
	call *%rdi
	.cfi_endproc
	.size rung_never_returns, . - rung_never_returns

	.globl rung_after
	.type rung_after, @function
rung_after:
	.cfi_startproc
	ret
	.cfi_endproc
	.size rung_after, . - rung_after

/* Without CFI: a leaf, one in a frame, and one that ends by popping. */
	.p2align 6
	.globl rung_leaf_without_cfi
	.type rung_leaf_without_cfi, @function
rung_leaf_without_cfi:
	leaq (%rdi,%rdi), %rcx
	imulq %rcx, %rcx
	leaq rung_leaf_without_cfi(%rip), %rax
	ret
	.size rung_leaf_without_cfi, . - rung_leaf_without_cfi

	.p2align 6
	.globl rung_frame_without_cfi
	.type rung_frame_without_cfi, @function
rung_frame_without_cfi:
	pushq %rbp
	movq %rsp, %rbp
	subq $32, %rsp
	call *%rdi
	leave
	ret
	.size rung_frame_without_cfi, . - rung_frame_without_cfi

/* The kernel runs these by itself, where it is asked to: one instruction is a whole call. */
	.globl rung_vsyscall
	.type rung_vsyscall, @function
rung_vsyscall:
	.cfi_startproc
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	xorl %edi, %edi
	movq $0xffffffffff600400, %rax
	call *%rax
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size rung_vsyscall, . - rung_vsyscall

	.section .note.GNU-stack, "", @progbits
