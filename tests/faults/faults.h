/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TESTS_FAULTS_H
#define CTOP_TESTS_FAULTS_H

/*
 * What a child may be made to do, each by its name. A file here that says
 *
 *     FAULT(name)
 *     {
 *             ... fault->argument ...
 *     }
 *
 * is found by the build, and CTOP_FAULT=ROLE:name=ARGUMENT:WHERE asks for it; see fault.c.
 */

struct channel;

struct fault {
	const char *role;
	const char *where;	 /* the place it happens at */
	const char *argument;	 /* what stands behind the fault's '=', or "" */
	struct channel *channel; /* to main; NULL before there is one */
};

struct fault_row {
	const char *name;
	void (*happen)(const struct fault *fault);
};

#define FAULT(NAME)                                                                                \
	static void NAME##_happens(const struct fault *fault);                                     \
	static const struct fault_row NAME##_row = {#NAME, NAME##_happens};                        \
	static const struct fault_row *const NAME##_entry                                          \
		__attribute__((section("ctop_faults"), used)) = &NAME##_row;                       \
	static void NAME##_happens(const struct fault *fault)

#endif
