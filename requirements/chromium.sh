#!/bin/sh
# Install Debian's Chromium for the browser tests, where there is none and this user may install packages.
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" > /dev/null; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "Installing Chromium for the browser tests ..."
    log=$(mktemp)
    if apt-get update -q > "$log" 2>&1 &&
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium >> "$log" 2>&1; then
        rm -f "$log"
        exit 0
    fi
    tail -5 "$log"
fi
echo "There is no Chromium on this machine: the browser tests cannot run."
