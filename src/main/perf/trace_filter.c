/* SPDX-License-Identifier: MIT */
/*
 * The kernel takes a tracepoint's filter or says EINVAL. What is wrong with it, and where, is found out here, with the
 * fields that tracefs names.
 */
#include "event_internal.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel takes texts of fewer than 256 bytes, and a page of filter with its NUL. */
enum { FORMAT_BYTES = 16384, DEPTH_MAX = 32, TEXT_MOST = 256, FILTER_MOST = 4095 };

struct filter {
	const char *event, *text;
	const char *at;
	const char *format; /* of the tracepoint, as tracefs has it */
	struct error *error;
	unsigned depth;
};

static int wrong(const struct filter *filter, const char *what)
{
	return error_marked(filter->error, filter->text, (size_t)(filter->at - filter->text), "%s",
			    what);
}

static int malformed(const struct filter *filter, const char *what)
{
	int code = wrong(filter, what);
	error_remedy(filter->error,
		     "a filter is written as in --filter 'prev_pid == 12 && next_comm "
		     "!= \"sh\"'");
	return code;
}

static void skip_blanks(struct filter *filter)
{
	while (isspace((unsigned char)*filter->at))
		filter->at++;
}

static bool takes(struct filter *filter, const char *word)
{
	skip_blanks(filter);
	if (strncmp(filter->at, word, strlen(word)) != 0)
		return false;
	filter->at += strlen(word);
	return true;
}

static size_t word_size(const char *text)
{
	size_t size = 0;
	while (isalnum((unsigned char)text[size]) || text[size] == '_')
		size++;
	return size;
}

/* ---- fields ---- */

/* "\tfield:char prev_comm[16];\toffset:8;...": the next one's declaration; NULL: that was all. */
static const char *next_field(const char **format, size_t *size)
{
	static const char start[] = "field:";
	const char *field = strstr(*format, start);
	if (!field)
		return NULL;
	field += strlen(start);
	*size = strcspn(field, ";\n");
	*format = field + *size;
	return field;
}

/* The name in a declaration: its last word, in front of an array's size. */
static const char *name_in(const char *field, size_t size, size_t *name_bytes)
{
	size_t end = size;
	const char *bracket = memchr(field, '[', size);
	/* "__data_loc char[] name" has them in front of it. */
	if (bracket && field[size - 1] == ']')
		end = (size_t)(bracket - field);
	size_t start = end;
	while (start && word_size(field + start - 1))
		start--;
	*name_bytes = end - start;
	return field + start;
}

static bool is_among(const char *const *words, size_t nr, const char *name, size_t bytes)
{
	for (size_t i = 0; i < nr; i++)
		if (strlen(words[i]) == bytes && !memcmp(words[i], name, bytes))
			return true;
	return false;
}

/* What a field's values are, as tracefs tells. */
struct field {
	bool is_text, is_signed;
};

static bool find_field(const struct filter *filter, const char *name, size_t bytes,
		       struct field *found)
{
	/* The kernel knows these of any event. */
	static const char *const numbers[] = {"CPU", "cpu", "common_cpu"}, *const texts[] = {
										   "COMM", "comm"};
	const char *format = filter->format, *field;
	size_t size, name_bytes;
	while ((field = next_field(&format, &size))) {
		const char *own = name_in(field, size, &name_bytes);
		if (name_bytes != bytes || memcmp(own, name, bytes) != 0)
			continue;
		found->is_text = memmem(field, size, "char", strlen("char")) &&
				 (memchr(field, '[', size) || memchr(field, '*', size));
		found->is_signed = memmem(format, strcspn(format, "\n"), "signed:1", 8);
		return true;
	}
	found->is_text = is_among(texts, sizeof(texts) / sizeof(*texts), name, bytes);
	found->is_signed = true;
	return found->is_text || is_among(numbers, sizeof(numbers) / sizeof(*numbers), name, bytes);
}

static int unknown_field(const struct filter *filter, size_t bytes)
{
	char known[240] = "";
	const char *format = filter->format, *field;
	size_t size, name_bytes, used = 0;
	while ((field = next_field(&format, &size))) {
		const char *name = name_in(field, size, &name_bytes);
		if (!strncmp(name, "common_", strlen("common_")))
			continue;
		int added = snprintf(known + used, sizeof(known) - used, "%s%.*s", used ? ", " : "",
				     (int)name_bytes, name);
		if (added < 0 || (size_t)added >= sizeof(known) - used) {
			known[used] = '\0';
			break;
		}
		used += (size_t)added;
	}
	char what[EVENT_TEXT_BYTES];
	snprintf(what, sizeof(what), "'%.60s' has no field '%.*s'", filter->event,
		 (int)(bytes < 60 ? bytes : 60), filter->at);
	int code = wrong(filter, what);
	error_remedy(filter->error, "it has: %s", known);
	return code;
}

/* ---- the grammar ---- */

static int take_operator(struct filter *filter, bool is_text)
{
	/* Those of two characters first. */
	static const char *const of_numbers[] = {"==", "!=", "<=", ">=", "<", ">", "&"};
	static const char *const of_texts[] = {"==", "!=", "~"};
	skip_blanks(filter);
	if (filter->at[0] == '&' && filter->at[1] == '&')
		return malformed(filter, "an operator is missing");
	for (size_t i = 0; is_text && i < sizeof(of_texts) / sizeof(*of_texts); i++)
		if (takes(filter, of_texts[i]))
			return 0;
	for (size_t i = 0; !is_text && i < sizeof(of_numbers) / sizeof(*of_numbers); i++)
		if (takes(filter, of_numbers[i]))
			return 0;
	if (*filter->at == '=')
		return malformed(filter, "= is not an operator, use ==");
	if (strchr("<>&~", *filter->at) && *filter->at)
		return malformed(filter, is_text ? "strings have the operators ==, != and ~"
						 : "~ does not compare numbers");
	return malformed(filter, "an operator is missing");
}

static int take_text(struct filter *filter)
{
	const char quote = *filter->at;
	if (quote != '"' && quote != '\'')
		return malformed(filter, quote ? "a string must be quoted" : "a value is missing");
	const char *end = strchr(filter->at + 1, quote);
	if (!end)
		return malformed(filter, "unterminated quote");
	if (end - filter->at > TEXT_MOST)
		return malformed(filter, "a string has at most 255 bytes");
	filter->at = end + 1;
	return 0;
}

static bool has_sets(const char *op)
{
	return !strncmp(op, "==", 2) || !strncmp(op, "!=", 2) || *op == '&';
}

/* "CPUS{0-3,8}", since Linux 6.6; of numbers, too, which then are those of CPUs. */
static int take_cpus(struct filter *filter, const char *op)
{
	if (!has_sets(op)) {
		filter->at = op;
		return malformed(filter, "sets of CPUs have the operators ==, != and &");
	}
	filter->at += strlen("CPUS");
	if (*filter->at != '{')
		return malformed(filter, "a { is missing");
	const size_t size = strcspn(++filter->at, "}");
	if (!filter->at[size]) {
		filter->at += size;
		return malformed(filter, "a } is missing");
	}
	const size_t taken = cpu_list_size(filter->at, size);
	filter->at += taken;
	if (!size || taken < size)
		return malformed(filter, "CPUs are written as 0-3,8 or all");
	filter->at++;
	return 0;
}

/* As the kernel reads it: in 64 bits, a leading 0 makes it octal, and a field that has no sign takes none. */
static int take_number(struct filter *filter, bool is_signed)
{
	const bool is_negative = *filter->at == '-';
	const char *start = filter->at + is_negative;
	char *end;
	if (!*filter->at)
		return malformed(filter, "a value is missing");
	if (is_negative && !is_signed)
		return malformed(filter, "the field is unsigned");
	errno = 0;
	const unsigned long long value =
		isdigit((unsigned char)*start) ? strtoull(start, &end, 0) : 0;
	if (!isdigit((unsigned char)*start) || end != start + word_size(start))
		return malformed(filter, "expected a number");
	if (errno == ERANGE || (is_signed && value > (unsigned long long)LLONG_MAX + is_negative))
		return malformed(filter, "the number does not fit into 64 bits");
	filter->at = end;
	return 0;
}

static int take_or(struct filter *filter);

static int take_predicate(struct filter *filter)
{
	struct field field;
	skip_blanks(filter);
	const size_t bytes = word_size(filter->at);
	if (!bytes)
		return malformed(filter, *filter->at ? "expected a field" : "a field is missing");
	if (!find_field(filter, filter->at, bytes, &field))
		return unknown_field(filter, bytes);
	filter->at += bytes;
	skip_blanks(filter);
	const char *op = filter->at;
	int result = take_operator(filter, field.is_text);
	skip_blanks(filter);
	if (result)
		return result;
	if (!field.is_text && !strncmp(filter->at, "CPUS", strlen("CPUS")))
		return take_cpus(filter, op);
	return field.is_text ? take_text(filter) : take_number(filter, field.is_signed);
}

static int take_unary(struct filter *filter)
{
	while (takes(filter, "!"))
		;
	if (!takes(filter, "("))
		return take_predicate(filter);
	if (filter->depth++ == DEPTH_MAX)
		return malformed(filter, "too many parentheses");
	int result = take_or(filter);
	filter->depth--;
	if (!result && !takes(filter, ")"))
		result = malformed(filter, "a ) is missing");
	return result;
}

static int take_and(struct filter *filter)
{
	int result = take_unary(filter);
	while (!result && takes(filter, "&&"))
		result = take_unary(filter);
	return result;
}

static int take_or(struct filter *filter)
{
	int result = take_and(filter);
	while (!result && takes(filter, "||"))
		result = take_and(filter);
	return result;
}

/* Terms may give the event another name. */
static void name_of(const struct event *event, char name[EVENT_TEXT_BYTES])
{
	const char *slash = strchr(event->asked, '/');
	snprintf(name, EVENT_TEXT_BYTES, "%.*s",
		 slash ? (int)(slash - event->asked) : EVENT_TEXT_BYTES,
		 slash ? event->asked : event->name);
}

int event_set_filter(struct event *event, const char *text, struct error *error)
{
	char format[FORMAT_BYTES], name[EVENT_TEXT_BYTES];
	if (event->type != PERF_TYPE_TRACEPOINT) {
		error_usage(error, "--filter is for tracepoints: '%s' is none", event->asked);
		return error_remedy(error, "it applies to the -e before it; a report has --pid, "
					   "--comm and others for all events");
	}
	name_of(event, name);
	int result = tracepoint_format(name, format, sizeof(format));
	if (result)
		return tracepoint_advise(name, result, error);
	struct filter filter = {name, text, text, format, error, 0};
	result = take_or(&filter);
	skip_blanks(&filter);
	if (!result && *filter.at)
		result = malformed(&filter,
				   *filter.at == ')' ? "a ( is missing" : "&& or || is missing");
	if (!result && filter.at - text > FILTER_MOST) {
		filter.at = text + FILTER_MOST;
		result = malformed(&filter, "a filter has at most 4095 bytes");
	}
	event->filter = text;
	return result;
}
