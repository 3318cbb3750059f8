"""Copy the README, and all that can be reached from it by links, to where mkdocs reads.

The copy has the folders of the repository, so that a link that works there works on the site.

    python docs/site/stage.py build/docs/source
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


def linked(page: Path) -> list[Path]:
    """Files that a page links to, links to other hosts left out."""
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    return [(page.parent / target).resolve() for target in targets if "://" not in target]


def reachable(first: Path) -> set[Path]:
    """A page and all files that links lead to from it.

    Raises
    ------
    FileNotFoundError
        A link leads to nothing, to a folder, or out of the repository.
    """
    found: set[Path] = set()
    waiting = [first.resolve()]
    while waiting:
        page = waiting.pop()
        if page in found:
            continue
        found.add(page)
        for target in linked(page) if page.suffix in (".md", ".ipynb") else []:
            if not target.is_file() or not target.is_relative_to(ROOT):
                raise FileNotFoundError(f"{page.relative_to(ROOT)} links to {target}: no such file")
            waiting.append(target)
    return found


def main(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for file in reachable(ROOT / "README.md"):
        copy = Path(folder) / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            # A site draws Markdown in an HTML block if the block asks for it. GitHub always does.
            text = file.read_text(encoding="utf-8").replace("<details>", '<details markdown="1">')
            # make docs runs the notebooks, and writes them as pages.
            copy.write_text(text.replace(".ipynb)", ".md)"), encoding="utf-8")
        else:
            shutil.copy(file, copy)
    for name in ("style.css", "mark.svg"):
        shutil.copy(Path(__file__).parent / name, folder)


if __name__ == "__main__":
    main(sys.argv[1])
