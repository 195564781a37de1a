#!/usr/bin/env bash
# What the files say of themselves: the section tags in a header's contents are its sections; the README's operator list
# is the table's; the README's program compiles, runs and prints what the README shows; its figures are those of
# tests/bench/results, whose own README names every file; nothing else at the top level.
set -uo pipefail
cd "$(dirname "$0")/.."
dir=build/docs
rm -rf "$dir" && mkdir -p "$dir"
ok() { if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; shift 2; [ $# = 0 ] || printf '%s\n' "$@" | head -n 20; fi; }

for h in mirage.h mirage_verify.h mirage_plan.h mirage_search.h mirage_cuda.cuh mirage_model.h; do
  awk '/CONTENTS/ {on = 1} /CONFIGURATION/ {exit} on' "$h" | grep -o '>>[a-z-]*' | sort >"$dir/contents"
  grep -E '^/\* -+ *>>' "$h" | grep -o '>>[a-z-]*' | sort >"$dir/sections"
  d=$(diff "$dir/contents" "$dir/sections"); rc=$?
  [ -s "$dir/sections" ] || rc=1
  ok $rc "$h: the contents name the sections" "$d"
  n=$(awk '/\*\// {print NR; exit}' "$h")
  ok $([ "$n" -le 400 ]; echo $?) "$h: the head comment has at most 400 lines" "$n"
  v=$(sed -n '1s/.* v\([0-9.]*\) .*/\1/p' "$h")
  ok $([ "$v" = 0.1.0 ]; echo $?) "$h: line 1 names the version" "$v"
done

# The functions that a row may use: the evaluator's, the device's, the header's and the README's list.
typed() { grep -o "$1" "$2" | grep -o 'MG_[A-Z]*' | sort; }
typed '^#define MG_[A-Z]*(' mirage.h | sort -u >"$dir/defined"
typed '^#undef MG_[A-Z]*' mirage.h | comm -12 "$dir/defined" - >"$dir/evaluator"
typed 'push_macro("MG_[A-Z]*' mirage_cuda.cuh | uniq -c >"$dir/device"
sed "s|^|      1 |" "$dir/evaluator" | diff - "$dir/device" >"$dir/out"; rc=$?
typed '^#define MG_[A-Z]*(' mirage_cuda.cuh | sort -u | comm -23 "$dir/evaluator" - >>"$dir/out"; [ -s "$dir/out" ] && rc=1 # saved, and defined anew
[ "$(wc -l <"$dir/evaluator")" -ge 12 ] || rc=1
ok $rc "the functions of a row's real column are the same on the host and on the device" "$(cat "$dir/out")"
grep -o 'FF_[A-Z_]*' mirage_verify.h | sort -u | grep -x -f <(grep -o '^#define FF_[A-Z_]*' mirage_verify.h | cut -d' ' -f2) >"$dir/field"
sort "$dir/evaluator" "$dir/field" >"$dir/macros"
awk '/>>ops$/ {next} /^   E\(id, name/ {on = 1} /^   T\(id, name/ {exit} on' mirage.h | grep -o '\(MG\|FF\)_[A-Z_]*' | grep -v '^MG_KB\|^MG_K_\|^MG__' | sort -u | diff "$dir/macros" - >"$dir/out"
ok $? "mirage.h: the functions that a row may use are listed" "$(cat "$dir/out")"
sed -n '/^## Adding an operator/,/^## Measured/p' README.md | awk '/^```/ {code = !code; next} !code' | grep -o '\(MG\|FF\)_[A-Z_]*' | grep -v '^MG_USER\|^MG_KB' | sort -u | diff "$dir/macros" - >"$dir/out"
ok $? "README: the functions that a row may use are listed" "$(cat "$dir/out")"

# What a machine is called, and how large it is, stands in mirage_plan.h alone: elsewhere an architecture is data.
compared='(strn?cmp|strstr|memcmp)\([^;]*"(sm_|[,a-z]*code=sm_)|arch(\[[0-9]\])? *[!=]= *'
d=$(grep -nE "$compared" mirage.h mirage_verify.h mirage_search.h mirage_cuda.cuh mirage_model.h examples/*.c)
ok $([ -z "$d" ]; echo $?) "no architecture is compared by name but in mirage_plan.h" "$d"
sms=$(sed -n 's/^  M("[A-Za-z0-9]*", *"sm_[0-9a-z]*", *MGI_CAN_[0-9]*, *\([0-9]*\), .*/\1/p' mirage_plan.h | sort -u)
d=
[ "$(wc -w <<<"$sms")" -ge 8 ] || d="the rows of the table are not found: $sms"
for n in $sms; do # of these numbers the smaller ones, and powers of two, stand for other things too; %114 is an operand of inline assembly
  if [ "$n" -lt 100 ] || [ $((n & (n - 1))) = 0 ]; then continue; fi
  for h in mirage_verify.h mirage_search.h mirage_cuda.cuh mirage_model.h; do
    d+=$(sed 's,/\*.*\*/,,' $h | grep -nE "(^|[^0-9A-Za-z_.%])$n([^0-9A-Za-z_.]|$)" | sed "s,^,$h:,")
  done
done
ok $([ -z "$d" ]; echo $?) "no number of multiprocessors but in mirage_plan.h" "$d"

build/san/test_core --ops >"$dir/ops"
sed -n '/^## Operators/,/^## Adding/p' README.md | grep '^|' >"$dir/readme-ops"
d=$(diff "$dir/ops" "$dir/readme-ops"); ok $? "README: the operator list is the table's" "$d"

results=tests/bench/results
if command -v python3 >/dev/null; then
  for f in README.md $results/README.md; do
    cp "$f" "$dir/measured.md"
    d=$(python3 tests/bench/table.py --readme "$dir/measured.md" 2>&1 && diff "$f" "$dir/measured.md")
    ok $? "$f: the measured tables are those of the results" "$d"
  done
fi
(cd $results && ls | grep -v README | sed 's/\.[a-z]*$//'; cd ../../.. && ls tests/results/*) | sort -u >"$dir/results"
grep -o '`[^` ]*-20[0-9][0-9]-[0-9][0-9]-[^` ]*`' $results/README.md | tr -d '`' | sort -u >"$dir/named"
d=$(diff "$dir/results" "$dir/named"); ok $? "$results/README.md names the files of results, each and no other" "$d"

n=$(wc -l <README.md)
ok $([ "$n" -le 250 ]; echo $?) "README: at most 250 lines" "$n"
d=$(LC_ALL=C.UTF-8 grep -n '^[^|].\{120\}' README.md); ok $([ -z "$d" ]; echo $?) "README: at most 120 columns, tables aside" "$d"

awk '/^```c$/ {on = 1; next} /^```$/ {if (on) exit} on' README.md >"$dir/prog.c"
"${CC:-gcc}" -std=c11 -O2 -Wall -Wextra -Werror -I. "$dir/prog.c" -o "$dir/prog" -lm -lpthread -ldl >"$dir/out" 2>&1
ok $? "README: the program compiles" "$(cat "$dir/out")"
here=$PWD
(ln -sf "$here/examples" "$dir/examples" && cd "$dir" && ./prog) >"$dir/out" 2>&1
awk '/Its output/ {seen = 1} seen && /^```$/ {if (on) exit; on = 1; next} on' README.md >"$dir/shown"
d=$(diff "$dir/shown" "$dir/out"); ok $? "README: the program prints what is shown" "$d"
[ -s "$dir/best.cu" ]; ok $? "README: the program writes best.cu"

if git rev-parse --git-dir >/dev/null 2>&1; then
  extra=$(git ls-files | cut -d/ -f1 | sort -u | grep -v -x -E 'mirage\.h|mirage_(model|plan|search|verify)\.h|mirage_cuda\.cuh|examples|tests|Makefile|README\.md|\..*')
  ok $([ -z "$extra" ]; echo $?) "nothing else at the top level" "$extra"
fi

missing=$(grep -o 'tests/[A-Za-z0-9_/]*\.\(sh\|py\)' Makefile README.md .ci/run | cut -d: -f2 | sort -u | while read -r f; do [ -e "$f" ] || echo "$f"; done)
ok $([ -z "$missing" ]; echo $?) "every script that Makefile and README name is there" "$missing"
