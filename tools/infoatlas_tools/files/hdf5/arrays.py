"""Finds arrays below a group of an HDF5 file by name, and checks links to them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError

from ...trajectories import Stated
from .opening import shown_name

DEEPEST_GROUP = 32  # levels of groups
TASK = ("language_instruction", "task", "task_name", "instruction", "language_raw")
SUCCESS = ("success", "infos/success")
LONGEST_TASK = 200  # characters


class Source(NamedTuple):
    """An array of a demonstration: h5py's data set, and its path within the demonstration."""

    node: Any
    path: str

    @property
    def text(self) -> str:
        """Shape and dtype."""
        return f"{self.node.shape} {self.node.dtype}"


def find_arrays(path: Path, group: Any, root: str, skip: tuple[str, ...] = ()) -> dict[str, Source]:
    """Arrays below a group of an HDF5 file, by name; the path of the file is for errors.

    `root` is the name of a group or an array in it. Names of arrays below it do not contain it:
    "obs/policy/x" is "policy.x" for the root "obs". Names of others are paths, as "infos.qpos". If
    both exist, "obs/x" and "/x" distinguish them. Names in `skip` are left out.
    """
    found, others = dict[str, Source](), dict[str, Source]()
    for inside, node in _walk(path, group, "", (), skip):
        name = inside.removeprefix(f"{root}/").replace("/", ".")
        own = inside == root or inside.startswith(f"{root}/")
        target = found if own else others
        if name in target:
            raise InputError(
                f"{path}: {group.name} has two arrays that are called {name}: rename one of them"
            )
        target[name] = Source(node, inside)
    for name in list(others):
        if name in found:  # Isaac Lab has obs/actions and actions
            found[f"{root}/{name}"], found[f"/{name}"] = found[name], others.pop(name)
    return {**found, **others}


def find_stated(group: Any) -> Stated:
    """What the attributes or arrays of a demonstration say of it; a flag [T] by its last value."""
    tasks = (_value(group, name) for name in TASK)
    found = next((own for own in tasks if isinstance(own, str | bytes) and own), b"")
    text = found.decode("utf-8", "replace") if isinstance(found, bytes) else found
    flags = (_value(group, name) for name in SUCCESS)
    flag = next((own for own in flags if isinstance(own, bool | int | float)), None)
    return Stated(text[:LONGEST_TASK], bool(flag) if flag in (0, 1) else None)


def _value(group: Any, name: str) -> Any:
    """The last value of an attribute or an array [T] of a group; None if it has none."""
    import h5py

    try:
        if name in group.attrs:
            return np.asarray(group.attrs[name]).reshape(-1)[-1:].tolist()[0]
        node = group.get(name)
        if not isinstance(node, h5py.Dataset) or node.ndim > 1:
            return None
        return np.asarray(node[-1] if node.ndim else node[()]).tolist()
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, IndexError):
        return None


def names_under(arrays: dict[str, Source], root: str) -> list[str]:
    """Names of the arrays below the group `root`, or of the array of this name."""
    return [
        name
        for name, source in arrays.items()
        if source.path.split("/")[0] == root and "/" not in name
    ]


def _walk(
    path: Path, group: Any, prefix: str, above: tuple[Any, ...], skip: tuple[str, ...] = ()
) -> Iterator[tuple[str, Any]]:
    import h5py

    info = h5py.h5o.get_info(group.id)
    if (info.fileno, info.addr) in above or len(above) > DEEPEST_GROUP:
        raise InputError(f"{path}: {group.name} links to a group around it: remove the link")
    for key in group:
        if key in skip:
            continue
        inside = f"{prefix}{shown_name(key)}"
        node = open_node(path, group, key)
        if isinstance(node, h5py.Group):
            yield from _walk(path, node, f"{inside}/", (*above, (info.fileno, info.addr)))
        elif isinstance(node, h5py.Dataset):
            yield inside, node


def open_node(path: Path, group: Any, key: str) -> Any:
    """The entry of a group with this name."""
    import h5py

    try:
        return group[key]
    except (KeyError, OSError, RuntimeError, ValueError, TypeError) as error:
        link = group.get(key, getlink=True)
        where = f"{group.name.rstrip('/')}/{shown_name(key)}"
        if isinstance(link, h5py.ExternalLink):
            what = f"is a link to {link.path} in {link.filename}, which is missing"
        elif isinstance(link, h5py.SoftLink):
            what = f"is a link to {link.path}, which is missing"
        else:
            what = f"cannot be read ({(str(error).splitlines() or [type(error).__name__])[0]})"
        raise InputError(f"{path}: {where} {what}: restore it, or remove it") from error


def explain_unstored(node: Any) -> str | None:
    """Reason why HDF5 would return fill values in place of an array, or None."""
    if node.is_virtual:
        for source in node.virtual_sources():
            own = source.file_name == "."
            file = Path(node.file.filename).parent / source.file_name
            if not (source.dset_name in node.file if own else file.is_file()):
                name = source.dset_name if own else source.file_name
                return f"is put together from {name}, which is missing"
        return None
    if node.size and not node.external and node.id.get_storage_size() == 0:
        return "was created and never written"
    return None
