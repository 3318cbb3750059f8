"""What NVIDIA's ONNX parser makes of a graph: its errors, and whether it keeps the shapes.

A build needs `parse` alone, on robots without onnx. `check` asks the parser of TensorRT-RTX, which
needs no GPU, wherever a graph is exported. The parser takes some graphs and builds others from
them. Version 1.7.1 was asked on graphs of one to three nodes, with dynamic axes; it

- drops the batch of a vector times matrices: [n] @ [S, n, F] becomes [1, F];
- takes a Transpose of three axes with two in `perm`;
- takes an empty file, as a network of no layers.

So the shape of each tensor of the network is compared with what ONNX infers.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, Library, load, messages
from infoatlas_rt.errors import ModelError, ProviderError

if TYPE_CHECKING:
    import onnx

log = logging.getLogger(__name__)

# Of the dynamic axes, in their order: sizes that no other axis of a graph has.
SIZES = 1009, 2003, 307, 4001, 5003, 6007


def parse(library: Library, trt: Any, network: Any, graph: bytes, what: str) -> Any:
    """Read a graph into an empty network.

    Parameters
    ----------
    library : Library
        TensorRT, or TensorRT-RTX.
    trt : module
        Its module.
    network : trt.INetworkDefinition
        It has to be kept for as long as the parser is used.
    graph : bytes
        The .onnx file.
    what : str
        Name of the graph, for the error.

    Returns
    -------
    parser : trt.OnnxParser

    Raises
    ------
    ModelError
        With the operators and nodes that the parser refuses.
    """
    reported = messages(trt)
    parser = trt.OnnxParser(network, reported.logger)
    if parser.parse(graph) and network.num_layers:
        return parser
    faults = [parser.get_error(i) for i in range(parser.num_errors)]
    reason = reported.take()
    shown = "; ".join(map(_described, faults[:3]))
    raise ModelError(
        f"the ONNX parser of {library.title} {trt.__version__} cannot read {what} "
        f"({shown or reason}): export the checkpoint again, and please report"
    )


def _described(fault: Any) -> str:
    """An error of the parser, which is of a node or of the file."""
    # After a line that starts with "[" come errors of CUDA, where there is none.
    text: str = fault.desc().partition("\n[")[0].replace("\n", ": ")
    return f"{fault.node_operator()} {fault.node_name()!r}: {text}" if fault.node_name() else text


def check(proto: onnx.ModelProto) -> None:
    """Ask the parser of TensorRT-RTX, and compare shapes; without it, log that it was not asked.

    Parameters
    ----------
    proto : ModelProto
        A complete model; a shape is compared if the node has a name of its own.

    Raises
    ------
    ModelError
        The parser refuses the graph, or reads it as another one.
    """
    library = LIBRARIES["tensorrt-rtx"]
    try:
        trt = load(library)
    except ProviderError as error:
        log.info("the graph is held against the table of limits alone: %s", error)
        return
    builder = trt.Builder(messages(trt).logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = parse(library, trt, network, proto.SerializeToString(), "the graph")
    found = misread(proto, parser)
    if found:
        raise ModelError(
            f"the ONNX parser of {library.title} {trt.__version__} reads another graph "
            f"({len(found)} shapes differ): {'; '.join(found[:3])}; change the model there"
        )


def misread(proto: onnx.ModelProto, parser: Any) -> list[str]:
    """Tensors that have another shape in the network than in the graph, one line for each.

    The rank differs, or a size that is a number in the network is another one in the graph, whose
    dynamic axes have the sizes of `SIZES` here. Sizes that ONNX cannot infer are not compared.

    Raises
    ------
    ModelError
        ONNX cannot infer the shapes: an operator does not fit its inputs.
    """
    shapes = inferred_shapes(proto)
    named = Counter(node.name for node in proto.graph.node)
    found = []
    for node in proto.graph.node:
        if named[node.name] > 1:  # the parser would give the first one's
            continue
        for i, name in enumerate(node.output):
            tensor = parser.get_layer_output_tensor(node.name, i)
            if tensor is None or name not in shapes:
                continue
            read, meant = tuple(tensor.shape), shapes[name]
            if len(read) != len(meant) or any(
                size >= 0 and known is not None and size != known
                for size, known in zip(read, meant, strict=True)
            ):
                shown = ["?" if known is None else known for known in meant]
                found.append(f"{node.op_type} {node.name!r} has {list(read)} instead of {shown}")
    return found


def inferred_shapes(proto: onnx.ModelProto) -> dict[str, tuple[int | None, ...]]:
    """Shape of each tensor, as ONNX infers it with numbers for the dynamic axes.

    With names for axes, ONNX gives up at the first product of two.
    """
    import onnx

    fixed = onnx.ModelProto()
    fixed.CopyFrom(proto)
    del fixed.graph.value_info[:]
    axes = [
        axis
        for value in fixed.graph.input
        for axis in value.type.tensor_type.shape.dim
        if axis.dim_param
    ]
    sizes = dict(zip(dict.fromkeys(axis.dim_param for axis in axes), SIZES, strict=False))
    for axis in axes:
        axis.dim_value = sizes[axis.dim_param]
    for value in fixed.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        graph = onnx.shape_inference.infer_shapes(
            fixed, check_type=True, strict_mode=True, data_prop=True
        ).graph
    except onnx.shape_inference.InferenceError as error:
        raise ModelError(
            f"the shapes of the graph do not fit each other ({str(error).strip()}): "
            "export the checkpoint again, and please report"
        ) from error
    return {
        value.name: tuple(
            axis.dim_value if axis.HasField("dim_value") else None
            for axis in value.type.tensor_type.shape.dim
        )
        for value in (*graph.value_info, *graph.output)
        if value.type.tensor_type.HasField("shape")
    }
