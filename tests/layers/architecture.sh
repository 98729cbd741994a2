#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/ARCHITECTURE.md has a row for every source file, below the heading of its directory, and for none that is gone; and
# what documents and comments name of the tree is there; so are the functions that headers tell of. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/layers/report.bash

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

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
printf '### src/shared/base: text\n\n| file | |\n|---|---|\n| `vec.c`, `none.c` | |\n### src/main/cli\n| `clock.c` | |\n' >"$planted/rows"
found=$(gone "$planted/rows" | xargs)
report finds_rows_of_files_that_are_elsewhere "$([ "$found" = 'src/shared/base/none.c src/main/cli/clock.c' ] || echo "found: $found")"
printf '/* src/shared/base/vec.c and base/vec.h (base/none.h), src/none/none.c, unit/base/none.c, tests/run */\n' >"$planted/text"
found=$(missing "$planted/text")
report finds_names_of_nothing "$([ "$(wc -l <<<"$found")" -eq 3 ] || echo "found: $found")"

printf '/* vec_reserve(), none_peek(), none(), see none_read(2) */\n' >"$planted/comment"
found=$(unknown "$planted/comment" | xargs)
report finds_functions_that_are_gone "$([ "$found" = none_peek ] || echo "found: $found")"

report every_source_file_has_a_row \
	"$(comm -13 <(described docs/ARCHITECTURE.md | sort -u) <(find src -name '*.c' | sort -u))"
report no_row_is_of_a_file_that_is_gone "$(gone docs/ARCHITECTURE.md)"
report what_is_named_is_there "$(missing README.md docs/*.md tests/*/README.md $(find src include -name '*.[ch]') Makefile tests/*/*.mk)"
report functions_that_headers_name_are_there "$(unknown $(find src include -name '*.h'))"
report what_begins_with_an_interpreter_is_executable "$(find tests tools -type f ! -path '*/corpus/*' ! -perm -u+x -exec sh -c 'head -c2 "$1" | grep -q "^#!" && echo "$1"' - {} \;)"
exit $failed
