#!/bin/sh
# Fails unless greet.sh greets by name, and the world when no name is given.
set -eu
cd "$(dirname "$0")"
[ "$(sh greet.sh Ada)" = 'Hello, Ada!' ]
[ "$(sh greet.sh)" = 'Hello, world!' ]
echo '2 tests passed'
