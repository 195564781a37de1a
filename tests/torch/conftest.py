import os
import sys

import pytest
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
LIMIT = float(os.environ.get("TORCH_LIMIT", "0.5"))  # seconds for a search, and as many for its certificate


@pytest.fixture(autouse=True)
def anew():
    torch._dynamo.reset()
    torch.manual_seed(1)
    yield


@pytest.fixture
def options(tmp_path_factory):
    """Of a search in a test: short, its results in one directory."""
    cache = os.environ.get("TORCH_CACHE") or str(tmp_path_factory.getbasetemp() / "cache")
    return {"time_limit": LIMIT, "cache": cache}
