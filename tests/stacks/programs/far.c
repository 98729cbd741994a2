/* SPDX-License-Identifier: MIT */
/*
 * Code in two places that lie more than 2 GiB apart, so that no table of 32-bit distances leads to both:
 *
 *     main > near_round > far_middle > near_leaf > far_leaf
 */
#define FAR  __attribute__((noinline, section(".far_text")))
#define NEAR __attribute__((noinline))

enum { NR_VALUES = 8 };

static FAR unsigned far_leaf(unsigned seed)
{
	for (volatile unsigned i = 0; i < NR_VALUES; i++)
		seed = seed * 31 + i;
	return seed;
}

static NEAR unsigned near_leaf(unsigned seed)
{
	return far_leaf(seed) + 1;
}

static FAR unsigned far_middle(unsigned seed)
{
	volatile unsigned values[NR_VALUES];
	for (unsigned i = 0; i < NR_VALUES; i++)
		values[i] = seed * i;
	return near_leaf(values[seed % NR_VALUES]) + values[seed / 2 % NR_VALUES];
}

static NEAR unsigned near_round(unsigned seed)
{
	return far_middle(seed) + 1;
}

int main(int argc, char **argv)
{
	(void)argv;
	return near_round((unsigned)argc) == 1;
}
