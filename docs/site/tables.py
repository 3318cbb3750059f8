"""Write the page of the command line, and tables of other pages, from the sources that define them.

    python docs/site/tables.py            # rewrites the page and the tables
    python docs/site/tables.py --check    # exits 1 and names the pages that differ

The page of the command line is generated completely: descriptions, examples, options and exit codes
are those of `--help`. A table of another page stands between `<!-- table: NAME -->` and
`<!-- end of table -->`. NAME is

- `topics`, `parameters` or `launch`: topics, parameters and launch arguments of the ROS 2 node;
- a message of the node, as `MutualInformation`.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("runtime", "tools", "export")]

from infoatlas_rt.cli.arguments import describe_argument  # noqa: E402
from infoatlas_rt.cli.main import DESCRIPTION, EXIT_CODES, load_commands, make_parser  # noqa: E402

COMMAND_LINE = ROOT / "docs/command-line.md"
PAGES = tuple(ROOT / f"docs/{page}.md" for page in ("ros2", "ros2-reference"))
NODE = ROOT / "ros2_node/infoatlas_ros2"
PARAMETERS = NODE / "infoatlas_ros2/parameters.py"
OUTPUTS = NODE / "infoatlas_ros2/outputs.py"
LAUNCH = NODE / "launch/infoatlas.launch.py"
MESSAGES = ROOT / "ros2_node/infoatlas_msgs/msg"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
SHARED = "estimator"  # title of a group of arguments
LINKS = {  # pages about what a command does
    "cut": "[one recording, several executions](cut.md)",
    "keystates": "[key states](key-states.md)",
    "label": "[a page to mark and correct](label.md)",
    "annotate": "[annotations of data sets](annotate.md)",
    "bag": "[ROS bags](bags.md)",
    "test": "[when to trust a number](when-to-trust.md)",
    "build": "[TensorRT](tensorrt.md)",
    "export": "[training](training.md)",
}


def command_line() -> str:
    """The page of the command line."""
    modules = load_commands()
    parser = make_parser(modules)
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    shared = dict(_rows(commands.choices["estimate"], shared=True))
    codes = [(str(code), meaning) for code, meaning in EXIT_CODES.items()]
    summary = [(f"[`{name}`](#{name})", module.HELP) for name, module in modules.items()]
    parts = [
        "<!-- Written by docs/site/tables.py from the parsers. Change those, and run it. -->",
        "# The command line",
        f"{DESCRIPTION} Every command has `--help`, with the text of this page.",
        _table("command", summary),
        "## Exit codes",
        _table("code", codes),
    ]
    for name, command in commands.choices.items():
        group = list(_rows(command, shared=True))
        # Of the shared options, those that this command describes in another way.
        own = [row for row in group if shared.get(row[0]) != row[1]]
        title = [(f"*{SHARED}*", "")] if own else []
        also = ["Also: the [options of the estimator](#options-of-the-estimator)."]
        lines = [f"$ infoatlas-rt {line}" for line in modules[name].EXAMPLES]
        parts += [
            f"## {name}",
            modules[name].DESCRIPTION,
            *([f"More: {LINKS[name]}."] if name in LINKS else []),
            "\n".join(["```console", *lines, "```"]),
            _table("argument", [*_rows(command, shared=False), *title, *own]),
            *(also if len(group) > len(own) else []),
        ]
    parts += ["## Options of the estimator", _table("option", list(shared.items()))]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _rows(parser: argparse.ArgumentParser, *, shared: bool) -> Iterator[tuple[str, str]]:
    """Arguments and their descriptions, with titles of groups between them."""
    for group in parser._action_groups:
        actions = [a for a in group._group_actions if not isinstance(a, argparse._HelpAction)]
        if not actions or (group.title == SHARED) != shared:
            continue
        if group not in parser._action_groups[:2] and not shared:
            yield f"*{group.title}*", ""
        for action in actions:
            # Markdown takes [a][b] for a link.
            yield f"`{_written(action)}`", describe_argument(action).replace("][", "]\\[")


def _written(action: argparse.Action) -> str:
    """An argument as a user writes it."""
    value: Any = action.metavar or action.dest.upper()
    if action.choices is not None:
        value = "{" + ",".join(action.choices) + "}"
    elif isinstance(value, tuple):
        value = " ".join(value)
    if not action.option_strings:
        return str(value)
    form = {0: "", "?": f" [{value}]", "+": f" {value} ..."}.get(action.nargs, f" {value}")
    return action.option_strings[-1] + form


def parameters() -> str:
    """The table of the node's parameters; its module imports rclpy, so only a part of it is run."""
    module = ast.parse(PARAMETERS.read_text(encoding="utf-8"))
    made = {"MOST", "setting"}
    parts: list[ast.stmt] = []
    for node in module.body:
        if isinstance(node, ast.Assign | ast.FunctionDef) and made & _names(node):
            parts.append(node)
        elif isinstance(node, ast.ClassDef) and node.name == "Settings":
            parts += [line for line in node.body if isinstance(line, ast.AnnAssign)]
    values: dict[str, Any] = {"field": lambda **given: given, "Any": Any}
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module([*future, *parts], []), str(PARAMETERS), "exec"), values)
    rows = []
    for line in parts:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            name = line.target.id
            about = values[name]["metadata"]
            low, high = about["low"], about["high"]
            span = "" if low is None else f"{_number(low)} to {_number(high)}"
            default = _yaml(values[name]["default"])
            rows.append(
                (f"`{name}`", f"`{default}`", span, "yes" if about["live"] else "", about["text"])
            )
    return _table("parameter", rows, "default", "range", "live", "meaning")


def topics() -> str:
    """The table of the topics that the node publishes."""
    found = _assigned(OUTPUTS, "TOPICS")
    assert isinstance(found, ast.Dict)
    rows = []
    for name, value in zip(found.keys, found.values, strict=True):
        assert isinstance(name, ast.Constant) and isinstance(value, ast.Tuple)
        kind, text = value.elts
        assert isinstance(kind, ast.Name)
        rows.append((f"`~/{name.value}`", f"`{MESSAGES.parent.name}/{kind.id}`", _value(text)))
    about = ("`/diagnostics`", "`diagnostic_msgs/DiagnosticArray`", "state, rates, latency, faults")
    return _table("topic", [*rows, about], "type", "content")


def launch() -> str:
    """The table of the arguments of the node's launch file."""
    found = _assigned(LAUNCH, "ARGUMENTS")
    assert isinstance(found, ast.Dict)
    rows = []
    for name, value in zip(found.keys, found.values, strict=True):
        assert isinstance(value, ast.Tuple)
        default, text = value.elts
        shown = f"`{_yaml(default.value)}`" if isinstance(default, ast.Constant) else ""
        rows.append((f"`{_value(name)}`", shown, _value(text)))
    return _table("argument", rows, "default", "meaning")


def message(file: Path) -> str:
    """The description and the fields of a message, from its comments."""
    about, fields = file.read_text(encoding="utf-8").split("\n\n", 1)
    rows = []
    for line in fields.splitlines():
        declared, _, text = line.partition("#")
        if declared.strip() and "=" not in declared:
            kind, name = declared.split()
            rows.append((f"`{name}`", f"`{kind}`", text.strip()))
    text = about.replace("# ", "")
    return f"{text}\n\n{_table('field', rows, 'type', 'meaning')}"


def _assigned(file: Path, name: str) -> ast.expr:
    """The value of a module's constant, not evaluated: the modules of the node import rclpy."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if name in {target.id for target in targets if isinstance(target, ast.Name)}:
                assert node.value is not None
                return node.value
    raise LookupError(f"{file} has no {name}")


def _value(node: ast.expr | None) -> str:
    assert node is not None
    return str(ast.literal_eval(node))


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    assert isinstance(node, ast.Assign)
    return {target.id for target in node.targets if isinstance(target, ast.Name)}


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _yaml(value: Any) -> str:
    """A default as it is written in a file of parameters."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value) or "''"
    # YAML takes 1e-05 for a string.
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text


def _table(first: str, rows: Any, *headers: str) -> str:
    headers = (first, *(headers or ("meaning",)))
    lines = [headers, ("---",) * len(headers), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write generated pages and tables.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if any differs")
    check = parser.parse_args(argv).check
    tables = {
        **{"parameters": parameters(), "topics": topics(), "launch": launch()},
        **{file.stem: message(file) for file in sorted(MESSAGES.glob("*.msg"))},
    }
    differ = []
    for page in (COMMAND_LINE, *PAGES):
        text = page.read_text(encoding="utf-8")
        if page == COMMAND_LINE:
            new = command_line()
        else:
            new = TABLE.sub(lambda match: f"{match[1]}\n{tables[match[2]]}\n", text)
        if new != text:
            differ.append(page.name)
            if not check:
                page.write_text(new, encoding="utf-8")
    missing = set(tables) - {
        match[2] for page in PAGES for match in TABLE.finditer(page.read_text(encoding="utf-8"))
    }
    if missing:
        print(f"no page has the tables {', '.join(sorted(missing))}", file=sys.stderr)
    if check and differ:
        print(f"{', '.join(differ)}: run python docs/site/tables.py", file=sys.stderr)
    return int(bool(missing) or (check and bool(differ)))


if __name__ == "__main__":
    sys.exit(main())
