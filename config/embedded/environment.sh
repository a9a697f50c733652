#!/bin/sh
# The virtual environment and what is in it, made once for each change of the requirements.
# `environment.sh dev` adds what tests and checks need. Run from the project's folder.
set -eu
umask 022 # Postgres may run as another user than ours and reads from here
kind=${1:-run}
log=.data/logs/environment.log
mkdir -p .data/logs
chmod 700 .data/logs

fits() { # a Python new enough, with all that `-m venv` needs
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null
}

find_python() {
    for candidate in "${PYTHON:-python3.11}" python3.11 python3.12 python3.13 python3; do
        if command -v "$candidate" >/dev/null 2>&1 && fits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "Parley needs Python 3.11 (or 3.12, 3.13) with venv; on Debian: apt-get install python3.11-venv" >&2
    exit 1
}

fail() {
    echo "failed"
    echo "  The end of $log:"
    tail -n 15 "$log" | sed 's/^/    /'
    exit 1
}

files="requirements.txt requirements-encoder.txt requirements-model.txt"
# shellcheck disable=SC2086 # names without spaces
run_wants=$(cat $files | cksum)
wanted=$run_wants
if [ "$kind" = dev ]; then
    files="$files requirements-dev.txt"
    wanted=$(cat $files | cksum)
fi

if [ -L .venv ]; then # somebody else's; taken as it is
    exit 0
fi

if command -v flock >/dev/null; then # two at once would write into one folder
    exec 9>.data/environment.lock
    if ! flock -n 9; then
        echo "  Waiting for another installation into .venv"
        flock 9
    fi
fi

began=$(date +%s)
if ! [ -x .venv/bin/python ] || ! .venv/bin/python -c '' 2>/dev/null ||
    [ "$(cat .venv/place 2>/dev/null)" != "$PWD" ]; then # scripts in it name its place: moved, it is made anew
    python=$(find_python)
    printf '  Virtual environment ... '
    "$python" -m venv --clear .venv >"$log" 2>&1 || fail
    pwd >.venv/place
    version=$(.venv/bin/python -c 'import platform; print(platform.python_version())')
    case $version in
    3.11.*) echo "Python $version" ;;
    *) echo "Python $version (3.11 was not found; torch may come with CUDA, several GB)" ;;
    esac
fi

if [ "$(cat ".venv/installed-$kind" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
printf '  Dependencies (the first time, 1.6 GB or more to download) ... '
pip() { # on a leash: whatever ends this script ends it too
    PIP_ROOT_USER_ACTION=ignore .venv/bin/python -I config/embedded/leash.py --parent $$ -- \
        .venv/bin/python -m pip --quiet --disable-pip-version-check --no-input "$@" >>"$log" 2>&1
}
: >"$log"
pip install pip==26.3 || fail
arguments=""
for file in $files; do arguments="$arguments -r $file"; done
# shellcheck disable=SC2086
pip install --no-deps --no-compile $arguments || fail
# What torch's build for this machine needs besides, as its CUDA build does; with the CPU build that is nothing.
pip install -c requirements.txt -c requirements-encoder.txt "$(grep '^torch==' requirements-encoder.txt)" || fail
echo "$run_wants" >.venv/installed-run
echo "$wanted" >".venv/installed-$kind"
echo "installed ($(($(date +%s) - began)) s)"
