# SPDX-License-Identifier: MIT
# What the checks of this directory share: results as TAP.

failed=0
report() { # NAME, what should not be: passes when there is none
	if [ -z "$2" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$2" | sed 's/^/# /'
		echo "not ok - $1"
		failed=1
	fi
}
