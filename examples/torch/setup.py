"""Builds libmirage.so of the headers two directories up, by $CC or gcc: no GPU, no nvcc.
MIRAGE_OPS=FILE.h adds the rows of a file, by its whole path, to the operator table, as -include does for the tool."""
import os
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
HEADERS = ("mirage.h", "mirage_verify.h", "mirage_plan.h", "mirage_search.h", "mirage_cuda.cuh", "mirage_model.h")


class Build(build_py):
    def run(self):
        super().run()
        to = os.path.join(self.build_lib, "mirage_torch")
        include = os.path.join(to, "include")
        os.makedirs(include, exist_ok=True)
        for name in HEADERS:  # what compiling an emitted kernel needs
            shutil.copy(os.path.join(TOP, name), include)
        extra = []
        if os.environ.get("MIRAGE_OPS"):
            rows = os.environ["MIRAGE_OPS"]
            if not os.path.isabs(rows) or not os.path.isfile(rows):
                raise SystemExit(f"MIRAGE_OPS={rows}: expected a file's whole path: pip builds elsewhere")
            shutil.copy(rows, os.path.join(include, "mirage_ops.h"))
            extra = ["-include", rows]
        command = [os.environ.get("CC") or "gcc", "-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden",
                   "-I" + TOP, *extra, os.path.join(HERE, "mirage_torch.c"),
                   "-o", os.path.join(to, "libmirage.so"), "-lm", "-lpthread", "-ldl"]
        subprocess.run(command, check=True)


def wheel():
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:
        from wheel.bdist_wheel import bdist_wheel

    class Own(bdist_wheel):
        def finalize_options(self):
            super().finalize_options()
            self.root_is_pure = False

        def get_tag(self):
            return "py3", "none", super().get_tag()[2]

    return Own


KEEP = os.path.join(TOP, "build", "pip")  # what setuptools leaves behind
os.makedirs(KEEP, exist_ok=True)
setup(options={"build": {"build_base": KEEP}, "egg_info": {"egg_base": KEEP}},
      cmdclass={"build_py": Build, "bdist_wheel": wheel()})
