#!/usr/bin/env bash
# The C++ compiler of link 2, for the tests: what it has compiled before in this run, it hands out again.  Sanitized tests
# compile the same emitted files as the others, and that is most of their time.  Called as $CXX; CXX_REAL is the compiler,
# CXX_KEPT where shared objects are kept under a hash of its version, the options, the file and the headers.  All else goes
# straight to the compiler.
set -uo pipefail
[[ " $* " = *" -shared "* && " $* " = *" -DMG_EMULATE "* && -d "$CXX_KEPT" ]] || exec "$CXX_REAL" "$@"
object='' source='' include='' options=()
for ((k = 1; k <= $#; k++)); do
  case ${!k} in
    -o) k=$((k + 1)) object=${!k} ;;
    -I*) include=${!k#-I} ;;
    *.cu) source=${!k} ;;
    *) options+=("${!k}") ;;
  esac
done
hash=$({ "$CXX_REAL" --version; printf '%s\n' "${options[@]}"; cat "$source" "$include"/mirage*; } | sha256sum | cut -c1-40)
kept=$CXX_KEPT/$hash.so
[ -f "$kept" ] && exec cp "$kept" "$object"
"$CXX_REAL" "$@" || exit
cp "$object" "$kept.$$" && mv "$kept.$$" "$kept"
