"""Parse a graph with NVIDIA's ONNX parser, and check that it keeps all shapes.

A build needs only `parse`, which works on robots without onnx. An export calls `check`, which uses
the parser of TensorRT-RTX and needs no GPU. The parser reads some graphs as other graphs. On graphs
of one to three nodes with dynamic axes, version 1.7.1

- drops the batch of a vector times matrices: [n] @ [S, n, F] becomes [1, F];
- accepts a Transpose of three axes with two in `perm`;
- accepts an empty file as a network without layers.

The shape of each tensor of the network is therefore compared with the shape that ONNX infers.
"""

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, Library, load, messages
from infoatlas_rt.errors import ModelError, ProviderError

if TYPE_CHECKING:
    import onnx

log = logging.getLogger(__name__)

# Sizes for the dynamic axes, in their order; no other axis of a graph has such a size.
SIZES = 1009, 2003, 307, 4001, 5003, 6007


def parse(library: Library, trt: Any, network: Any, graph: bytes, what: str) -> Any:
    """Read a graph, the content of an .onnx file, into an empty network; return its parser.

    The network has to exist as long as the parser is used. ModelError names `what` if the parser
    refuses the graph, and lists operators and nodes.
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
    """Text of an error of the parser, which concerns a node or the file."""
    # On a machine without CUDA, lines that start with "[" add errors of CUDA.
    text: str = fault.desc().partition("\n[")[0].replace("\n", ": ")
    return f"{fault.node_operator()} {fault.node_name()!r}: {text}" if fault.node_name() else text


def check(proto: "onnx.ModelProto") -> None:
    """Parse a complete model with TensorRT-RTX, if it is installed, and compare shapes.

    A shape is compared if the name of the node is unique. ModelError if the parser refuses the
    graph, or reads it as another one.
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


def misread(proto: "onnx.ModelProto", parser: Any) -> list[str]:
    """Tensors whose shapes differ between the network and the graph, one line for each.

    Ranks are compared, and sizes that are numbers in the network. Dynamic axes of the graph have
    the sizes of `SIZES`. Sizes that ONNX cannot infer are not compared. ModelError if it cannot
    infer the shapes, because an operator does not fit its inputs.
    """
    shapes = inferred_shapes(proto)
    named = Counter(node.name for node in proto.graph.node)
    found = []
    for node in proto.graph.node:
        if named[node.name] > 1:  # the parser would return the first of them
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


def inferred_shapes(proto: "onnx.ModelProto") -> dict[str, tuple[int | None, ...]]:
    """Shape of each tensor, inferred by ONNX with numbers for the dynamic axes.

    With names for axes, the inference ends at the first product of two axes.
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
