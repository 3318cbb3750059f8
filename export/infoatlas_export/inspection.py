"""Check that a built engine matches the model: sizes of outputs, profiles, types of layers."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infoatlas_export import engine_layers
from infoatlas_export.engine_builder import Made
from infoatlas_rt.backends.tensorrt_checks import check_tensors
from infoatlas_rt.backends.tensorrt_libraries import Library, messages
from infoatlas_rt.errors import ModelError
from infoatlas_rt.models.engine_file import Profile, output_dimensions

log = logging.getLogger(__name__)


def inspect(
    library: Library, trt: Any, made: Made, path: Path, profiles: Sequence[Profile]
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Check an engine; return the working memory of each profile, and its tensors of each type.

    The path is for errors. If any profile has variable sizes, the first one has
    (`targets.make_profiles`). ModelError if the engine differs from the network: the size of an
    axis is fixed, or a layer has another precision.
    """
    if library.anywhere:  # no GPU is needed: use the builder's messages
        text = "\n".join(made.reports)
        memory = engine_layers.scratch(made.reports)
        ends = engine_layers.dimensions(text)
        # An engine with several profiles reports the sizes of the first one.
        changed = [
            f"{name} has dimensions {list(ends.get(name, ()))} instead of {list(expected)}"
            for name, expected in output_dimensions(profiles[:1]).items()
            if ends.get(name) != expected
        ]
    else:
        reported = messages(trt)
        engine = trt.Runtime(reported.logger).deserialize_cuda_engine(made.content)
        if engine is None:
            raise ModelError(
                f"{library.title} cannot load what it built: {reported.take()}; please report"
            )
        check_tensors(trt, engine, path, profiles)
        inspector = engine.create_engine_inspector()
        text = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
        memory = tuple(
            int(engine.get_device_memory_size_for_profile_v2(i))
            for i in range(engine.num_optimization_profiles)
        )
        changed = []
    layers = engine_layers.parse(text)
    if not layers and library.anywhere:
        changed.append("its layers are not described")
    elif not layers:
        log.warning("%s %s does not describe the layers that it built: their types are not checked",
                    library.title, trt.__version__)  # fmt: skip
    changed += engine_layers.changed_types(made.types, layers)
    tensors = engine_layers.counts(layers)
    if tensors and "fp16" not in tensors and any("fp16" in kinds for kinds in made.types.values()):
        changed.append(f"the network has FP16 tensors, and the engine has none ({tensors})")
    if len(memory) != len(profiles):
        changed.append(f"{len(memory)} profiles instead of {len(profiles)}")
    if changed:
        raise ModelError(
            f"the engine that {library.title} {trt.__version__} built is not the model: "
            f"{'; '.join(changed[:3])} ({len(changed)} faults); please report"
        )
    return memory, tensors
