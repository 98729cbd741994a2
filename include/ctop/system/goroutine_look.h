/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_GOROUTINE_LOOK_H
#define CTOP_SYSTEM_GOROUTINE_LOOK_H

/*
 * The goroutines of a process, looked at without stopping it: integers at offsets that a jailed child has named (goroutines_protocol.h,
 * checked), and what lies on the stack of one that is parked. All of it is the target's: numbers, of which no sense is made but how many bytes to
 * read from where in that same process, within bounds. Main only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ipc/goroutines_protocol.h>
#include <ctop/system/looker.h>

/* A descriptor, as it was at one time. */
struct goroutine_look {
	uint64_t id, sp, pc, stack_hi;
	uint32_t status;
	uint8_t reason, sequence;
};

/* Where the program lies: what is to be added to its ELF addresses. False: that is not to be known. */
bool goroutines_bias(int32_t pid, const struct goroutine_layout *layout, uint64_t *bias);
/* Where the descriptors are: they stay there, and new ones come behind them. How many there are; *most is what there is room for. 0: none can be read. */
size_t goroutines_list(struct looker *looker, int32_t pid, const struct goroutine_layout *layout,
		       uint64_t bias, uint64_t *addresses, size_t most);
/* Reads them, up to the first that cannot be read, whatever there are. How many. */
size_t goroutines_read(struct looker *looker, int32_t pid, const struct goroutine_layout *layout,
		       const uint64_t *addresses, size_t nr, struct goroutine_look *looks);
/* Parked, and not being moved to another stack. */
bool goroutine_is_parked(const struct goroutine_look *look);
/* Whether it has been parked all the time between two looks, as far as its counter of 8 bits tells. */
bool goroutine_lay_still(const struct goroutine_look *before, const struct goroutine_look *now);
/* What lies on its stack: 0, or -EAGAIN: it has not lain still, or nothing could be read. */
int goroutine_read_stack(struct looker *looker, int32_t pid, const struct goroutine_layout *layout,
			 uint64_t address, const struct goroutine_look *look, uint8_t *stack,
			 size_t most, size_t *bytes);
/* Where the go statement returns to that began it; 0: nothing tells. Of the goroutine of that id, if it still has the descriptor. */
uint64_t goroutine_creator(struct looker *looker, int32_t pid,
			   const struct goroutine_layout *layout, uint64_t address, uint64_t id);

#endif
