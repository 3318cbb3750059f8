"""Arrays of torch and CuPy on a GPU: their device, and copies to and from it.

Samples on a GPU remain there; only unsliced ones, which are small, are copied to the host, for
`unresolved` and `determined`. `prepare`, `bounds`, `slicing` and `canonical` use the array API and
compute on the device of the samples. Random numbers are drawn on the host and copied to the GPU, so
slices, order and shifts depend on the seed and not on the device.
"""

from typing import Any

import array_api_compat
import numpy as np
from array_api_compat import device, is_cupy_array, is_torch_array, to_device
from numpy.typing import NDArray

from ..errors import InputError, ProviderError

Array = Any  # a NumPy, torch or CuPy array
# NumPy has the complete array API from 2.1 on.
STANDARD = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)


def array_namespace(*arrays: Array) -> Any:
    """Functions of the array API for arrays of one library.

    For NumPy this is NumPy itself. The compatible namespace imports every submodule, also f2py and
    masked arrays, which needs a third of the time to a first estimate.
    """
    if STANDARD and all(isinstance(values, np.ndarray) for values in arrays):
        return np
    return array_api_compat.array_namespace(*arrays)


def gpu_of(values: Any) -> int | None:
    """Number of the CUDA GPU of an array of torch or CuPy; None for other arrays."""
    if is_torch_array(values):
        return int(values.device.index) if values.device.type == "cuda" else None
    return int(values.device.id) if is_cupy_array(values) else None


def on_gpu(x: Any, y: Any, provider: str) -> bool:
    """Whether both sides are on the GPU that evaluates the graph; False if neither is on a GPU.

    InputError if one side is on a GPU and the other one is not or is of another library, or the
    graph is evaluated elsewhere.
    """
    gpus = gpu_of(x), gpu_of(y)
    if gpus == (None, None):
        return False
    if gpus[0] != gpus[1] or is_torch_array(x) != is_torch_array(y):
        kinds = (f"{type(side).__module__.partition('.')[0]}.{type(side).__name__}"
                 for side in (x, y))  # fmt: skip
        places = ("the host" if gpu is None else f"GPU {gpu}" for gpu in gpus)
        found_x, found_y = (f"{k} on {p}" for k, p in zip(kinds, places, strict=True))
        raise InputError(
            f"x is a {found_x} and y is a {found_y}: pass arrays of one library on one device"
        )
    if provider in ("cpu", "native"):
        copy = "x.cpu()" if is_torch_array(x) else "x.get()"
        raise InputError(
            f"x and y are on GPU {gpus[0]}, and the model is evaluated on the CPU: pass "
            f"provider='cuda' or an engine to the estimator, or copies on the host ({copy})"
        )
    if gpus[0] != 0:
        raise InputError(
            f"x and y are on GPU {gpus[0]}, and the model is evaluated on GPU 0: copy them there, "
            f"or start the process with CUDA_VISIBLE_DEVICES={gpus[0]}"
        )
    return True


def to_host(values: Array) -> NDArray[Any]:
    """The same numbers as a NumPy array, after pending work on a GPU array is done."""
    return values if isinstance(values, np.ndarray) else np.asarray(to_device(values, "cpu"))


def beside(values: NDArray[Any], samples: Array) -> Array:
    """Copy a NumPy array to the library and device of samples; unchanged if they are NumPy's."""
    if isinstance(samples, np.ndarray):
        return values
    # A copy, because torch warns about arrays that cannot be written to.
    return array_namespace(samples).asarray(np.array(values), device=device(samples))


def contiguous(values: Array) -> Array:
    """The same numbers row by row in memory, as engines read them."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values)
    return values.contiguous() if is_torch_array(values) else values.copy(order="C")


def device_pointer(values: Array) -> int | None:
    """Address of the data of a GPU array (torch, CuPy), or None for a NumPy array.

    It waits for pending work on the array, because engines compute on a stream of their own.
    ProviderError if the array is not contiguous.
    """
    if isinstance(values, np.ndarray):
        return None
    interface = values.__cuda_array_interface__
    if interface.get("strides") is not None:
        raise ProviderError("an array on the GPU has to be contiguous: pass a contiguous copy")
    if is_torch_array(values):
        import torch

        torch.cuda.current_stream(values.device).synchronize()
    elif is_cupy_array(values):
        import cupy

        cupy.cuda.get_current_stream().synchronize()
    return int(interface["data"][0])
