#!/usr/bin/env bash
# Installs what demo and test use and this machine lacks, or says in one line what to install.  With `demo`, what only the
# tests use may stay missing.
set -uo pipefail
need=() must=0
has() { command -v "$1" >/dev/null 2>&1; }
header() { echo "#include <$1>" | "${CC:-gcc}" -x c -fsyntax-only -include stdarg.h -include stddef.h -include setjmp.h -include stdint.h - 2>/dev/null; }
has "${CC:-gcc}" || { need+=(gcc); must=1; }
has "${CXX:-g++}" || { need+=(g++); must=1; }
has python3 || need+=(python3)
has "${CLANG:-clang}" || need+=(clang)
has dot || need+=(graphviz)
header cmocka.h || { need+=(libcmocka-dev); [ "${1:-}" = demo ] || must=1; }
header cjson/cJSON.h || need+=(libcjson-dev)
header z3.h || need+=(libz3-dev)
[ ${#need[@]} = 0 ] && exit 0
if has apt-get && { [ "$(id -u)" = 0 ] || { has sudo && sudo -n true 2>/dev/null; }; }; then
  sudo=""; [ "$(id -u)" = 0 ] || sudo="sudo -n"
  echo "deps: installing ${need[*]}" >&2
  $sudo apt-get update -qq >/dev/null 2>&1
  for p in "${need[@]}"; do $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$p" >/dev/null 2>&1 || echo "deps: $p could not be installed" >&2; done
  has "${CC:-gcc}" && has "${CXX:-g++}" && { header cmocka.h || [ "${1:-}" = demo ]; } && exit 0
fi
echo "deps: please install: ${need[*]}  (Debian: apt-get install ${need[*]})" >&2
exit $must
