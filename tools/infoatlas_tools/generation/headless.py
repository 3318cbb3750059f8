"""ManiSkill on a machine without Vulkan: import this before `mani_skill`.

These versions are needed (the extra `maniskill` of pyproject.toml installs them):

    pip install torch==2.13.0
    pip install mani-skill==3.0.1 torch==2.13.0 'numpy<2'    # its planner crashes with numpy 2

ManiSkill creates render materials even if nothing is rendered, and SAPIEN cannot create them
without a rendering device. So the class of materials is replaced by one that does nothing. States,
contacts and planners do not depend on it. Call `gym.make` with `OPTIONS`.
"""

from typing import Any

try:
    import sapien.pysapien.render
    import sapien.render
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}: pip install 'infoatlas-rt[maniskill]' (Python 3.10 to 3.12)", name=error.name
    ) from error

OPTIONS = {"sim_backend": "physx_cpu", "render_backend": "none", "render_mode": None}


class _NoMaterial:
    """Accepts any setting and ignores it."""

    def __init__(self, *settings: Any, **named: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("set_", "get_")):
            return lambda *settings: None
        raise AttributeError(name)


for module in (sapien.render, sapien.pysapien.render):
    module.RenderMaterial = _NoMaterial
