/* SPDX-License-Identifier: MIT */
/* Spins below a frame with pages that were never used; "all": what lies there was used before. */
#include <string.h>
#include <unistd.h>

enum { FRAME_BYTES = 20000 };

static volatile unsigned long sum;

__attribute__((noinline)) static void spin(void)
{
	for (;;)
		sum++;
}

__attribute__((noinline)) static void in_large_frame(void)
{
	char room[FRAME_BYTES];
	__asm__ volatile("" ::"r"(room) : "memory");
	spin();
	__asm__ volatile("" ::"r"(room) : "memory");
}

__attribute__((noinline)) static void use_stack(void)
{
	char room[2 * FRAME_BYTES];
	memset(room, 1, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		use_stack();
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	in_large_frame();
}
