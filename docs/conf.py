"""Settings of the documentation: ``make docs`` builds the site in docs/_build/html."""

import pkgutil
import re
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hashbench import __version__

project = "hashbench"
version = release = __version__

if (Path(__file__).parents[1] / "results" / "report.html").is_file():
    tags.add("report")  # noqa: F821  (Sphinx brings it): the front page links to the page of results

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

# Every heading can be linked to, as on GitHub. A link that leads nowhere is a warning, and make docs fails on those.
myst_heading_anchors = 3
nitpicky = True
nitpick_ignore_regex = [
    # the site is built without the internet, so the documentation of other packages is not at hand
    (
        "py:.*",
        r"(annotated_types|collections|concurrent|contextlib|h5py|numpy|pandas|pathlib|pydantic|re|torch|types|typing|zipfile)\..*",
    ),
    # types in modules with a leading underscore are not documented
    ("py:.*", r"hashbench\.(\w+\.)*_\w+.*"),
    # the check of a name, which Pydantic shows as its type
    ("py:class", r"hashbench\.running\.runs\.row\.maker_name"),
    # a name without its module is what autodoc makes of a forward reference, or of a type variable
    ("py:class", r"\w+|nn\.\w+|hashbench\.(\w+\.)*[A-Z]"),
    # an alias whose parts have a tag
    ("py:class", r"hashbench\.(\w+\.)*Annotated"),
    ("py:obj", r"builtins\.\w+"),
    # a generic type cut at its comma: a default that a factory makes has no text that Sphinx can read
    ("py:class", r"(dict|list|set|tuple)\[.*"),
    # the bound of a setting that is no whole number, such as lt=0.5
    ("py:class", r"\d+\.\d+"),
    # NumPy is np in our annotations
    ("py:class", r"np\.\w+"),
]

autodoc_default_options = {"members": True, "ignore-module-all": True, "exclude-members": "model_config"}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_mock_imports = [name for name in ("ortools", "torch", "torchvision", "triton") if find_spec(name) is None]
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_function_parentheses = False
toc_object_entries_show_parents = "hide"
napoleon_numpy_docstring = False

highlight_language = "none"  # a block without a language is a terminal
suppress_warnings = ["ref.python"]  # two classes may have one name
html_theme = "furo"
html_title = "hashbench"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


class Modules(SphinxDirective):
    """``.. modules:: PACKAGE``: the documentation of a package and of its public modules, a section each.

    Nothing is to be listed when a module is added.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The sections."""
        sections = map(_section, _public_modules(self.arguments[0]))
        return self.parse_text_to_nodes("\n".join(sections), allow_section_headings=True)


def _public_modules(name: str) -> list[str]:
    """The module called ``name`` and, if it is a package, all that it holds but those with a leading underscore."""
    folders = getattr(import_module(name), "__path__", [])
    inner = sorted(module.name for module in pkgutil.iter_modules(folders) if not module.name.startswith("_"))
    return [name, *(found for stem in inner for found in _public_modules(f"{name}.{stem}"))]


def _section(name: str) -> str:
    """The module's docstring and members, and the names in its ``__all__`` that other modules define."""
    module = import_module(name)
    offered = {each: getattr(module, each) for each in getattr(module, "__all__", [])}
    homes = {each: value.__module__ for each, value in offered.items() if callable(value) and value.__module__ != name}
    public = [f":py:obj:`{each} <{home}.{each}>`" for each, home in homes.items() if "._" not in home]
    imports = f"Also importable from here: {', '.join(public)}.\n" if public else ""
    # a module with a leading underscore has no section: what is offered of it stands here
    kinds = {each: "autoclass" if isclass(offered[each]) else "autofunction" for each in homes if "._" in homes[each]}
    hidden = "".join(f"\n.. {kind}:: {name}.{each}\n" for each, kind in kinds.items())
    return f"{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n\n{imports}{hidden}\n"


def _plain_text(_app: Sphinx, what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Docstrings are plain text but for double backquotes: |x| is no substitution, ap@k no address."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[place] = SIGN.sub(lambda found: found[1] or f"\\{found[2]}", line)
    if what == "property":
        lines[:0] = ["..", ""]  # an empty comment: napoleon takes what stands before a colon in it


def _no_protocol_arguments(_app: Sphinx, what: str, _name: str, found: object, *_: object) -> tuple[str, None] | None:
    """Leaves out the (*args, **kwargs) of a ``typing.Protocol``."""
    return ("", None) if what == "class" and getattr(found, "_is_protocol", False) else None


SIGN = re.compile(r"(``.*?``)|([*|@])(?=\S)")  # a sign that docutils would read, but none between double backquotes
NDARRAY = ("ndarray", "[", "tuple", "[", "Any", ",", " ", "...", "]", ",", " ", "dtype", "[")


def _short_arrays(_app: Sphinx, document: nodes.document, _name: str) -> None:
    """Writes ``NDArray[float64]`` for the types that NumPy's alias stands for."""
    for signature in document.findall(addnodes.desc_signature):
        for annotation in signature.findall(nodes.TextElement):
            while (start := _find(annotation.children)) is not None:
                inside = start + len(NDARRAY)
                end = next(i for i in range(inside, len(annotation)) if annotation[i].astext() == "]")
                names = addnodes.desc_sig_name("", "NDArray"), addnodes.desc_sig_punctuation("", "[")
                annotation[start : end + 1] = [*names, *annotation[inside:end]]  # of two brackets one stays


def _find(children: Sequence[nodes.Node]) -> int | None:
    texts = [child.astext() for child in children]
    return next((place for place in range(len(texts)) if tuple(texts[place : place + len(NDARRAY)]) == NDARRAY), None)


def setup(app: Sphinx) -> None:
    """Adds the directive and the functions above."""
    app.add_directive("modules", Modules)
    app.connect("autodoc-process-docstring", _plain_text, priority=400)  # before napoleon's own
    app.connect("autodoc-process-signature", _no_protocol_arguments)
    app.connect("doctree-resolved", _short_arrays)
