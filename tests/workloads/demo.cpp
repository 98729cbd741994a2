/* SPDX-License-Identifier: MIT */
/*
 * A small data service to look at with `make demo`. Four threads, each named:
 *
 *     parser   splits lines of a log into fields and converts numbers      parse_log
 *     sorter   sorts records by two keys, with a comparator                 rank_records
 *     hasher   counts words in a hash table                                 count_words
 *     matcher  searches lines with a regular expression                     find_errors
 *
 * Parser and sorter never rest; hasher sleeps a third of its time, matcher half.
 */
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <pthread.h>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "workload.h"

namespace
{

struct Record {
	std::string host;
	unsigned status = 0;
	double milliseconds = 0;
};

/* Keeps results alive, so that no work is optimized away. */
void keep(size_t value)
{
	__asm__ volatile("" : : "r"(value));
}

std::string random_word(std::mt19937 &random)
{
	static const char letters[] = "etaoinshrdlucmfw";
	std::string word(3 + random() % 8, ' ');
	for (char &letter : word)
		letter = letters[random() % 16];
	return word;
}

std::vector<std::string> make_log(unsigned seed, size_t nr_lines)
{
	std::mt19937 random(seed);
	std::vector<std::string> lines;
	for (size_t i = 0; i < nr_lines; i++) {
		std::ostringstream line;
		line << random_word(random) << ".example.org " << (random() % 20 ? 200 : 500) << ' '
		     << (random() % 100000) / 100.0;
		for (unsigned word = 0; word < 6; word++)
			line << ' ' << random_word(random);
		lines.push_back(line.str());
	}
	return lines;
}

std::string_view next_field(std::string_view &rest)
{
	const size_t end = std::min(rest.find(' '), rest.size());
	const std::string_view field = rest.substr(0, end);
	rest.remove_prefix(std::min(end + 1, rest.size()));
	return field;
}

FRAME Record parse_line(std::string_view line)
{
	Record record;
	record.host = next_field(line);
	record.status = static_cast<unsigned>(std::stoul(std::string(next_field(line))));
	record.milliseconds = std::strtod(std::string(next_field(line)).c_str(), nullptr);
	return record;
}

FRAME std::vector<Record> parse_log(const std::vector<std::string> &log)
{
	std::vector<Record> records;
	for (const std::string &line : log)
		records.push_back(parse_line(line));
	return records;
}

FRAME bool slower(const Record &a, const Record &b)
{
	if (a.status != b.status)
		return a.status > b.status;
	return a.milliseconds > b.milliseconds;
}

FRAME size_t rank_records(std::vector<Record> records)
{
	std::sort(records.begin(), records.end(), slower);
	return records.front().host.size();
}

FRAME size_t count_words(const std::vector<std::string> &log)
{
	std::unordered_map<std::string, size_t> counts;
	for (const std::string &line : log) {
		std::string_view rest = line;
		while (!rest.empty())
			counts[std::string(next_field(rest))]++;
	}
	return counts.size();
}

FRAME size_t find_errors(const std::vector<std::string> &log, const std::regex &pattern)
{
	size_t found = 0;
	for (const std::string &line : log)
		found += std::regex_search(line, pattern);
	return found;
}

/* Runs one step over and over, resting for that part of the time. */
void serve(const char *name, double rest, const std::function<size_t()> &step)
{
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		const auto begin = std::chrono::steady_clock::now();
		keep(step());
		if (rest > 0)
			std::this_thread::sleep_for((std::chrono::steady_clock::now() - begin) *
						    rest / (1 - rest));
	}
}

} // namespace

int main(int argc, char **argv)
{
	const std::vector<std::string> log = make_log(1, 4000);
	const std::vector<Record> records = parse_log(log);
	const std::regex pattern("^([a-z]+)\\.example\\.org 500 .*(er|ro|st)+");
	workload_start(argc, argv);
	std::vector<std::thread> threads;
	threads.emplace_back(serve, "parser", 0.0, [&] { return parse_log(log).size(); });
	threads.emplace_back(serve, "sorter", 0.0, [&] { return rank_records(records); });
	threads.emplace_back(serve, "hasher", 0.33, [&] { return count_words(log); });
	threads.emplace_back(serve, "matcher", 0.5, [&] { return find_errors(log, pattern); });
	workload_ready();
	for (std::thread &thread : threads)
		thread.join();
}
