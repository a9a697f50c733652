#!/bin/sh
# Pins requirements*.txt anew. No line names a registry, and torch loses its local build tag: others can't install that.
set -eu
compile() {
    .venv/bin/python -m piptools compile -q --allow-unsafe --no-header --strip-extras --no-annotate \
        --no-emit-index-url --no-emit-find-links -o "$1.txt" "$1.in"
}
compile requirements
compile requirements-encoder
compile requirements-dev
sed 's/^\(torch==[0-9.]*\)+cpu$/\1/' requirements-encoder.txt >requirements-encoder.txt.new
mv requirements-encoder.txt.new requirements-encoder.txt
