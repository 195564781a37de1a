#!/usr/bin/env bash
# The C++ compiler of link 2, for the tests: what it has compiled before in this run, it hands out again.  Sanitized tests
# compile the same emitted files as the others, and that is most of their time.  The header, a fifth of what is left, is
# precompiled for each set of options, and of macros that a file defines before it; g++ takes it where it fits.  Called as
# $CXX; CXX_REAL is the compiler, CXX_KEPT where both are kept under hashes of its version, the options, the file and the
# headers.  All else goes straight to the compiler.
set -uo pipefail
[[ " $* " = *" -shared "* && " $* " = *" -DMG_EMULATE "* && -d "$CXX_KEPT" ]] || exec "$CXX_REAL" "$@"
hash() { sha256sum | cut -c1-40; }
object='' source='' include='' options=() of_header=()
for ((k = 1; k <= $#; k++)); do
  case ${!k} in
    -o) k=$((k + 1)) object=${!k} ;;
    -I*) include=${!k#-I} ;;
    *.cu) source=${!k} ;;
    *) options+=("${!k}") ;;
  esac
  case ${!k} in -DMG_EMULATE* | -[Ofgmw]* | -std=* | -pthread | --param=*) of_header+=("${!k}") ;; esac
done
headers=$({ "$CXX_REAL" --version; echo "$include"; cat "$include"/mirage*; } | hash)
kept=$CXX_KEPT/$({ echo "$headers"; printf '%s\n' "${options[@]}"; cat "$source"; } | hash).so
[ -f "$kept" ] && exec cp "$kept" "$object"
mapfile -t before < <(sed -n -e '/^#include/q' -e 's/^#define  *\([A-Za-z_0-9]*\)  *\(.*\)/-D\1=\2/p' -e 's/^#define  *\([A-Za-z_0-9]*\)$/-D\1=/p' "$source")
of_header+=("${before[@]}")
parsed=$CXX_KEPT/$({ echo "$headers"; printf '%s\n' "${of_header[@]}"; } | hash)
if mkdir -p "$parsed" && [[ $CXX_REAL != *clang* && ! -f $parsed/mirage_cuda.cuh.gch ]]; then
  "$CXX_REAL" "${of_header[@]}" -I"$include" -x c++-header "$include/mirage_cuda.cuh" -o "$parsed/$$" 2>/dev/null &&
    mv "$parsed/$$" "$parsed/mirage_cuda.cuh.gch"
fi
"$CXX_REAL" -I"$parsed" "$@" 2>/dev/null || "$CXX_REAL" "$@" || exit # a precompiled header has faults of its own
cp "$object" "$kept.$$" && mv "$kept.$$" "$kept"
