#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/ARCHITECTURE.md has a row for every source file, below the heading of its directory, and for none that is gone; and
# what documents and comments name of the tree is there; so are the functions that headers tell of. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1

# DIRECTORY/FILE of each row. A header may stand among those that other rooms use.
described() { # DOCUMENT
	awk -F'|' '/^### /{ directory = $1; sub(/^### /, "", directory); sub(/:.*/, "", directory) }
		/^### /{ next } /^\| `/{ n = split($2, names, ","); for (i = 1; i <= n; i++) { gsub(/[ `]/, "", names[i]); print directory "/" names[i] } }' "$1"
}
gone() { # DOCUMENT
	described "$1" | while read -r path; do
		room=$(basename "$(dirname "$path")")
		[ -f "$path" ] || [[ $path == *.h && -f include/ctop/$room/${path##*/} ]] || echo "$path"
	done
}

# Paths of ours that the named files mention: from the root, of a header as it is included, or of a unit test.
mentioned() { # FILE...
	grep -noE '(src|include|tests|docs|tools|unit)/[A-Za-z0-9_/.-]+\.(c|h|py|sh|mk|md)\b|`[a-z_]+/[a-z0-9_]+\.[ch]`|[( ]([a-z_]+)/[a-z0-9_]+\.[ch]\b' "$@" /dev/null | tr -d '`( ' |
		grep -vE ':((linux|asm)/|tools/(perf|lib)/|.*[A-Z]+)' # the kernel's; of names in general
}
missing() { # FILE...
	mentioned "$@" | while IFS=: read -r file line path; do
		[ -e "$path" ] || [ -e "tests/$path" ] || [ -e "tests/unit/$path" ] || [ -e "include/ctop/$path" ] || compgen -G "src/*/$path" >/dev/null ||
			[ -e "$(dirname "$file")/$path" ] || echo "$file:$line: $path"
	done
}

# Functions that comments name, as ring_peek(), and that no code has.
code() {
	find src include -name '*.[ch]' -exec cat {} + | sed 's#/\*.*\*/##' | awk '/\/\*/{comment = 1} !comment{print} /\*\//{comment = 0}'
}
unknown() { # FILE...
	comm -23 <(grep -ohE '\b[a-z][a-z0-9]*(_[a-z0-9]+)+\(\)' "$@" | tr -d '()' | sort -u) <(code | grep -oE '[a-z][a-z0-9_]+' | sort -u)
}

status=0
report() { # NAME, what should not be
	if [ -z "$2" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		printf '# %s\n' "$2"
		status=1
	fi
}

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
printf '### src/shared/base: text\n\n| file | |\n|---|---|\n| `vec.c`, `none.c` | |\n### src/main/cli\n| `clock.c` | |\n' >"$planted/rows"
[ "$(gone "$planted/rows" | tr '\n' ' ')" = 'src/shared/base/none.c src/main/cli/clock.c ' ] &&
	report finds_rows_of_files_that_are_elsewhere '' || report finds_rows_of_files_that_are_elsewhere "$(gone "$planted/rows")"
printf '/* src/shared/base/vec.c and base/vec.h (base/none.h), src/none/none.c, unit/base/none.c, tests/run */\n' >"$planted/text"
[ "$(missing "$planted/text" | wc -l)" -eq 3 ] &&
	report finds_names_of_nothing '' || report finds_names_of_nothing "$(missing "$planted/text")"

printf '/* vec_reserve(), none_peek(), none(), see none_read(2) */\n' >"$planted/comment"
[ "$(unknown "$planted/comment")" = none_peek ] &&
	report finds_functions_that_are_gone '' || report finds_functions_that_are_gone "$(unknown "$planted/comment")"

report every_source_file_has_a_row \
	"$(comm -13 <(described docs/ARCHITECTURE.md | sort -u) <(find src -name '*.c' | sort -u))"
report no_row_is_of_a_file_that_is_gone "$(gone docs/ARCHITECTURE.md)"
report what_is_named_is_there "$(missing README.md docs/*.md tests/*/README.md $(find src include -name '*.[ch]') Makefile tests/*/*.mk)"
report functions_that_headers_name_are_there "$(unknown $(find src include -name '*.h'))"
exit $status
