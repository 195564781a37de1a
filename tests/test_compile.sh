#!/usr/bin/env bash
# The headers under gcc and clang as C11, g++ and clang++ as C++17, and nvcc, without a warning; linked, and called.
# Prints `ok - ..` or `not ok - ..` a case.
set -uo pipefail
cd "$(dirname "$0")/.."
CC=${CC:-gcc} CXX=${CXX:-g++} CLANG=${CLANG:-clang}
NVCC=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)}
dir=build/compile
mkdir -p $dir
failed=0
W="-Wall -Wextra -Werror -I. -Itests -O0"

ok() { # NAME COMMAND..: the command ends with 0 and prints no warning
  local name=$1 log
  shift
  log=$(timeout 600 "$@" 2>&1)
  local rc=$?
  if [ $rc = 0 ] && ! grep -qi 'warning' <<<"$log"; then echo "ok - $name"; return 0; fi
  echo "not ok - $name (status $rc)"
  head -n 30 <<<"$log"
  failed=1
  return 1
}
refused() { # NAME TEXT COMMAND..: the command fails, and says TEXT
  local name=$1 text=$2 log
  shift 2
  if log=$(timeout 600 "$@" 2>&1); then echo "not ok - $name (accepted)"; failed=1; return 1; fi
  if grep -q "$text" <<<"$log"; then echo "ok - $name"; else echo "not ok - $name (said otherwise)"; head -n 10 <<<"$log"; failed=1; fi
}
link() { # NAME "COMPILER FLAGS" SOURCE LIBS
  local name=$1 c=$2 src=$3 libs=$4
  ok "$name: declarations, first file" $c -DPART=first -c tests/compile_part.c -o $dir/$name.first.o || return
  ok "$name: declarations, second file" $c -DPART=second -c tests/compile_part.c -o $dir/$name.second.o || return
  ok "$name: implementation" $c -c "$src" -o $dir/$name.o || return
  ok "$name: links" $c $dir/$name.o $dir/$name.first.o $dir/$name.second.o -o $dir/$name $libs || return
  ok "$name: every header called from three files" $dir/$name
}
LIBS="-lm -lpthread -ldl"

link gcc_c11 "$CC -std=c11 $W" tests/compile_c.c "$LIBS"
ok "no private function that nothing calls" $CC -std=c11 $W -DMGI_FN=static -c tests/compile_c.c -o $dir/dead.o
if command -v "$CLANG" >/dev/null; then
  link clang_c11 "$CLANG -std=c11 $W" tests/compile_c.c "$LIBS"
  ok "clang as C++17" "$CLANG" -x c++ -std=c++17 $W -fsyntax-only tests/compile_cpp.cpp
else
  echo "skipped: clang is not installed"
fi
# The C parts of the C++ build are compiled as C++.
cat >$dir/gxx <<END
#!/bin/sh
for a; do case \$a in *.c|*.cpp) exec $CXX -x c++ -std=c++17 $W "\$@";; esac; done
exec $CXX "\$@"
END
chmod +x $dir/gxx
link gxx_cpp17 "$dir/gxx" tests/compile_cpp.cpp "$LIBS"

# C and C++ objects of one program fit together.
ok "C implementation, C++ callers: links" "$CXX" $dir/gcc_c11.o $dir/gxx_cpp17.first.o $dir/gxx_cpp17.second.o -o $dir/mixed $LIBS &&
  ok "C implementation, C++ callers" $dir/mixed

# One implementation macro a file; without position independence, so that tables of pointers stand in read-only data.
parts=()
for h in CORE:mirage.h VERIFY:mirage_verify.h PLAN:mirage_plan.h SEARCH:mirage_search.h CUDA:mirage_cuda.cuh MODEL:mirage_model.h; do
  one=${h%%:*}
  printf '#define MIRAGE_%s_IMPLEMENTATION\n#include "mirage.h"\n#include "mirage_verify.h"\n#include "mirage_plan.h"\n#include "mirage_search.h"\n#include "mirage_cuda.cuh"\n#include "mirage_model.h"\n' $one >$dir/$one.c
  ok "MIRAGE_${one}_IMPLEMENTATION alone" "$CC" -std=c11 $W -fno-pic -c $dir/$one.c -o $dir/$one.o && parts+=($dir/$one.o)
done
printf 'int call_whole(void);\nint call_first(void);\nint call_second(void);\nint main(void) { return call_whole() + call_first() + call_second() != 18; }\n' >$dir/main.c
ok "six implementations in six files: links" "$CC" -std=c11 $W -no-pie -DPART=whole tests/compile_part.c $dir/main.c "${parts[@]}" $dir/gcc_c11.first.o $dir/gcc_c11.second.o -o $dir/parts $LIBS &&
  ok "six implementations in six files" $dir/parts

# Each header by itself, and the macro from the command line.
for h in mirage.h mirage_verify.h mirage_plan.h mirage_search.h mirage_cuda.cuh mirage_model.h; do
  printf '#include "%s"\nint main(void) { return mg_exit_code(MG_OK); }\n' $h >$dir/alone.c
  ok "$h alone, -DMIRAGE_IMPLEMENTATION" "$CC" -std=c11 $W -DMIRAGE_IMPLEMENTATION $dir/alone.c -o $dir/alone $LIBS && ok "$h alone runs" $dir/alone
  printf '#include "%s"\ntypedef int nothing;\n' $h >$dir/bare.c
  ok "$h, declarations alone, -Wpedantic" "$CC" -std=c11 $W -Wpedantic -Wstrict-prototypes -c $dir/bare.c -o $dir/bare.o
done
printf '#define MIRAGE_IMPLEMENTATION\n#define MIRAGE_CORE_IMPLEMENTATION\n#include "mirage.h"\n#define MIRAGE_CORE_IMPLEMENTATION\n#include "mirage.h"\nint main(void) { return 0; }\n' >$dir/twice.c
ok "the implementation macro defined twice" "$CC" -std=c11 -Wall -Wextra -I. -c $dir/twice.c -o $dir/twice.o

# A companion of another release is an #error.
mkdir -p $dir/other
sed 's/^#define MG_VERSION .*/#define MG_VERSION 99999/' mirage.h >$dir/other/mirage.h
for h in mirage_verify.h mirage_plan.h mirage_search.h mirage_cuda.cuh mirage_model.h; do
  cp mirage_verify.h mirage_plan.h mirage_search.h mirage_cuda.cuh mirage_model.h $dir/other
  printf '#include "%s"\n' $h >$dir/version.c
  refused "$h refuses a mirage.h of another version" '#error' "$CC" -std=c11 -I$dir/other -fsyntax-only $dir/version.c
done

# MIRAGE_DEVICE_ONLY leaves what a kernel needs, whatever implementation is asked for too.
printf '#define MIRAGE_DEVICE_ONLY\n#include "mirage_cuda.cuh"\nMG_KERNEL(32) void k(mg_f16 *p) { mg_stg(p, mg_narrow<mg_f16>(mg_zero())); }\n' >$dir/device.cu
printf 'extern "C" int k_launch(mg_f16 *p, cudaStream_t s) { return MG_LAUNCH(k, 1, 1, 1, 32, 0, s, p); }\n' >>$dir/device.cu
(cat $dir/device.cu; echo 'void *emitter() { return (void *)&mg_cuda_emit; }') >$dir/host.cu
(cat $dir/device.cu; echo 'void *parser() { return (void *)&mg_parse; }') >$dir/graph.cu
device() { # NAME "COMPILER FLAGS": the kernel alone compiles, and brings no function of the host
  local c="$2 -DMIRAGE_IMPLEMENTATION"
  ok "$1: a kernel with MIRAGE_DEVICE_ONLY" $c -c $dir/device.cu -o $dir/device.o || return
  if nm --defined-only $dir/device.o | grep -q ' mg_\(cuda_\|parse\|plan\)'; then echo "not ok - $1: it brings the host's functions"; failed=1; fi
  refused "$1: it has no emitter" mg_cuda_emit $c -c $dir/host.cu -o $dir/host.o
  refused "$1: and no parser" mg_parse $c -c $dir/graph.cu -o $dir/graph.o
}
for scalars in RACES FIELD WIDE VOLATILE; do device "g++, $scalars" "$CXX -x c++ -std=c++17 $W -DMG_EMULATE -DMG_EMULATE_$scalars"; done
[ -z "$NVCC" ] || device nvcc "$NVCC -std=c++17 -arch=sm_80 -Wno-deprecated-gpu-targets -I. -DMG_RUNNER"

# Nothing unprefixed, and nothing that can be written to, in the objects.
for one in CORE VERIFY PLAN SEARCH CUDA MODEL; do
  o=$dir/$one.o
  if bad=$(nm --defined-only "$o" | awk '$2 ~ /[A-Z]/ && $3 !~ /^(mg_|mgi_|call_)/ {print $3}') && [ -z "$bad" ]; then echo "ok - $(basename "$o"): names are prefixed"; else echo "not ok - $(basename "$o"): $bad"; failed=1; fi
  if bad=$(nm --defined-only "$o" | awk '$2 ~ /^[dDbBC]$/ {print $3}') && [ -z "$bad" ]; then echo "ok - $(basename "$o"): no mutable globals"; else echo "not ok - $(basename "$o"): mutable $bad"; failed=1; fi
done

# Every example, with the gcc command of its own head.
for f in examples/*.c; do
  base=$(basename "$f" .c)
  cmd=$(sed -n '1,6p' "$f" | grep -o "gcc .*$base\.c.*" | head -n 1 | sed -e 's,\*/.*,,' -e 's/  *(.*//')
  if [ -z "$cmd" ]; then
    sed -n '1,6p' "$f" | grep -q nvcc && { echo "ok - $f names its nvcc command"; continue; }
    echo "not ok - $f names no gcc or nvcc command in its first lines"; failed=1; continue
  fi
  ok "$f by its own command" sh -c "$(sed -e "s,-o build/[a-z_]*,-o $dir/example_$base," -e "s/-O2/-O0 -Wall -Wextra -Werror/" <<<"$cmd")"
done

if [ -n "$NVCC" ]; then
  NW="$NVCC -std=c++17 -arch=sm_80 -Wno-deprecated-gpu-targets -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror -I. -Itests -O0"
  ok "nvcc: declarations, first file" $NW -x cu -DPART=first -c tests/compile_part.c -o $dir/nvcc.first.o
  ok "nvcc: declarations, second file" $NW -x cu -DPART=second -c tests/compile_part.c -o $dir/nvcc.second.o
  ok "nvcc: implementation" $NW -c tests/compile_cuda.cu -o $dir/nvcc.o &&
    ok "nvcc: links" $NW $dir/nvcc.o $dir/nvcc.first.o $dir/nvcc.second.o -o $dir/nvcc -ldl &&
    ok "nvcc: every header called from three files" $dir/nvcc
  if echo '#include <cublasLt.h>' | "$NVCC" -E -x cu - >/dev/null 2>&1; then
    ok "nvcc: cublasLt.h's numbers are those of >>blas" $NW -c tests/compile_blas.cu -o $dir/nvcc.blas.o
  else
    echo "skipped: cublasLt.h is not installed"
  fi
  # What is of one architecture says so where nvcc compiles it for another.
  printf '#include "mirage_cuda.cuh"\n__global__ void k() { %s(); }\n' mg_grid_wait >$dir/wait.cu
  sed 's/mg_grid_wait/mg_group_fence/' $dir/wait.cu >$dir/fence.cu
  refused "nvcc: a kernel for sm_90 is none for sm_80" "emitted for sm_90: mirage emit --arch" $NW -c $dir/wait.cu -o $dir/wait.o
  refused "nvcc: one for sm_90a is none for sm_90" "for sm_90a: nvcc -gencode" "$NVCC" -std=c++17 -arch=sm_90 -I. -c $dir/fence.cu -o $dir/fence.o
  ok "nvcc: but for theirs" "$NVCC" -std=c++17 -gencode arch=compute_90a,code=sm_90a -I. -c $dir/fence.cu -o $dir/fence.o
else
  echo "skipped: nvcc is not installed"
fi
exit $failed
