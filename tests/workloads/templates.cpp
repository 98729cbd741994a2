/* SPDX-License-Identifier: MIT */
/*
 * C++ with long names and deep calls. A matcher made of templates walks a text
 * through continuations, the way regular expressions do:
 *
 *     main > scan > matcher::Level<12>::match
 *          > std::_Function_handler<...>::_M_invoke > matcher::Level<11>::match
 *          > ... two frames a level ...
 *          > std::_Function_handler<...>::_M_invoke > matcher::Level<0>::match
 *          > std::_Function_handler<...>::_M_invoke
 *            > matcher::accept<std::vector<int>>       two thirds of the time
 *            > matcher::accept<std::map<int, long>>    one third
 *
 * match and accept are frames of their own; the lambdas are inlined into _M_invoke.
 */
#include <functional>
#include <map>
#include <vector>

#include "workload.h"

namespace matcher
{

using Next = std::function<bool(int)>;

template <typename Container> FRAME bool accept(int position);

template <> FRAME bool accept<std::vector<int>>(int position)
{
	work(200);
	return position >= 0;
}

template <> FRAME bool accept<std::map<int, long>>(int position)
{
	work(100);
	return position >= 0;
}

template <int N> struct Level {
	static FRAME bool match(int position, const Next &last)
	{
		const Next next = [&last](int at) { return Level<N - 1>::match(at + 1, last); };
		return next(position) && position < 1000;
	}
};

template <> struct Level<0> {
	static FRAME bool match(int position, const Next &last)
	{
		return last(position) && position < 1000;
	}
};

} // namespace matcher

static FRAME bool scan(int position)
{
	using namespace matcher;
	const bool both = Level<12>::match(position, accept<std::vector<int>>);
	return Level<12>::match(position, accept<std::map<int, long>>) && both;
}

int main(int argc, char **argv)
{
	workload_start(argc, argv);
	workload_ready();
	for (int position = 0;; position = (position + 1) % 100)
		if (!scan(position))
			return 1;
}
