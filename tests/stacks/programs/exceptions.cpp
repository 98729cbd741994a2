// SPDX-License-Identifier: MIT
// Exceptions thrown through frames of several kinds, caught, rethrown; to be single-stepped.
#include <stdexcept>
#include <string>

namespace
{

volatile int sink;

struct cleaner {
	~cleaner() { sink = sink + 1; }
};

[[gnu::noinline]] void throws(int depth)
{
	cleaner local;
	if (depth == 0)
		throw std::runtime_error("deep down");
	throws(depth - 1);
	sink = sink + depth;
}

[[gnu::noinline]] void rethrows()
{
	try {
		throws(4);
	} catch (const std::exception &error) {
		sink = sink + static_cast<int>(std::string(error.what()).size());
		throw;
	}
}

} // namespace

int main()
{
	for (int i = 0; i < 2; i++) {
		try {
			rethrows();
		} catch (const std::runtime_error &) {
			sink = sink + 1;
		}
	}
	return 0;
}
