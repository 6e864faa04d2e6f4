#!/bin/sh
# Greets everybody who is named, each on a line of their own.
for name; do
  sh "$(dirname "$0")/greet.sh" "$name"
done
