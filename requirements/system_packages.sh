#!/bin/sh
# Install for the tests what is missing, where this user may install packages: bubblewrap, in which foreign code runs;
# kcat, a client of the broker; Debian's Chromium for the browser tests, and the font in which the widths of letters were
# measured.
browser=
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" > /dev/null; then browser=$name; fi
done
wanted=
if ! command -v bwrap > /dev/null; then wanted=bubblewrap; fi
if ! command -v kcat > /dev/null; then wanted="$wanted kcat"; fi
if [ -z "$browser" ]; then wanted="$wanted chromium"; fi
if ! fc-list 2> /dev/null | grep -q "Liberation Sans"; then wanted="$wanted fonts-liberation"; fi
if [ -z "$wanted" ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "Installing$(printf ' %s' $wanted) for the tests ..."
    log=$(mktemp)
    # shellcheck disable=SC2086  # a list of words
    if apt-get update -q > "$log" 2>&1 &&
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $wanted >> "$log" 2>&1; then
        rm -f "$log"
        exit 0
    fi
    tail -5 "$log"
fi
if [ -z "$browser" ]; then echo "There is no Chromium on this machine: the browser tests cannot run."; fi
if ! command -v bwrap > /dev/null; then
    echo "There is no bubblewrap on this machine: the tests of minikafka grade and minikafka exam cannot run."
fi
if ! command -v kcat > /dev/null; then echo "There is no kcat on this machine: its test cannot run."; fi
