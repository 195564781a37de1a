#!/usr/bin/env bash
# The command line tool: exit statuses, where output goes, hostile files.  Prints `ok - ` and `not ok - ` lines.
set -uo pipefail
cd "$(dirname "$0")/.."
dir=build/tool m=$PWD/build/mirage
rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" || exit 1
programs=../../examples/programs
ok() { if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; [ -s err ] && head -n 3 err; fi; }
status() { # EXPECTED NAME COMMAND..: the exit status; one line on stderr if it is 2 or more, and for bad input nothing on stdout
  local want=$1 name=$2 rc
  shift 2
  timeout 120 "$@" >out 2>err </dev/null
  rc=$?
  [ $rc = "$want" ]; ok $? "$name: status $want (found $rc)"
  if [ "$want" -ge 2 ]; then
    { [ "$want" != 3 ] || [ ! -s out ]; } && [ "$(wc -l <err)" = 1 ]; ok $? "$name: one line on standard error"
  fi
}
has() { grep -q -e "$1" out; ok $? "$2"; }

cat >p.mg <<'E'
program p
input X : f16[16, 256]
input G : f16[256]
input W : f16[256, 128]
O = matmul(rms_norm(X, G, eps=1/1000000), W)
output O
E
sed 's/eps=1\/1000000/eps=1\/1000/' p.mg >other.mg
sed 's/G : f16\[256\]/G : f16[255]/' p.mg >bad.mg
printf 'program t\ninput X : f16[4, 8]\nY = exp(exp(X))\noutput Y\n' >exp2.mg
printf 'program t\ninput X : f16[4, 8]\nY = log(exp(X))\noutput Y\n' >log.mg
printf 'program t\ninput X : f16[4, 8]\nY = scale(X, 1)\noutput Y\n' >id.mg

status 0 "help" "$m" help
status 3 "no command" "$m"
status 3 "an unknown command" "$m" frobnicate p.mg
status 3 "an unknown option" "$m" print --frobnicate p.mg
status 3 "an option of another command" "$m" print --cold p.mg
status 3 "a bad number" "$m" search p.mg --threads many
for o in "top 0 1 to 100" "top 101 1 to 100" "threads 0 1 to 64" "threads 65 1 to 64" "max-loops 3 1 to 2" "seed -1 0 to 2^63-1" "time-limit nan of seconds above 0"; do
  read -r name value range <<<"$o"
  status 3 "--$name $value" "$m" search p.mg "--$name" "$value"
  grep -q -e "--$name: '$value' is no number .*$range" err; ok $? "--$name $value: the message says the range"
done
status 3 "a bad bound" "$m" verify p.mg p.mg --delta 2
status 3 "a missing file" "$m" print missing.mg
status 3 "a directory" "$m" print .
for c in print search check verify import; do
  status 3 "$c of a missing file" "$m" $c missing.mg
  grep -q '^mirage: missing.mg: cannot be opened: No such file' err; ok $? "$c of a missing file: the same words everywhere"
done
for c in print dot search verify emit explain check run calibrate import model; do
  status 0 "$c --help" "$m" $c --help
  [ "$(grep -c ' mirage ' out)" -ge 1 ] && ! grep ' mirage ' out | grep -v " mirage $c " >err && head -n 1 out | grep -q "^usage: mirage $c " && tail -n 1 out | grep -q '^exit: '; ok $? "$c --help: the lines of $c, and the exit statuses"
done
"$m" search p.mg -h >out; grep -q -e '--checkpoint FILE' out; ok $? "search -h: its options"

printf '\xef\xbb\xbf' | cat - p.mg >mark.mg
status 0 "a byte order mark" "$m" print mark.mg
"$m" print p.mg | cmp -s - out; ok $? "a byte order mark: the program behind it"
# What compiles: without the headers a fault of the machine, and nothing is left when it is interrupted or killed.
printf 'program k\ninput X : f32[4, 8]\nY = exp(X)\noutput Y\n' >k.mg
MIRAGE_INCLUDE=/nowhere status 4 "check without the headers" "$m" check k.mg
grep -q 'set MIRAGE_INCLUDE' err; ok $? "check without the headers: what to set"
for signal in INT KILL; do
  mkdir -p tmp && SIGNAL=$signal TMPDIR=$PWD/tmp python3 - "$m" <<'E' >err 2>&1; ok $? "check ended by SIG$signal leaves nothing behind"
import os, signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "check", "k.mg"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
def wait(done):
    began = time.time()
    while not done() and time.time() - began < 60: time.sleep(.02)
    return done()
began = wait(lambda: any(files for _, _, files in os.walk("tmp")))  # a source to compile
os.killpg(p.pid, getattr(signal, "SIG" + os.environ["SIGNAL"]))
p.wait()
gone = wait(lambda: not os.listdir("tmp"))
print("began" if began else "nothing was compiled", os.listdir("tmp"))
sys.exit(not (began and gone and p.returncode < 0))
E
done

make -s -C ../.. -o build/mirage install PREFIX="$PWD/prefix" >out 2>err; ok $? "make install"
PKG_CONFIG_PATH=prefix/lib/pkgconfig; export PKG_CONFIG_PATH
printf '#include "mirage.h"\nint main(void) { return MG_VERSION < 100; }\n' >use.c
if command -v pkg-config >/dev/null; then flags=$(pkg-config --cflags --libs mirage); else flags="-Iprefix/include/mirage"; fi
gcc -std=c11 use.c $flags -o use 2>err && ./use && prefix/bin/mirage print p.mg >out; ok $? "what is installed is found by mirage.pc, and runs"
unset PKG_CONFIG_PATH

models=../../examples/models
for f in tiny llama3_8b; do
  status 0 "model print $f" "$m" model print $models/$f.mgm
  cp out printed.mgm
  status 0 "model print of what was printed" "$m" model print printed.mgm
  cmp -s out printed.mgm; ok $? "model print $f: printed again it is the same"
done
status 0 "model plan" "$m" model plan ../../tests/corpus/model/relax.mgm
has '^storage 0: 8\*n bytes, at most 512$' "model plan: two storages of 2 n 4 bytes"
[ "$(grep -c '^storage ' out)" = 2 ]; ok $? "model plan: and no third"
status 0 "model plan with folds" "$m" model plan $models/tiny.mgm --fold
has '^once, when weights are loaded: 14 launches, 81920 bytes kept, 82432 bytes of weights freed$' "model plan with folds: what is made once"
status 0 "model verify with folds" "$m" model verify $models/tiny.mgm --fold --sym n=2 --sym p=3
has '^fold 2, a gain into the matrix behind it: EQUAL, ' "model verify with folds: link 1 of each"
has '^whole: EQUAL.* ranges and folds' "model verify with folds: they are in the sum"
status 3 "model eval with folds" "$m" model eval $models/tiny.mgm --fold --sym n=2 --sym p=3
status 0 "model eval" "$m" model eval $models/tiny.mgm --sym n=2 --sym p=3 --steps 3 --seed 5
has '^step 2: n=2 p=5$' "model eval: the cache grows"
has '^the same bits in the plan.s memory; seed 5$' "model eval: the plan's memory holds the same"
status 3 "model eval past a bound" "$m" model eval $models/tiny.mgm --sym n=2 --sym p=31 --steps 3
status 3 "model eval without a size" "$m" model eval $models/tiny.mgm --sym n=2
status 3 "model eval of what is too large" "$m" model eval $models/llama3_8b.mgm --sym n=1 --sym p=1
status 2 "model eval of foreign kernels" "$m" model eval ../../tests/corpus/model/foreign.mgm --sym n=1 --sym p=1
status 3 "model of another word" "$m" model go $models/tiny.mgm
status 3 "model run without weights" "$m" model run $models/tiny.mgm --sym n=1 --sym p=1
status 0 "model run" "$m" model run $models/tiny.mgm --random 3 --tokens 1,2,3 --steps 5 --sym n=1 --sym p=1
has 'no kernel was launched$' "model run: says where it was computed"
has '^step 4: n=1 p=5$' "model run: goes on with its own tokens"
status 3 "model run of an unknown token" "$m" model run $models/tiny.mgm --random 3 --tokens 1,50 --sym n=1 --sym p=1
[ ! -s out ] && grep -q "'T' takes 0 to 49, found 50" err; ok $? "model run of an unknown token: nothing runs"
status 0 "model run of as many steps as examples/model.c" "$m" model run $models/tiny.mgm --random 1 --tokens 3,14,15 --steps 8 --sym n=1 --sym p=1
said=$(sed -n 's/^  N : .*, //p' out | sed -n 3,7p | tr '\n' ' ')
status 0 "examples/model.c" ../model $models/tiny.mgm
[ "$(cat out)" = "3 14 15 ${said% }" ]; ok $? "examples/model.c says what model run says"
status 3 "model run of too few tokens" "$m" model run $models/tiny.mgm --random 3 --tokens 1,2,3 --sym n=2 --sym p=1
status 3 "model run of too many steps" "$m" model run $models/tiny.mgm --random 3 --steps 33 --sym n=1 --sym p=1
cat >w.mgm <<'END'
model w
sym n in 1..4
input T : i32[n]
weight E[1] : bf16[3, 2] from "e.{l}"
weight W : f32[2, 3] from "q", "k" transposed
Y = matmul(cast(gather(E[0], T), f32), W)
output Y
END
header='{"e.0":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},"k":{"dtype":"BF16","shape":[1,2],"data_offsets":[24,28]},"q":{"dtype":"F32","shape":[2,2],"data_offsets":[28,44]}}'
one='\0\0\200\77' two='\0\0\0\100'
{ printf "\\$(printf %o ${#header})\0\0\0\0\0\0\0%s" "$header"; printf "$one$one$one$two$two$one\200\77\0\100$one$two$two$one"; } >w.safetensors
status 0 "model run with weights" "$m" model run w.mgm --weights w.safetensors --tokens 1,2 --sym n=2
has '^weights: w.safetensors, 3 tensors; 1 rounded from F32 to their type$' "model run with weights: what was read"
has ' first 5 4 5 4$' "model run with weights: their product" # [1, 2] and [2, 1] by [1, 2], [2, 1], [1, 2]
mkdir -p empty
status 0 "model run on a stand-in" "$m" model run w.mgm --weights w.safetensors --tokens 1,2 --sym n=2 --emulated
has '^model w on the CPU, by emulation: ' "model run on a stand-in: says where it ran"
has ' first 5 4 5 4$' "model run on a stand-in: the files' weights, their product"
printf 'program f\nsym n in 1..8\ninput X : f16[n, 8]\nO = kernel grid=(x=n) {\n  store exp(load X {x->0}) {x->0}\n}\noutput O\n' >sized.mg
status 3 "run past a bound" "$m" run sized.mg --no-check --sym n=9
grep -q 'n is in 1..8, got 9' err; ok $? "run past a bound: it says so, GPU or none"
printf 'program f\nsym n in 1..8\ninput X : f16[n, 8]\nO = exp(X)\noutput O\n' >unsized.mg
"$m" print sized.mg --sym n=5 >sized5.mg
status 0 "verify at a size" "$m" verify unsized.mg sized.mg --sym n=5
status 0 "verify of a member at its size" "$m" verify unsized.mg sized5.mg --sym n=5
status 3 "verify of a member at another size" "$m" verify unsized.mg sized5.mg --sym n=4
status 3 "verify past a bound" "$m" verify unsized.mg sized.mg --sym n=9
status 3 "verify at a size that no file has" "$m" verify sized5.mg sized5.mg --sym n=5
status 3 "model run on a GPU and a stand-in" "$m" model run w.mgm --random 1 --sym n=2 --gpu --emulated
status 3 "model run in float64 with times" "$m" model run w.mgm --random 1 --sym n=2 --time
status 3 "model run with too many replays" "$m" model run w.mgm --random 1 --sym n=2 --gpu --reps 257
status 3 "model eval on a stand-in" "$m" model eval w.mgm --sym n=2 --emulated
status 3 "model run on a stand-in past a bound" "$m" model run $models/tiny.mgm --random 3 --steps 33 --sym n=1 --sym p=1 --emulated
if ! nvidia-smi >/dev/null 2>&1; then
  status 4 "model run without a GPU" "$m" model run w.mgm --random 1 --sym n=2 --gpu
fi
status 3 "model run of a directory without weights" "$m" model run w.mgm --weights empty --sym n=2
status 3 "model run of others' weights" "$m" model run $models/tiny.mgm --weights w.safetensors --sym n=1 --sym p=1
grep -q "tiny.mgm:9:8: weight 'E': no tensor of the files is named 'model.embed_tokens.weight'" err; ok $? "model run of others' weights: which is missing"
status 2 "model run of foreign kernels" "$m" model run ../../tests/corpus/model/foreign.mgm --random 1 --sym n=1 --sym p=1
status 0 "model search" "$m" model search $models/tiny.mgm --sym n=2 --sym p=3 --time-limit 3 -o found --svg line.svg
has '^  all .* a step, without updates and foreign kernels' "model search: a table and its sum"
[ "$(grep -c "class='model'/>" line.svg)" = "$(awk '$1 ~ /^[0-9]+$/ {n += $2} END {print n}' out)" ]; ok $? "model search: a picture has a bar for each launch"
python3 -c "import sys, xml.dom.minidom; xml.dom.minidom.parse('line.svg')" 2>err; ok $? "model search: a picture is XML"
status 3 "model plan with a picture" "$m" model plan $models/tiny.mgm --svg no.svg
status 4 "model search with a picture nowhere" "$m" model search $models/tiny.mgm --sym n=2 --sym p=3 --time-limit 3 -o found --svg none/line.svg
status 0 "model verify" "$m" model verify $models/tiny.mgm --sym n=2 --sym p=3 -o found
has '^whole: EQUAL.*; at n=2 p=3$' "model verify: the chain of the whole"
has '^run in float64, .* off by [0-9.e-]* at most$' "model verify: and a run"
has "^link 2 of the pieces' files: not run" "model verify: what was not run"
status 0 "model verify with link 2" "$m" model verify w.mgm --link2
n=$(grep -c '^piece .*: link 2: SAME over ' out); [ "$n" -gt 0 ] && [ "$n" = "$(grep -c '^piece .* launch' out)" ]; ok $? "model verify with link 2: of each piece"
status 3 "model emit with link 2" "$m" model emit $models/tiny.mgm --sym n=2 --sym p=3 -o found --link2
status 0 "model emit" "$m" model emit $models/tiny.mgm --sym n=2 --sym p=3 -o found
grep -q 'tiny_p1_launch' found/tiny_p1.cu; ok $? "model emit: a file a piece"
status 3 "model check without sizes" "$m" model check $models/tiny.mgm -o found
status 3 "model emit to nowhere" "$m" model emit $models/tiny.mgm
status 3 "model search past a bound" "$m" model search $models/tiny.mgm --sym n=5 --sym p=3
status 3 "model plan with a directory" "$m" model plan $models/tiny.mgm -o found
status 3 "model plan of a program" "$m" model plan p.mg
printf 'program t\nsym n in 1..16\ninput X : f16[16, 8]\ninput W : f16[8, n]\nT = matmul(X, W)\nO = add(T, T)\noutput O\n' >one_size.mg
status 0 "search at one size of a symbol" "$m" search one_size.mg --sym n=12 --time-limit 5 --no-measure -o one_size
status 0 "its certificate is rechecked" "$m" verify one_size/00.cert
status 3 "model plan with sizes" "$m" model plan $models/tiny.mgm --sym n=1
status 3 "a shape that does not fit" "$m" print bad.mg
{ "$m" print bad.mg 2>&1 || true; } | grep -q 'bad.mg:5:.*256 against 255'; ok $? "the error names file, line and sizes"

status 1 "unequal programs of one name" "$m" verify p.mg other.mg
grep -q "in the first, .* in the second" err; ok $? "programs of one name are told apart"

status 0 "print" "$m" print p.mg
cp out printed.mg
status 0 "print what was printed" "$m" print printed.mg
cmp -s out printed.mg; ok $? "print, parse and print give the same text"
status 0 "dot" "$m" dot p.mg
has '^digraph' "dot prints a digraph"
for f in $programs/*.mg; do
  "$m" print "$f" >a 2>err && "$m" print a >b 2>>err && cmp -s a b
  ok $? "$(basename "$f") parses, prints and parses to the same"
done

gzip -dc ../../tests/mugraphs/lora.json.gz >lora.json
if "$m" import lora.json 2>&1 | grep -q libcjson-dev; then
  echo "skipped: import: no libcjson-dev"
  status 2 "import without cJSON" "$m" import lora.json
else
  python3 - <<'E'
import json
d = json.load(open("lora.json"))
json.dump(d[0], open("one.json", "w"))
d[1][0]["output_tensors"][0]["data_type"] = 900
json.dump(d, open("some.json", "w"))
del d[2][0]["op_type"]
json.dump(d[2:], open("malformed.json", "w"))
E
  status 0 "import" "$m" import one.json
  cp out one.mg
  head -n 1 one.mg | grep -qx '# verdict: none: imported, not verified'; ok $? "import: the first line is the verdict"
  status 0 "an import verifies" "$m" verify $programs/mirage_lora.mg one.mg
  status 0 "import to a directory" "$m" import lora.json -o lora
  [ "$(cat out)" = "4 of 4 µGraphs written to lora" ] && [ "$(ls lora)" = "$(printf '%02d.mg\n' 0 1 2 3)" ]; ok $? "import: a file a µGraph, and it says how many"
  status 3 "import of several without a directory" "$m" import lora.json
  status 2 "import, where our form lacks one" "$m" import some.json -o some
  [ "$(cat out)" = "3 of 4 µGraphs written to some" ] && [ "$(ls some)" = "$(printf '%02d.mg\n' 0 2 3)" ]; ok $? "import: the others are written"
  status 3 "import of a malformed file" "$m" import malformed.json -o malformed
  status 3 "import of what is no JSON" "$m" import p.mg
  status 3 "import of nothing" "$m" import /dev/null
  status 3 "import of a packed file" "$m" import ../../tests/mugraphs/lora.json.gz -o packed
  grep -q 'lora.json.gz: expected JSON, found a gzip file: .*gunzip' err; ok $? "import of a packed file: the message says what to do"
fi

mkdir found
for f in '00.4.cert|mirage certificate 3|p' '07.mg|# verdict: EQUAL|p' '06.mg|# verdict: EQUAL|p_1' '05.mg|# mine|p' '00.5.cert|# mine|p'; do
  IFS='|' read -r file head name <<<"$f" && printf '%s\nprogram %s\n' "$head" "$name" >"found/$file"
done
status 0 "search" "$m" search p.mg -o found --stats stats.json --top 3 --no-measure
cp out best.mg
head -n 1 best.mg | grep -qx '# verdict: EQUAL'; ok $? "search: the first line is the verdict"
[ "$(grep -c '= kernel ' best.mg)" = 1 ]; ok $? "search: one kernel"
grep -qx '# measured: no, the order is predicted' best.mg; ok $? "search --no-measure: it says that the order is predicted"
[ -s found/00.mg ] && [ -s found/01.mg ] && [ -s found/00.cert ] && [ ! -e found/03.mg ]; ok $? "search -o: ranked files and a certificate, --top obeyed"
[ ! -e found/00.4.cert ] && [ ! -e found/07.mg ]; ok $? "search -o: what an earlier search of it left is gone"
[ -s found/06.mg ] && [ -s found/05.mg ] && [ -s found/00.5.cert ]; ok $? "search -o: other files are left alone"
python3 -c 'import json; s = json.load(open("stats.json")); assert s["complete"] is True and s["states"] > 0 and s["best"]["kernels"] == 1 and set(s["pruned"]) and s["threads"] >= 1 and 0 < s["probe_ns"] < 10000' 2>err
ok $? "search --stats: JSON that says what it did"
status 0 "search: the same with another seed and one thread" "$m" search p.mg --seed 77 --threads 1 --top 3 --no-measure
[ "$(grep -v '^#' out)" = "$(grep -v '^#' best.mg)" ]; ok $? "search: the result depends neither on seed nor on threads"
status 0 "search with as many block operators as it takes" "$m" search p.mg --max-block-ops 40 --no-measure
status 3 "search: what is past them is refused, not made less" "$m" search p.mg --max-block-ops 41
status 0 "search within half a second" "$m" search p.mg --time-limit 0.5
# X is read along both of its dimensions: no class of an index, so all elements are tested; Z may be 0: it is not taken apart
printf 'program t\ninput X : f16[4096, 4096]\ninput W : f16[4096, 4096]\ninput Z : f16[4096, 4096]\nY = matmul(X, div(matmul(W, X), Z))\noutput Y\n' >large.mg
timeout 120 "$m" search $programs/gqa_bs1.mg --no-prune --time-limit 0.3 >out 2>err
has '; the search was cut short by --time-limit 0.3$' "search: it says that the time limit ended it"
timeout 120 "$m" search $programs/ntrans_m8.mg --time-limit 3 >out 2>err # its one kernel may take 2 s
has '; the search was cut short by --time-limit 3$' "search: the time limit ended a part of it"
[ "$(grep -c 'cut short' best.mg)" = 0 ]; ok $? "search: and nothing where nothing ended it"
status 0 "search whose certificate takes longer than --time-limit" "$m" search large.mg --time-limit 1
has '^# verdict: EQUAL$' "the program itself is the result then"
has '^# proof: equal by identity' "by identity"
grep -q 'left out, not certified: .*time limit' err; ok $? "and standard error says what was left out"
# An exponential without a bound is said, one with a maximum, or with the emitter's running maximum, is not.
soft() { printf 'program s\ninput X : f16[16, 64]\ninput W : f16[64, 128]\ninput V : f16[128, 64]\n%s\noutput O\n' "$2" >"$1.mg"; status 0 "search: $1" "$m" search "$1.mg" --top 2 -o "$1" --no-measure; }
cat >mask.mg <<'E'
program mask
input Q : f16[2, 16, 64]
input K : f16[2, 64, 128]
input V : f16[2, 128, 64]
input B : f32[2, 16, 128]
S = add(matmul(Q, K), B)
O = matmul(softmax(S, dim=2), V)
output O
E
status 0 "search: a mask of f32" "$m" search mask.mg --no-measure
has '^# note: O = matmul(..) multiplies .* of f32, by 16 bits: .*f32 since S = add(..),' "a mask of f32 on scores of f16 is told"
sed 's/softmax(S,/softmax(cast(S, f16),/' mask.mg >cast.mg
status 0 "search: a mask's sum that is cast" "$m" search cast.mg --no-measure
! grep -q 'without tensor cores' out; ok $? "and not one that is cast"
note='^# note: nothing is seen to bound s in t[0-9]* = exp(s): it overflows where s passes 88 .*exp(sub(S, max(S, dim=D)))'
soft raw 'O = exp(scale(X, 40))'
has "$note" "an exponential of large values: a note"
grep -q "$note" raw/00.mg && "$m" emit raw/00.mg >out && grep -q 'note: nothing is seen to bound s in t[0-9]* = exp' out; ok $? "in the file, and in what is emitted of it, too"
for e in 'clamp(X, 5, 20)' 'maximum(X, tanh(X))' 'add_scalar(tanh(X), 11)'; do
  soft loose "O = exp($e)"
  has "$note" "a bound that is too large: exp($e)"
done
soft shifted 'E = exp(scale(X, 40))
O = div(E, add_scalar(sum(E, dim=1), 1))'
has "$note" "a sum that a maximum does not cancel in: a note"
for e in 'O = softmax(scale(X, 40), dim=1)' 'O = softmax(matmul(X, W), dim=1)'; do
  soft plain "$e"
  grep -q '= max(' out && grep -q '= sub(' out; ok $? "a softmax: rows' maxima are taken off: $e"
done
for e in 'L = scale(X, 40)
E = exp(sub(L, max(L, dim=1)))
O = div(E, sum(E, dim=1))' 'O = exp(scale(sqr(X), -1/2))' 'O = exp(neg(abs(X)))' 'O = exp(clamp(X, -5, 5))' 'O = exp(minimum(X, tanh(X)))' 'O = matmul(softmax(matmul(X, W), dim=1), V)' 'O = softmax(scale(X, 40), dim=1)' 'O = softmax(matmul(X, W), dim=1)'; do
  soft bounded "$e"
  grep -q '= exp(' out && ! grep -q 'note' out; ok $? "no note: $(tail -n 2 bounded.mg | head -n 1)"
done
status 0 "search: a decode step" "$m" search $programs/gqa_decode_bs8.mg --top 12 -o pairs --no-measure
safe=0 bare=0 # in two kernels: one that hands its maxima on, or one that says that it has none
for f in pairs/*.mg; do
  "$m" emit "$f" >out 2>err || bare=1
  grep -q 'mg_shift_weights<' out && safe=$((safe + 1)) && grep -q "$note" "$f" && bare=1
done
[ $safe -gt 0 ] && [ $bare = 0 ]; ok $? "no note: exponentials that pass from kernel to kernel with their maxima ($safe pairs)"
python3 -c 'print("program s\ninput X : f16[4, 8]\nA0 = sqr(X)\nB0 = sqr(X)\n" + "".join("%s%d = add(%s%d, %s%d)\n" % (c, k, c, k - 1, c, k - 1) for k in range(1, 33) for c in "AB") + "O = exp(sub(A32, max(B32, dim=1)))\noutput O")' >paths.mg
status 0 "search: a graph of 2^32 paths" "$m" search paths.mg --time-limit 3 --no-measure
status 3 "search on a µGraph" "$m" search best.mg
status 3 "search -o FILE" "$m" search p.mg -o bad.mg
grep -q 'bad.mg: expected a directory' err && grep -q 'output O' bad.mg; ok $? "search -o FILE: refused before the search, the file is left alone"
status 3 "import -o FILE" "$m" import one.json -o bad.mg
for a in 90 sm_70; do
  status 3 "search --arch $a" "$m" search p.mg --arch $a
  grep -q "'$a' is no .*sm_90a (H200, H100), sm_80 (A100)" err; ok $? "search --arch $a: the known ones are listed"
done

status 0 "verify: equal" "$m" verify p.mg best.mg --certificate c.cert
has '^# verdict: EQUAL$' "verify: says EQUAL"
has '^# for all: M >= 1.*: M ([0-9]*): input X dimension [01]' "verify: says for all extents of what"
status 0 "verify --full: equal" "$m" verify p.mg best.mg --full
! grep -q '^# for all' out; ok $? "verify --full: says nothing of other extents"
status 0 "verify: a certificate" "$m" verify c.cert
for o in 'exp(add(X, Y))' 'mul(exp(X), exp(Y))'; do printf 'program e\ninput X : f16[6, 10]\ninput Y : f16[6, 10]\nO = %s\noutput O\n' "$o"; done | csplit -s -f exp_ - 6
status 0 "verify: a bound that is no round number" "$m" verify exp_00 exp_01 --certificate exp.cert
grep -q "^# delta: <= $(sed -n 's/^delta //p' exp.cert)," out; ok $? "verify: the bound that is shown is the certificate's, rounded the same way"
status 1 "verify: not equal" "$m" verify other.mg best.mg
has '^# verdict: NOT_EQUAL$' "verify: says NOT_EQUAL"
status 0 "verify: a logarithm, by a proof without the solver" "$m" verify id.mg log.mg --no-prove --certificate log.cert
has '^# verdict: EQUAL$' "verify: the proof says EQUAL"
grep -q '^derivation$' log.cert; ok $? "verify: its certificate holds the derivation"
status 0 "verify: that certificate, and its files" "$m" verify log.cert id.mg log.mg
status 3 "verify: a certificate of other files" "$m" verify log.cert log.mg id.mg
grep -q 'no certificate of' err; ok $? "verify: a certificate of other files: the message says so"
printf 'program r\ninput X : f16[16, 64]\ninput Y : f16[16, 64]\nO = relu(max(mul(X, Y), dim=1))\noutput O\n' >relu.mg
status 0 "search: relu of a maximum that does not cancel" "$m" search relu.mg --no-measure
has '^# verdict: EQUAL$' "search: it is EQUAL"
[ "$(grep -c '= kernel ' out)" = 1 ] && grep -q 'relu(' out; ok $? "search: one kernel, with the relu"
sed 's/^  t\([0-9]*\) = relu(\(t[0-9]*\))/  t\1 = scale(\2, 1)/' out >dropped.mg
status 1 "verify: the same without the relu" "$m" verify relu.mg dropped.mg
wrong=() tried=0
for a in ../../tests/corpus/wrong/*.a.mg; do
  timeout 60 "$m" verify "$a" "${a%.a.mg}.b.mg" --time-limit 5 >out 2>err </dev/null
  rc=$? tried=$((tried + 1))
  [ $rc = 1 ] || [ $rc = 2 ] || wrong+=("$(basename "$a" .a.mg): $rc")
done
echo "${wrong[*]}" >err
[ $tried -ge 30 ] && [ ${#wrong[@]} = 0 ]; ok $? "verify: none of $tried wrong pairs is equal"
status 0 "verify --prove: a second opinion" "$m" verify p.mg best.mg --prove --time-limit 20
has '^# solver: Z3 .*, EQUAL; ' "verify --prove: both say EQUAL"
status 3 "verify --prove --no-prove" "$m" verify p.mg best.mg --prove --no-prove
grep -q 'exclude each other' err; ok $? "verify --prove --no-prove: the message says so"
status 3 "verify of one program" "$m" verify p.mg
grep -q 'mirage verify A B' err; ok $? "verify of one program: it says that two are compared"
status 1 "verify --prove: not equal" "$m" verify other.mg best.mg --prove
status 3 "verify: unlike signatures" "$m" verify p.mg id.mg
# What the search makes of a size: of bounds that are no whole chunks, and of several ranges.
printf 'program rows\nsym n in 3..37\ninput X : f16[n, 64]\ninput W : f16[64, 24]\nO = relu(matmul(X, W))\noutput O\n' >rows.mg
status 0 "search: a size" "$m" search rows.mg --no-measure -o rows
status 0 "verify: what it found" "$m" verify rows.mg rows/00.mg
status 0 "verify: its certificate, and both files" "$m" verify rows/00.1.cert rows.mg rows/00.mg
sed 's/relu(\(.*\))$/\1/' rows.mg >product.mg
status 0 "search: without time, a product as it stands" "$m" search product.mg --no-measure --time-limit 0.001
has '^# range 1: .*; a row.s bits may differ from size to size, by cuBLAS$' "search: a range of a library product says that its rows' bits are not one"
status 0 "check: a product of all sizes" "$m" check product.mg
has 'rows of the same sums and masks have the same bits, but for what cuBLAS multiplies$' "check: what it says of rows is not about cuBLAS"
for r in '1 1..4' '2 5..40'; do printf 'program rows_%s\nsym n in %s\ninput X : f16[n, 64]\ninput W : f16[64, 24]\nO = relu(matmul(X, W))\noutput O\n' $r; done >ranges.mg
sed 's/3..37/1..37/' rows.mg >from1.mg
status 0 "verify: ranges" "$m" verify from1.mg ranges.mg
has '^# range 2: n in 5..40$' "verify: ranges: it says which"
status 3 "run: past all ranges" "$m" run ranges.mg --sym n=41
grep -q 'n is in 1..40, got 41' err; ok $? "run: past all ranges: it says the bounds of them all"
status 3 "verify: a certificate of ranges" "$m" verify from1.mg ranges.mg --certificate no.cert
sed '/^program rows_2/,$d' ranges.mg >few.mg
sed 's/n in [0-9.]*/n in 1..4/' from1.mg >to4.mg
status 0 "verify: a certificate of a range" "$m" verify to4.mg few.mg --certificate range.cert
status 0 "verify: it is of a program and its ranges" "$m" verify range.cert from1.mg ranges.mg
has 'is of range 1 of the second file' "verify: it is of a program and its ranges: it says of which"
status 0 "verify: it is of the program at those sizes" "$m" verify range.cert to4.mg few.mg
status 3 "verify: it is not of the program at all sizes" "$m" verify range.cert from1.mg few.mg
grep -q 'which a launch at n = 5 takes' err; ok $? "verify: it is not of the program at all sizes: it says where"
sed 's/n in 5..40/n in 5..36/' ranges.mg >short.mg
status 3 "verify: ranges that end before the program" "$m" verify from1.mg short.mg
grep -q 'which a launch at n = 37 takes' err; ok $? "verify: ranges that end before the program: it says where"
sed 's/n in 1..4/n in 2..4/' ranges.mg >late.mg
status 3 "verify: ranges that begin behind the program" "$m" verify from1.mg late.mg
sed '/^program rows_2/,$s/relu/silu/' ranges.mg >silu.mg
status 1 "verify: ranges, of which the second is wrong" "$m" verify from1.mg silu.mg
sed 's/delta/dalte/' c.cert >d.cert
status 3 "verify: a damaged certificate" "$m" verify d.cert
head -c 300 c.cert >e.cert
status 3 "verify: half a certificate" "$m" verify e.cert
status 0 "exp of exp equals itself" "$m" verify exp2.mg exp2.mg

printf 'program t\ninput X : f16[16, 64]\nO = log(add_scalar(sum(exp(X), dim=1), 1))\noutput O\n' >sumexp.mg
status 0 "search of an exponential without a maximum" "$m" search sumexp.mg --no-measure
grep -q '^# numerics: as safe as written, by runs' out && grep -q '^# note: nothing is seen to bound s in' out; ok $? "where the program's own has none, runs say that it is as safe"
status 0 "emit" "$m" emit best.mg -o best.cu
head -n 1 best.cu | grep -q nvcc; ok $? "emit: the file opens with its nvcc command"
"$m" emit best.mg >again.cu 2>err; cmp -s best.cu again.cu; ok $? "emit: the same text again, and to stdout"
status 0 "emit for sm_80" "$m" emit best.mg --arch sm_80 -o best80.cu
status 0 "explain" "$m" explain best.mg
"$m" explain best.mg >out; grep -q 'bound by' out && grep -q 'launch: an empty kernel' out && grep -q 'lives in' out; ok $? "explain: what bounds it, its terms, its values"
"$m" explain best.mg --no-measure >out && grep -q 'not measured: --no-measure' out; ok $? "explain --no-measure"
CUDA_VISIBLE_DEVICES= "$m" explain best.mg --json >out && python3 -c 'import json; d = json.load(open("out")); assert d["measured"] is None and "no CUDA device" in d["not_measured"]'; ok $? "explain without a GPU says that nothing was measured"
"$m" explain best.mg --machine A100 --json >out && python3 -c 'import json, sys; d = json.load(open("out")); k = d["parts"][0]; u = k["us"]; sys.exit(not (d["machine"] == "A100" and k["shared_bytes"] > 0 and k["values"] and abs(sum(u[t] for t in "launch fill body steps barriers rounds merge drain".split()) - u["total"]) < 1e-2))'; ok $? "explain --json: the terms add up"
"$m" explain best.mg --no-measure --svg best.svg --program p.mg >out; ok $? "explain --svg"
"$m" explain best.mg --no-measure --json >terms; ok $? "explain --json"
python3 - best.svg <<'EOF'; ok $? "explain --svg: its bars end where the model's time does; program and µGraph are drawn where Graphviz is"
import json, re, shutil, subprocess, sys
import xml.dom.minidom as dom
picture = dom.parse(sys.argv[1]).documentElement
terms = list(json.load(open("terms"))["parts"][0]["us"]) # the last of them is not known to be one: `drain` is
terms = terms[:terms.index("drain") + 1]
bars = [r for r in picture.getElementsByTagName("rect") if r.getAttribute("y") == "64"]
us = float(re.search(r": ([0-9.]+) us by the model", open("out").read()).group(1))
ticks = [t.firstChild.data for t in picture.getElementsByTagName("text") if t.firstChild.data.endswith(" us")]
end = max(float(r.getAttribute("x")) + float(r.getAttribute("width")) for r in bars)
assert len(bars) == len(terms) and abs(end - 1190) < 1 and float(ticks[-1][:-3]) <= us, (bars, end, ticks)
assert len(picture.getElementsByTagName("svg")) == (2 if shutil.which("dot") else 0)
EOF
status 4 "explain --svg to where nothing can be written" "$m" explain best.mg --no-measure --svg nowhere/best.svg
sed 's/ring=warp/ring=warp nothing.mma=wide/; s/stages=/nothing.mma=wide stages=/' best.mg >unwritten.mg
status 2 "explain of what the emitter refuses" "$m" explain unwritten.mg
grep -q '^the emitter refuses it: ' out && grep -q 'bound by' out && grep -q '^mirage: .*nothing.mma' err; ok $? "it says why, and the price of what would not be written"
status 3 "explain for a machine that nobody knows" "$m" explain best.mg --machine Z80
grep -q "'Z80' is no GPU or architecture of the table, sm_90a (H200, H100), .*, and no file" err; ok $? "it names those that it knows"
machine() { printf '%s\n' 'name mine' "arch $1" "can ASYNC_COPY$2" 'sms 64' 'threads_per_sm 1536' 'blocks_per_sm 16' 'shared_per_block 101376' 'shared_per_sm 102400' 'registers_per_sm 65536' \
  'l2_bytes 6291456' 'dram_gbps 700.5' 'l2_gbps 2e3' 'tensor_tflops 100' 'fp32_tflops 20' 'shared_bytes_us 190000' 'launch_us 1.5' 'barrier_us 0.06' 'source measured: by hand # 1'; }
machine sm_86 '' >mine.machine
"$m" explain best.mg --machine mine.machine --json >out && grep -q '"machine": "mine", "arch": "sm_86", "source": "measured: by hand # 1"' out; ok $? "explain --machine FILE"
status 0 "emit --machine FILE" "$m" emit best.mg --machine mine.machine
head -n 1 out | grep -q 'code=sm_86'; ok $? "emit --machine FILE: for its architecture"
status 0 "emit --machine NAME" "$m" emit best.mg --machine A100
head -n 1 out | grep -q 'code=sm_80'; ok $? "emit --machine NAME: for its architecture"
status 0 "check --machine FILE" "$m" check best.mg --machine mine.machine
status 0 "search --machine FILE, a cache" "$m" search p.mg --no-measure --machine mine.machine --cache machines --stats first.json
sed 's/^l2_gbps 2e3/l2_gbps 2001/' mine.machine >other.machine
for k in other mine; do
  status 0 "search --machine FILE, again" "$m" search p.mg --no-measure --machine $k.machine --cache machines --stats $k.json
done
python3 -c 'import json; a, b, c = (json.load(open(n + ".json")) for n in ("first", "other", "mine")); assert not a["cached"] and not b["cached"] and c["cached"]' 2>err; ok $? "a search's cache tells one machine from another by all of its row"
sed 's/^sms 64/sms many/' mine.machine >bad.machine
for c in search emit explain check run; do
  status 3 "$c --machine FILE, a bad one" "$m" $c best.mg --machine bad.machine
  grep -q "^mirage: bad.machine:4:5: expected an integer from 1 to 1024 .*, found 'many'" err; ok $? "$c --machine: it says where"
done
machine sm_86 ' CLUSTER' >bad.machine; status 3 "a machine that can what its architecture cannot" "$m" explain best.mg --machine bad.machine
status 3 "a machine that is a directory" "$m" explain best.mg --machine .
status 3 "a machine and an architecture" "$m" emit best.mg --machine H200 --arch sm_80
status 2 "emit for an unknown architecture" "$m" emit best.mg --arch sm_00
status 0 "check a .mg" "$m" check best.mg
"$m" check best.mg >out 2>err; grep -q 'floats: 2 fiber orders, [1-9][0-9]* families of inputs' out; ok $? "check says what ran over floats"
status 0 "check without the bound on its work" "$m" check best.mg --full
status 0 "check a .cu" "$m" check best.cu
sed 's/mg_dev_DIV/mg_dev_MUL/' best.cu >wrong.cu
status 1 "check a .cu with another operator in it" "$m" check wrong.cu
sed 's/mg_sync();//' best.cu >race.cu
status 1 "check a .cu without barriers" "$m" check race.cu
sed 's/^\(#define p_K0_x\) .*/\1 1/' best.cu >count.cu
status 1 "check a .cu with another grid" "$m" check count.cu
sed 's/^\(#define p_D[0-9]*\) 128$/\1 127/' best.cu >extent.cu
status 1 "check a .cu with another extent" "$m" check extent.cu
sed 's/{"W", MG_F16/{"W", MG_F32/' best.cu >info.cu
status 1 "check a .cu with another type in its info" "$m" check info.cu
status 3 "check: no µGraph in it" "$m" check p.cu
status 0 "check within its time" "$m" check best.cu --time-limit 119.5
printf '#!/bin/sh\nexec sleep 100\n' >slow_cxx && chmod +x slow_cxx
status 4 "check past its time" env CXX=./slow_cxx "$m" check best.cu --time-limit 0.5
grep -q 'slow_cxx: the compiler was ended by signal 14: out of time' err; ok $? "check past its time: the message says what took it"
if ! command -v nvidia-smi >/dev/null 2>&1; then status 4 "run without a GPU" "$m" run best.mg; status 4 "calibrate without a GPU" "$m" calibrate; grep -q "no CUDA device" err; ok $? "calibrate: it says what is missing"; fi

# What the machine refuses, and what was tampered with.
status 0 "--version" "$m" --version
has '^mirage [0-9]*\.[0-9]*\.[0-9]*$' "--version: three numbers"
if [ -e /dev/full ]; then
  status 4 "print to a full disk" sh -c "'$m' print p.mg >/dev/full"
  status 4 "search whose statistics find the disk full" "$m" search p.mg --no-measure --stats /dev/full
  has '^# verdict: EQUAL' "what it found is printed all the same"
fi
status 4 "a certificate that cannot be written" "$m" verify p.mg best.mg --certificate nowhere/c.cert
status 4 "search -o to a place that cannot be" "$m" search p.mg -o p.mg/found
status 3 "search for an architecture that is none" "$m" search p.mg --arch sm_1
status 4 "check without a C++ compiler" env CXX=/no_such_compiler "$m" check best.mg
grep -q no_such_compiler err; ok $? "check: the message names the compiler"
sed 's/mg_dev_SQRT(/mg_dev_NOTHING(/g' best.cu >broken.cu
timeout 120 "$m" check broken.cu >out 2>err; rc=$?
[ $rc = 3 ] || [ $rc = 4 ]; ok $? "check of a file that does not compile: status 3 or 4 (found $rc)"
printf '/* nothing */\n' >nothing.cu
status 3 "check of a .cu without a µGraph" "$m" check nothing.cu
grep -q 'verdict: EQUAL' best.cu; ok $? "emit: the head quotes the verdict"
sed 's/^# hash: ./# hash: g/' best.mg >forged.mg
status 0 "emit with the verdict of another graph" "$m" emit forged.mg
has 'not certified' "emit: a verdict of another graph is not quoted"
printf 'program n\ninput X : f16[16, 64]\nO = kernel {\n  for i=2 {\n    for j=2 {\n      s = sum(load X {i->1, j->1}, dim=1)\n    }\n  }\n  store accum(s) {i->+, j->+} {}\n}\noutput O\n' >nested.mg
status 0 "emit of nested loops" "$m" emit nested.mg
printf 'program x\ninput X : f16[4, 8]\nO = max(max(X, dim=0), dim=1)\noutput O\n' >max_a.mg
printf 'program x\ninput X : f16[4, 8]\nO = max(max(X, dim=1), dim=0)\noutput O\n' >max_b.mg
status 0 "verify: maxima, by the solver" "$m" verify max_a.mg max_b.mg
has '^# verdict: EQUAL$' "verify: maxima, the solver says EQUAL"
status 0 "verify: maxima, without the solver" "$m" verify max_a.mg max_b.mg --no-prove --certificate max.cert
has '^# verdict: EQUAL$' "verify: a maximum that does not cancel is EQUAL by proof"
status 0 "verify: its certificate" "$m" verify max.cert

# The issue's own example; and an interrupt.
status 0 "search of RMSNorm and a linear layer at full size" "$m" search $programs/rmsnorm_linear_m16_k4096_n4096.mg
[ "$(head -n 1 out)" = "# verdict: EQUAL" ] && [ "$(grep -c '= kernel ' out)" = 1 ] && [ "$(grep -c '= accum(' out)" = 2 ] && [ "$(grep -c '^ *for ' out)" = 1 ]
ok $? "it is EQUAL, one kernel, one loop, two accumulators"
for sig in INT TERM; do
  "$m" search $programs/gqa_bs1.mg --no-prune >out 2>err & pid=$!
  sleep 1
  kill -$sig $pid 2>/dev/null
  wait $pid; rc=$?
  [ $rc -lt 128 ]; ok $? "SIG$sig ends a search in order (found $rc)"
  has 'cut short by the interrupt (--checkpoint' "SIG$sig: the best so far is kept, and it says why it is cut short"
done

"$m" search large.mg --no-measure --cache certifying >out 2>err & pid=$!
for ((k = 0; k < 600; k++)); do ls certifying/*.search >/dev/null 2>&1 && break; sleep 0.1; done # the search is done: what takes minutes is the certificate
sleep 1
kill -INT $pid 2>/dev/null
wait $pid; rc=$?
[ $rc = 0 ]; ok $? "an interrupt ends the certificate: the program itself, status 0 (found $rc)"
has '^# verdict: EQUAL$' "the program itself is the result"
grep -q 'not certified: interrupted' err; ok $? "and it says why it is not certified"
printf 'program g\ninput X : f16[2048, 4096]\ninput W : f16[4096, 4096]\ninput V : f16[4096, 4096]\nO = mul(silu(matmul(X, W)), matmul(X, V))\noutput O\n' >wide.mg
for after in 3 10 30; do # an interrupt of the search leaves the certificate its time; one more ends that (two while the search ends: at once)
  "$m" search wide.mg --no-measure --no-prune --max-loops 2 >out 2>err & pid=$!
  sleep 1
  kill -INT $pid 2>/dev/null
  sleep $after
  kill -INT $pid 2>/dev/null
  wait $pid; rc=$?
  [ $rc = 0 ] && break
done
[ $rc = 0 ]; ok $? "an interrupt of the search, then one of the certificate: the program itself (found $rc)"
has '^# verdict: EQUAL$' "and it is EQUAL"
has 'cut short by the interrupt' "and what cut the search short is told"

# What an interrupt leaves in a checkpoint is gone on from; the cache gives what was found.
sed 's/16, 256/16, 512/; s/256/512/g' p.mg >long.mg
status 0 "search, uninterrupted" "$m" search long.mg --max-loops 2 --stats whole.json
cp out whole.mg
for after in 0.05 0.2 0.6; do # one of them finds it under way, on any machine
  "$m" search long.mg --max-loops 2 --checkpoint part.ck --stats part.json >out 2>err & pid=$!
  sleep $after
  kill -INT $pid 2>/dev/null
  wait $pid; rc=$?
  [ $rc -lt 128 ]; ok $? "search --checkpoint, interrupted after $after s: ends in order (found $rc)"
done
status 0 "search --checkpoint, to the end" "$m" search long.mg --max-loops 2 --checkpoint part.ck --stats end.json
cmp -s out whole.mg; ok $? "interrupted and resumed gives what the uninterrupted search gives"
python3 -c 'import json; a, b = (json.load(open(f)) for f in ("whole.json", "end.json")); assert b["resumed"] > 0 and a["complete"] and b["complete"] and all(a[k] == b[k] for k in ("states", "pruned", "frames", "values", "structures", "candidates", "verified"))' 2>err
ok $? "and counts what it counts"
status 3 "search with the checkpoint of another search" "$m" search long.mg --checkpoint part.ck
status 3 "search with a checkpoint that is none" "$m" search long.mg --checkpoint p.mg
grep -q 'output O' p.mg; ok $? "and leaves that file alone"
status 4 "search with a checkpoint that cannot be written" "$m" search long.mg --checkpoint nowhere/part.ck
: >empty.ck && ln -s empty.ck link.ck
status 0 "search with an empty checkpoint behind a link" "$m" search p.mg --no-measure --checkpoint link.ck
[ -L link.ck ] && [ -s empty.ck ]; ok $? "it is written where it is: a link, or a device, is not replaced by a file"
status 0 "search that goes on from it" "$m" search p.mg --no-measure --checkpoint link.ck --stats link.json
grep -q '"resumed": [1-9]' link.json; ok $? "and it does"
for k in 1 2; do
  status 0 "search --cache, time $k" "$m" search long.mg --max-loops 2 --cache cache --stats cache$k.json -o cached$k
  cmp -s out whole.mg; ok $? "it gives what the search without a cache gives"
done
grep -q '"cached": false' cache1.json && grep -q '"cached": true' cache2.json; ok $? "the second took it from the cache"
diff -r cached1 cached2 >err; ok $? "with the same files and the same certificate"
status 0 "the certificate of a cached result" "$m" verify cached2/00.cert
entry=$(ls -d cache/*)
printf x | dd of="$entry" bs=1 seek=400 conv=notrunc 2>/dev/null
status 0 "search with a damaged cache" "$m" search long.mg --max-loops 2 --cache cache
[ "$(wc -l <err)" = 1 ] && grep -q 'searched anew' err && cmp -s out whole.mg; ok $? "one line, and the result"
status 4 "search with a cache that is a file" "$m" search long.mg --cache p.mg
status 4 "search with a cache that cannot be" "$m" search long.mg --cache p.mg/cache
status 3 "search with a cache without a name" "$m" search long.mg --cache
for bad in '--max-loops 0' '--max-loops 3' '--top 0' '--top 101' '--max-block-ops 0' '--max-block-ops x' '--max-kernel-ops 0' '--max-kernel-ops 65' '--threads 0' '--threads 65' \
  '--time-limit 0' '--time-limit -1' '--time-limit nan' '--time-limit soon' '--seed -1' '--seed 1.5' '--delta 1' '--delta 0' '--arch h200x' '--stats' '--checkpoint'; do
  status 3 "search $bad" "$m" search p.mg $bad
done

# Progress, on a terminal alone: never a time before there is one.
cat >terminal.py <<'E'
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) != 0)
E
timeout 120 python3 terminal.py "$m" search long.mg --max-loops 2 >terminal.txt 2>err </dev/null; ok $? "search on a terminal"
grep -q 'frame [0-9]* of [0-9]* in segment' terminal.txt; ok $? "it says how far it is"
! grep -q 'best 0\.00' terminal.txt; ok $? "and no time of nothing"
grep -q 'verified; best [0-9.]* us (model' terminal.txt && ! grep -q 'nothing yet' terminal.txt; ok $? "it has an answer at any time, and says which"
grep -q 's: certifying' terminal.txt; ok $? "and when it is the certificate's turn"
"$m" search long.mg --max-loops 2 >out 2>err; [ ! -s err ]; ok $? "not a terminal: nothing on standard error"

# The tool with an operator of one's own, as the README says.
printf '#define MG_USER_OPS(E, T) E(TWICE, "twice", 1, MG_KBT, NONE, OPAQUE, FF_ADD(a, a), MG_MIN(a + a, MG_C(9, 1)))\n' >myops.h
printf 'program t\ninput X : f16[4, 8]\nY = twice(X)\noutput Y\n' >twice.mg
"${CC:-gcc}" -std=c11 -O0 -Wall -Wextra -Werror -I../.. -include myops.h ../../examples/mirage.c -o mine -lm -lpthread -ldl 2>err; ok $? "the tool compiles with another operator"
status 0 "and reads what uses it" ./mine print twice.mg
has '= twice(X)' "and prints it"
status 3 "which the tool without it refuses" "$m" print twice.mg
status 3 "of two columns that are two functions no kernel is emitted" ./mine emit twice.mg
grep -q "the row's columns are two functions" err; ok $? "and it says why"

# A clone may lie anywhere: where its path has a space, the Makefile's commands and link 2 find the headers there.
mkdir -p 'a clone' && cp -r ../../Makefile ../../*.h ../../mirage_cuda.cuh ../../examples 'a clone'
make -s -C 'a clone' CFLAGS=-O0 build/mirage >out 2>err; ok $? "make in a path with a space"
status 0 "check in a path with a space" 'a clone/build/mirage' check best.cu

# Each value is read twice by the next, 40 times: no command goes path by path.
doubles() { local from=$1 k; for ((k = 1; k <= 40; k++)); do echo "t$k = add($from, $from)"; from=t$k; done; }
{
  printf 'program deep\ninput X : f32[16, 64]\ninput W : f32[64, 32]\nq = exp(matmul(X, W))\n'
  doubles q
  printf 'O = sqrt(div(t40, max(t40, dim=1)))\noutput O\n'
} >deep.mg
{
  printf 'program deep\ninput X : f32[16, 64]\ninput W : f32[64, 32]\nY = kernel grid=(x=1) threads=128 {\nfor i=4 {\n'
  printf 'x = load X {x->*, i->1}\nw = load W {x->1, i->0}\ne = exp(x)\n'
  doubles e
  printf 'p = matmul(t40, w)\nr = sum(sqr(t40), dim=1)\n}\n'
  printf 'o = div(accum(p) {i->+}, sqrt(accum(r) {i->+}))\nstore o {x->1}\n}\n'
  printf 'O = div(Y, max(Y, dim=1))\noutput O\n'
} >deep_kernel.mg
for f in deep.mg deep_kernel.mg; do
  for c in print dot emit explain "verify $f"; do status 0 "$c $f" timeout 20 "$m" $c $f; done
done
status 0 "search deep.mg" timeout 60 "$m" search deep.mg --no-measure --time-limit 1
status 0 "check deep_kernel.mg" timeout 60 "$m" check deep_kernel.mg
timeout 60 "$m" run deep_kernel.mg >out 2>err
[ $? = 0 ] || grep -q GPU err; ok $? "run deep_kernel.mg ends, on a GPU or without one"

# Bytes of any kind: status 0 or 3, never a signal.
python3 - <<'E'
import random
random.seed(5)
src = [open(f, "rb").read() for f in ("p.mg", "best.mg", "other.mg")]
for k in range(150):
    if k < 50:
        b = bytes(random.randrange(256) for _ in range(random.randrange(2000)))
    else:
        b = bytearray(random.choice(src))
        for _ in range(random.randrange(1, 12)):
            i = random.randrange(len(b))
            c = random.random()
            if c < .4: b[i] = random.randrange(256)
            elif c < .7: del b[i:i + random.randrange(1, 30)]
            else: b[i:i] = random.choice([b"{", b"(", b"[9999999999999999999]", b"1/0", b"\0", b"for i=2 {", b"}", b"->", b"kernel "])
    open("r%03d.mg" % k, "wb").write(bytes(b))
open("r150.mg", "w").write("program d\ninput X : f16[2]\nY = " + "exp(" * 100000 + "X" + ")" * 100000 + "\noutput Y\n")
open("r151.mg", "w").write("program d\ninput X : f16[2, 1099511627776]\nY = matmul(X, X)\noutput Y\n")
open("r152.mg", "wb").write(b"a" * 3000000)
open("r153.mg", "w").write("program d\ninput X : f16[4]\nY = kernel grid=(x=1) {" + "for i=1 {" * 5000)
E
bad=0
for f in r*.mg; do
  for c in print dot; do
    timeout 20 "$m" $c $f >out 2>err; rc=$?
    [ $rc = 0 ] || [ $rc = 3 ] || { bad=$((bad + 1)); echo "# $c $f: status $rc"; }
  done
done
[ $bad = 0 ]; ok $? "print and dot on 154 hostile files end with 0 or 3"
