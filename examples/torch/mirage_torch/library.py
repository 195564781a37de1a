"""libmirage.so by ctypes: programs, their search, their evaluation, their kernels. mirage_torch.c is the other side."""
import ctypes
import functools
import hashlib
import json
import os
import struct
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = ("f16", "bf16", "f32", "i32")
MAX_INPUTS, MAX_OUTPUTS, MAX_RANK, MAX_SYMBOLS = 64, 8, 5, 8
ROOM = 600  # for an error's text, and for a path
PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class MirageError(Exception):
    """What the library says; `status` is its exit status: 1 not found, 2 unsupported, 3 bad input, 4 the machine's."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class _Options(ctypes.Structure):
    _fields_ = [("machine", ctypes.c_char_p), ("cache", ctypes.c_char_p), ("time_limit", ctypes.c_double),
                ("threads", ctypes.c_int), ("seed", ctypes.c_uint64), ("stop", ctypes.POINTER(ctypes.c_int)),
                ("settle", ctypes.c_int), ("progress", PROGRESS), ("user", ctypes.c_void_p)]


_POINTER, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_ERR = [_TEXT, ctypes.c_size_t]
_SIZES, _OUT = ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(_POINTER)
_CALLS = {  # name: result, arguments
    "mt_version": (_INT, []),
    "mt_tool": (_INT, [_INT, ctypes.POINTER(_TEXT)]),
    "mt_string_free": (None, [_POINTER]),
    "mt_exit_code": (_INT, [_INT]),
    "mt_has_machine": (_INT, [_TEXT]),
    "mt_has_operator": (_INT, [_TEXT]),
    "mt_free": (None, [_POINTER]),
    "mt_parse": (_INT, [_TEXT, _OUT] + _ERR),
    "mt_search": (_INT, [_POINTER, ctypes.POINTER(_Options)] + _ERR),
    "mt_take_found": (_INT, [_POINTER, ctypes.POINTER(_TEXT), _INT, _INT, _TEXT] + _ERR),
    "mt_ranges": (_INT, [_POINTER]),
    "mt_verdict": (_TEXT, [_POINTER, _INT]),
    "mt_log2_delta": (ctypes.c_double, [_POINTER, _INT]),
    "mt_reason": (_TEXT, [_POINTER, _INT]),
    "mt_safety": (_TEXT, [_POINTER, _INT]),
    "mt_unsafe": (_INT, [_POINTER, _INT]),
    "mt_predicted_us": (ctypes.c_double, [_POINTER, _INT]),
    "mt_written_us": (ctypes.c_double, [_POINTER]),
    "mt_seconds": (ctypes.c_double, [_POINTER]),
    "mt_complete": (_INT, [_POINTER]),
    "mt_cached": (_INT, [_POINTER]),
    "mt_kernels": (_INT, [_POINTER, _INT]),
    "mt_inputs": (_INT, [_POINTER]),
    "mt_outputs": (_INT, [_POINTER]),
    "mt_filled": (_INT, [_POINTER, _INT]),
    "mt_input_type": (_TEXT, [_POINTER, _INT]),
    "mt_output_type": (_TEXT, [_POINTER, _INT]),
    "mt_input_name": (_TEXT, [_POINTER, _INT]),
    "mt_symbols": (_INT, [_POINTER]),
    "mt_bounds": (None, [_POINTER, _SIZES]),
    "mt_symbol_name": (_TEXT, [_POINTER, _INT]),
    "mt_certified_at": (_TEXT, [_POINTER, _SIZES]),
    "mt_input_symbol": (_INT, [_POINTER, _INT, _INT]),
    "mt_input_order": (_INT, [_POINTER, _INT, ctypes.POINTER(ctypes.c_int32)]),
    "mt_input_shape": (_INT, [_POINTER, _SIZES, _INT, _SIZES, ctypes.POINTER(_INT)] + _ERR),
    "mt_output_shape": (_INT, [_POINTER, _SIZES, _INT, _SIZES, ctypes.POINTER(_INT)] + _ERR),
    "mt_text": (_INT, [_POINTER, _INT, _OUT] + _ERR),
    "mt_certificate": (_INT, [_POINTER, _INT, _OUT] + _ERR),
    "mt_recheck": (_INT, [_TEXT, _TEXT, ctypes.c_size_t] + _ERR),
    "mt_eval": (_INT, [_POINTER, _SIZES, _OUT, _OUT] + _ERR),
    "mt_emulate": (_INT, [_POINTER, _TEXT, _TEXT, _OUT] + _ERR),
    "mt_emulated_free": (None, [_POINTER]),
    "mt_emulated_run": (_INT, [_POINTER, _POINTER, _SIZES, _OUT, _OUT] + _ERR),
    "mt_emit": (_INT, [_POINTER, _TEXT, _OUT] + _ERR),
    "mt_check": (_INT, [_POINTER, _TEXT, _TEXT, _TEXT, ctypes.c_size_t] + _ERR),
    "mt_compile": (_INT, [_TEXT, _TEXT, _TEXT, _TEXT] + _ERR),
    "mt_load": (_INT, [_POINTER, _TEXT, _OUT, ctypes.POINTER(ctypes.c_size_t)] + _ERR),
    "mt_kernel_free": (None, [_POINTER]),
    "mt_launch": (_INT, [_POINTER, _TEXT]),
    "mt_launch_error": (_INT, [_POINTER, _INT] + _ERR),
}


def _open():
    path = os.environ.get("MIRAGE_LIBRARY") or os.path.join(HERE, "libmirage.so")
    if not os.path.exists(path):
        raise ImportError(f"{path} is not there: pip install ./examples/torch builds it, or MIRAGE_LIBRARY names one")
    lib = ctypes.CDLL(path)
    for name, (result, arguments) in _CALLS.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


LIB = _open()


def _call(name, *arguments):
    """Calls one that answers a status, and raises what it says."""
    err = ctypes.create_string_buffer(ROOM)
    status = getattr(LIB, name)(*arguments, err, ROOM)
    if status:
        raise MirageError(err.value.decode(errors="replace"), LIB.mt_exit_code(status))


def _taken(pointer):
    text = ctypes.string_at(pointer.value).decode()
    LIB.mt_string_free(pointer)
    return text


def _sizes(values):
    return (ctypes.c_int64 * MAX_SYMBOLS)(*values)


def _pointers(addresses, room):
    return (_POINTER * room)(*addresses)


@functools.cache
def build():
    """What tells this library from any other: results of one are not another's."""
    with open(LIB._name, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def has_operator(name):
    return bool(LIB.mt_has_operator(name.encode()))


def machine_named(words):
    """The first of these names that the table of machines has; None: it has none."""
    return next((w for w in words if LIB.mt_has_machine(w.encode())), None)


def recheck(certificate):
    """The verdict of a certificate, from its text alone."""
    verdict = ctypes.create_string_buffer(40)
    _call("mt_recheck", certificate.encode(), verdict, 40)
    return verdict.value.decode()


def tool(arguments):
    """The command line tool, within this process."""
    words = [b"mirage"] + [a.encode() for a in arguments]
    return LIB.mt_tool(len(words), (_TEXT * (len(words) + 1))(*words, None))


def main():
    """The command line tool, of this library's operator table."""
    sys.exit(tool(sys.argv[1:]))


class Program:
    """A parsed program; search() puts what it finds in its place. Its text does not change."""

    def __init__(self, text):
        handle = _POINTER()
        _call("mt_parse", text.encode(), ctypes.byref(handle))
        self.text, self._handle = text, handle
        self.n_in, self.n_out = LIB.mt_inputs(handle), LIB.mt_outputs(handle)
        self.filled = [bool(LIB.mt_filled(handle, k)) for k in range(self.n_in)]
        self.input_types = [LIB.mt_input_type(handle, k).decode() for k in range(self.n_in)]
        self.input_names = [LIB.mt_input_name(handle, k).decode() for k in range(self.n_in)]
        self.output_types = [LIB.mt_output_type(handle, k).decode() for k in range(self.n_out)]
        bounds = (ctypes.c_int64 * (2 * MAX_SYMBOLS))()
        LIB.mt_bounds(handle, bounds)
        self.bounds = [(bounds[2 * k], bounds[2 * k + 1]) for k in range(LIB.mt_symbols(handle))]
        self.symbol_names = [LIB.mt_symbol_name(handle, k).decode() for k in range(len(self.bounds))]
        self.symbol_of = [[LIB.mt_input_symbol(handle, k, d) for d in range(MAX_RANK)] for k in range(self.n_in)]
        self.orders = [self._order(k) for k in range(self.n_in)]
        self._kernel, self._emulated, self.workspace, self._one = None, None, 0, threading.Lock()
        self._shapes, self._untested = {}, {}
        self._pack = struct.Struct(f"{2 + self.n_in + self.n_out}P{len(self.bounds)}q").pack

    def _order(self, k):
        order = (ctypes.c_int32 * MAX_RANK)()
        return None if LIB.mt_input_order(self._handle, k, order) else list(order)

    def __del__(self):
        if getattr(self, "_emulated", None):
            LIB.mt_emulated_free(self._emulated)
        if getattr(self, "_kernel", None):
            LIB.mt_kernel_free(self._kernel)
        if getattr(self, "_handle", None):
            LIB.mt_free(self._handle)

    def search(self, time_limit=60.0, cache=None, machine=None, threads=2, seed=0, stop=None, progress=None,
               settle=False):
        """stop: a ctypes.c_int that ends it when it is set. progress: called with a line now and then. settle: what bounds
        leave open of numerics is settled by runs of the emitted kernels, compiled by g++."""
        o = _Options()
        o.machine, o.cache = machine and machine.encode(), cache and os.fsencode(cache)
        o.time_limit, o.threads, o.seed, o.settle = time_limit, threads, seed, settle
        if stop is not None:
            o.stop = ctypes.pointer(stop)
        if progress is not None:
            o.progress = PROGRESS(lambda user, line: progress(line.decode(errors="replace")))
        _call("mt_search", self._handle, ctypes.byref(o))
        self._untested = {}

    def keep(self, path):
        """Its certificates, in a file that take() reads; nothing where there is none of a range."""
        ranges = range(LIB.mt_ranges(self._handle))
        if not all(LIB.mt_verdict(self._handle, k) == b"EQUAL" for k in ranges):
            return
        kept = {"complete": self.complete, "certificates": [self.certificate(k) for k in ranges]}
        own = f"{path}.{os.getpid()}.{threading.get_ident()}"
        with open(own, "w", encoding="utf-8") as f:
            json.dump(kept, f)
        os.replace(own, path)

    def take(self, path, machine=None):
        """What keep() has kept, checked again, in the program's place; False if there is nothing that holds."""
        try:
            with open(path, encoding="utf-8") as f:
                kept = json.load(f)
            texts = [c.encode() for c in kept["certificates"]]
            _call("mt_take_found", self._handle, (_TEXT * len(texts))(*texts), len(texts), bool(kept["complete"]),
                  machine and machine.encode())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, MirageError):
            return False
        self._untested = {}
        return True

    def facts(self):
        """A list of what is known of each range."""
        h = self._handle
        return [{"verdict": LIB.mt_verdict(h, k).decode(), "log2_delta": LIB.mt_log2_delta(h, k),
                 "reason": LIB.mt_reason(h, k).decode(), "safety": LIB.mt_safety(h, k).decode(),
                 "predicted_us": LIB.mt_predicted_us(h, k), "kernels": LIB.mt_kernels(h, k)}
                for k in range(LIB.mt_ranges(h))]

    written_us = property(lambda self: LIB.mt_written_us(self._handle))
    seconds = property(lambda self: LIB.mt_seconds(self._handle))
    complete = property(lambda self: bool(LIB.mt_complete(self._handle)))
    cached = property(lambda self: bool(LIB.mt_cached(self._handle)))

    def found(self, k=0):
        """The text of range k, its verdict's lines before it."""
        out = _POINTER()
        _call("mt_text", self._handle, k, ctypes.byref(out))
        return _taken(out)

    def certificate(self, k=0):
        out = _POINTER()
        _call("mt_certificate", self._handle, k, ctypes.byref(out))
        return _taken(out)

    def input_shape(self, k, sizes=()):
        return self._shape("mt_input_shape", k, sizes)

    def output_shape(self, k, sizes=()):
        return self._shape("mt_output_shape", k, sizes)

    def _shape(self, name, k, sizes):
        key = (name, k, *sizes)
        if key not in self._shapes:
            dims, rank = (ctypes.c_int64 * MAX_RANK)(), _INT()
            _call(name, self._handle, _sizes(sizes), k, dims, ctypes.byref(rank))
            self._shapes[key] = list(dims[:rank.value])
        return self._shapes[key]

    def untested(self, sizes):
        """The values that alone the certificate is about, "p = 1, 63", where sizes are of none; None: it holds."""
        key = tuple(sizes)
        if key not in self._untested:
            self._untested[key] = self._beyond(sizes)
        return self._untested[key]

    def _beyond(self, sizes):
        at = LIB.mt_certified_at(self._handle, _sizes(sizes)).decode()
        if not at:
            return None
        if at.count(" = ") == 1:
            name, values = at.split(" = ")
            tested = [{f"{name} = {v}"} for v in values.split(", ")]
        else:
            tested = [set(values.split(", ")) for values in at.split("; ")]
        here = {f"{name[:20]} = {v}" for name, v in zip(self.symbol_names, sizes)}
        return None if any(values <= here for values in tested) else at

    def evaluate(self, inputs, outputs, sizes=()):
        """Addresses of dense row-major arrays: double, or int32 where the type is i32; 0 for a filled input."""
        given = _sizes(sizes), _pointers(inputs, MAX_INPUTS), _pointers(outputs, MAX_OUTPUTS)
        if self._emulated is None:
            _call("mt_eval", self._handle, *given)
        else:
            with self._one:  # its launches share memory
                _call("mt_emulated_run", self._emulated, self._handle, *given)

    def emulate(self, include=None):
        """Compiles the emitted kernels for the CPU, by $CXX or g++: evaluate() runs them from then on."""
        emulated = _POINTER()
        _call("mt_emulate", self._handle, self.emit().encode(), include and os.fsencode(include), ctypes.byref(emulated))
        self._emulated = emulated

    def emit(self, arch=None):
        out = _POINTER()
        _call("mt_emit", self._handle, arch and arch.encode(), ctypes.byref(out))
        return _taken(out)

    def unsafe(self):
        """Why a range is not as safe as the program is written; None: none is known to be."""
        h = self._handle
        return next((LIB.mt_safety(h, k).decode() for k in range(LIB.mt_ranges(h)) if LIB.mt_unsafe(h, k)), None)

    def check(self, text, include=None):
        """Link 2 of what emit() gave: compiled by $CXX or g++, run thread by thread. What it says, or MirageError."""
        said = ctypes.create_string_buffer(ROOM)
        _call("mt_check", self._handle, text.encode(), include and os.fsencode(include), said, ROOM)
        return said.value.decode()

    def compile(self, arch=None, include=None):
        """Emits, compiles by nvcc and loads; what a launch needs of workspace is in `workspace`, bytes."""
        path, kernel, bytes_ = ctypes.create_string_buffer(ROOM), _POINTER(), ctypes.c_size_t()
        _call("mt_compile", self.emit(arch).encode(), arch and arch.encode(), include and os.fsencode(include), path)
        _call("mt_load", self._handle, path.value, ctypes.byref(kernel), ctypes.byref(bytes_))
        self.workspace, self._kernel = bytes_.value, kernel  # in this order: a kernel is seen with its workspace

    compiled = property(lambda self: self._kernel is not None)

    def launch(self, inputs, outputs, workspace, stream, sizes=()):
        given = self._pack(workspace or 0, stream or 0, *inputs, *outputs, *sizes)
        code = LIB.mt_launch(self._kernel, given)
        if code:
            _call("mt_launch_error", self._kernel, code)
