# make            build/mirage and the examples             make test       everything that can be tested here
# make demo       search, verify, emit, compile, emulate    make gpu-test   link 3 on a GPU
# make bench      times next to the peers' on a GPU         make fuzz       the fuzzers, for FUZZ_S seconds each
# make deps       installs what is missing, if it may       make soak       random tests for SOAK_S seconds
# make calibrate  measures the GPU three times, to DIR      make install    headers, tool and mirage.pc to PREFIX
# make torch-test the PyTorch backend's tests (CPU)         make torch-soak the same, longer
# make torch-gpu-test the same on a GPU; TORCH_GPU='--time --only REGEX --modes eager,compile,overhead,autotune,mirage'
# Options: make bench BENCH='--programs REGEX --modes eager,compile --top K --runs N --budget S --out DIR'
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
CXX := $(if $(filter default,$(origin CXX)),g++,$(CXX))
CLANG ?= clang
NVCC ?= $(shell command -v nvcc 2>/dev/null || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
export CC CXX CLANG NVCC

WARN := -Wall -Wextra
CFLAGS ?= -O2
STD := -std=c11 $(WARN) -I'$(CURDIR)'
LIBS := -lm -lpthread -ldl
CJSON := $(shell $(CC) -E -include cjson/cJSON.h -x c /dev/null >/dev/null 2>&1 && echo -DMIRAGE_CJSON -lcjson)
# gcc leaves out what a program does not call: a third of the time that its compilation takes.
WHOLE := $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror -fwhole-program -x c - -o /dev/null 2>/dev/null && echo -fwhole-program)
SAN := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HEADERS := mirage.h mirage_verify.h mirage_plan.h mirage_search.h mirage_cuda.cuh mirage_model.h
TESTS := $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
FUZZERS := $(patsubst tests/%.c,%,$(wildcard tests/fuzz_*.c))
# With the sanitizers alone: what takes no longer there than its compilation, or waits for compilers, which no sanitizer sees.
ONCE := $(addprefix test_,check classes columns core device domains maxima pairs run sizes weights)
# Without them, but in test-sanitize and soak: what searches for long, or leaves much out under them.
LATER := $(addprefix test_,compose cuts edges emit host long model_search numerics operators pieces plant plant_device programs rare \
  reach resume safety search symbols)
THREADED := build/tsan/test_resume build/tsan/test_search
FUZZ_S ?= 60
FUZZ_N ?= 20000
SOAK_S ?= 3600
SEED ?= 1
PREFIX ?= /usr/local

all: build/mirage build/rmsnorm build/user_op build/model

build build/san build/log:
	@mkdir -p $@

# What reads JSON: the import of µGraphs.
IMPORTS := $(addprefix build/,mirage san/mirage test_import san/test_import san/fuzz_import fuzz/fuzz_import)
$(IMPORTS): LIBS += $(CJSON)
$(IMPORTS): examples/import.c
build/test_plant_device build/san/test_plant_device: tests/test_plant.c

build/candidates build/price: build/%: tests/bench/%.c $(HEADERS) | build
	$(CC) $(STD) $(CFLAGS) $< -o $@ $(LIBS)

build/rmsnorm build/user_op build/model: build/%: examples/%.c $(HEADERS) | build
	$(CC) $(STD) $(CFLAGS) $(WHOLE) $< -o $@ $(LIBS)
build/%: examples/%.c $(HEADERS) | build
	$(CC) $(STD) $(CFLAGS) $< -o $@ $(LIBS)

# Tests that have operators, machines or an allocator of their own are compiled with the headers' implementation in them.
OWN := $(addprefix test_,adversary check classes columns core domains emit maxima memory plan run search solver user_ops verify)
# Those that call the headers' public functions alone see them as another file's, as a program of several files does.
LINKED := $(addprefix test_,computed cuts host long norms numerics operators picks programs rare reach safety symbols tiling use)
# All others call private functions too, and see their text, but link what all share, compiled once: there no private function is static.
# They spend their time in what they link: they are not optimised themselves.
SHARED := $(filter-out $(OWN) $(LINKED),$(TESTS)) $(FUZZERS)
SEEN := -isystem '$(CURDIR)' -O0 -Wl,-z,muldefs '-DMGI_FN=extern __inline__ __attribute__((gnu_inline))'
IMPLEMENTATION = printf '\#define MIRAGE_IMPLEMENTATION\n\#include "mirage_search.h"\n\#include "mirage_cuda.cuh"\n\#include "mirage_model.h"\n' | \
  $(CC) $(STD) -DMGI_FN= $(1) -x c -c - -o $@

build/implementation.o: $(HEADERS) | build
	$(call IMPLEMENTATION,$(CFLAGS))
# Most sanitized tests spend their time in what is compiled here: it pays to optimise it.
build/san/implementation.o: $(HEADERS) | build/san
	$(call IMPLEMENTATION,$(SAN) -O2)

$(OWN:%=build/%): build/%: tests/%.c $(wildcard tests/*.h) $(HEADERS) | build
	$(CC) $(STD) $(CFLAGS) $(WHOLE) $< -o $@ -lcmocka $(LIBS)
$(OWN:%=build/san/%): build/san/%: tests/%.c $(wildcard tests/*.h) $(HEADERS) | build/san
	$(CC) $(STD) $(SAN) $(WHOLE) $< -o $@ -lcmocka $(LIBS)

$(LINKED:%=build/%): build/%: tests/%.c build/implementation.o $(wildcard tests/*.h) | build
	$(CC) $(STD) $(CFLAGS) -DMGT_LINKED $< build/implementation.o -o $@ -lcmocka $(LIBS)
$(LINKED:%=build/san/%): build/san/%: tests/%.c build/san/implementation.o $(wildcard tests/*.h) | build/san
	$(CC) $(STD) $(SAN) -DMGT_LINKED $< build/san/implementation.o -o $@ -lcmocka $(LIBS)

$(SHARED:%=build/%): build/%: tests/%.c build/implementation.o $(wildcard tests/*.h) | build
	$(CC) $(STD) $(SEEN) build/implementation.o $< -o $@ -lcmocka $(LIBS)
$(SHARED:%=build/san/%): build/san/%: tests/%.c build/san/implementation.o $(wildcard tests/*.h) | build/san
	$(CC) $(STD) $(SAN) $(SEEN) build/san/implementation.o $< -o $@ -lcmocka $(LIBS)

build/san/mirage: examples/mirage.c $(HEADERS) | build/san
	$(CC) $(STD) $(SAN) $< -o $@ $(LIBS)

build/fuzz/fuzz_%: tests/fuzz_%.c $(wildcard tests/*.h) $(HEADERS)
	@mkdir -p build/fuzz
	$(CLANG) $(STD) -DMG_LIBFUZZER -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $< -o $@ $(LIBS)

deps:
	@tests/deps.sh

demo:
	@tests/deps.sh demo
	@$(MAKE) --no-print-directory build/mirage
	@tests/demo.sh

# Builds first, with what -j gives; then every test (tests/run.sh); the last line is the sum.
test:
	@tests/deps.sh
	@$(MAKE) --no-print-directory test-build
	@tests/run.sh $(PLAIN) tests/test_docs.sh tests/test_peers.sh tests/test_compile.sh tests/test_tool.sh tests/test_examples.sh $(THREADED) $(GUARDED)

PLAIN := $(patsubst %,build/%,$(filter-out $(ONCE),$(TESTS)))
GUARDED := $(patsubst %,build/san/%,$(filter-out $(LATER),$(TESTS)) $(FUZZERS))
test-build: $(THREADED) build/mirage build/san/mirage build/rmsnorm build/user_op build/model $(PLAIN) $(GUARDED)

# The tests and the fuzzers' corpora under the address and undefined-behaviour sanitizers.
test-sanitize: $(TESTS:%=build/san/%) $(FUZZERS:%=build/san/%)
	@tests/run.sh $(TESTS:%=build/san/%) $(FUZZERS:%=build/san/%)

# The threads of a search under the thread sanitizer: a selection, as it is slow there.
build/tsan/test_%: tests/test_%.c $(wildcard tests/*.h) $(HEADERS)
	@mkdir -p build/tsan
	$(CC) $(STD) -O1 -g1 -fsanitize=thread $(WHOLE) $< -o $@ -lcmocka $(LIBS)

test-tsan: $(THREADED)
	@tests/run.sh $^

gpu-test: build/mirage
	@tests/gpu.sh

# Needs a GPU, nvcc and PyTorch.
bench: build/mirage
	python3 tests/bench/bench.py $(BENCH)

# The same against the strongest peers, ours as stored and first found: BENCH='--only REGEX --tune --runs N --out STEM'.
bench-best: build/mirage
	python3 tests/bench/objects.py examples/programs/[!m]*.mg tests/bench/programs/*.mg --out build/ours
	python3 tests/bench/best.py --ours build/ours --jobs $$(nproc) $(BENCH)

# Needs a GPU, and nvcc or NVRTC: three files of a machine in DIR (build/calibrate), side by side.
calibrate: build/mirage
	@tests/bench/calibrate.sh $(DIR)

# Search times and memory, on this machine alone: BENCH='--only REGEX --limit S --out DIR'.
bench-search: build/mirage
	python3 tests/bench/search.py $(BENCH)

# With clang: libFuzzer.  Without: the deterministic mutation loop.
fuzz:
	@if command -v $(CLANG) >/dev/null 2>&1; then \
	  $(MAKE) --no-print-directory $(FUZZERS:%=build/fuzz/%) && \
	  for f in $(FUZZERS); do mkdir -p build/fuzz/corpus/$$f && build/fuzz/$$f -max_total_time=$(FUZZ_S) -max_len=65536 -timeout=20 -rss_limit_mb=2048 -artifact_prefix=build/fuzz/ build/fuzz/corpus/$$f tests/corpus/$${f#fuzz_} || exit 1; done; \
	else \
	  $(MAKE) --no-print-directory $(FUZZERS:%=build/san/%) && \
	  for f in $(FUZZERS); do build/san/$$f $(FUZZ_N) $(SEED) || exit 1; done; \
	fi

soak: build/mirage $(TESTS:%=build/%) $(FUZZERS:%=build/san/%) $(LATER:%=build/san/%)
	@[ -z "$(SOAK_LINK2)" ] || tests/link2.sh
	@SOAK_S=$(SOAK_S) tests/soak.sh $(TESTS:%=build/%) tests/test_examples.sh $(FUZZERS:%=build/san/%) $(LATER:%=build/san/%)

install: build/mirage
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/include/mirage' '$(DESTDIR)$(PREFIX)/lib/pkgconfig'
	install build/mirage '$(DESTDIR)$(PREFIX)/bin'
	install -m 644 $(HEADERS) '$(DESTDIR)$(PREFIX)/include/mirage'
	printf 'prefix=%s\n\nName: mirage\nDescription: superoptimizer for tensor programs, in headers\nVersion: %s\nCflags: -I$${prefix}/include/mirage\nLibs: -lm -lpthread -ldl\n' \
	  '$(PREFIX)' "$$(build/mirage --version | cut -d' ' -f2)" >'$(DESTDIR)$(PREFIX)/lib/pkgconfig/mirage.pc'

# The PyTorch backend of examples/torch, on the CPU: needs python3 and, once, a package index.
torch-test:
	@tests/torch.sh
# The same on a GPU, and times (TORCH_GPU='--time'): with PyTorch and nvcc there, the package in build/torch-package.
torch-gpu-test:
	python3 -m pip install --no-deps --no-build-isolation --quiet --upgrade --target build/torch-package ./examples/torch
	@PYTHONPATH=build/torch-package python3 tests/torch/gpu.py $(TORCH_GPU)
torch-soak:
	@TORCH_LIMIT=5 TORCH_SAMPLES=1000 TORCH_SOAK=1 tests/torch.sh

clean:
	rm -rf build

.PHONY: all deps demo test test-build test-sanitize test-tsan gpu-test bench bench-best bench-search calibrate fuzz soak install torch-test torch-gpu-test torch-soak clean
