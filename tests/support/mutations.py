"""Small faults put into Python source, one at a time: what a test must notice.

    mutations("addon/toolmend/core/sse.py", source)      →      Mutation(path, 12, "if a < b:", "if (a <= b):", the whole source),
    …

Rule of this file: it works on the syntax tree, and changes the text of one node. What no test could notice stays as it is:
annotations, docstrings, messages of assertions.
"""

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Mutation(NamedTuple):
    """A fault: the line it begins in, that line (without blanks around it) before and after, and the source with it."""

    path: str
    line: int
    was: str
    now: str
    source: str


def mutations(path: str, source: str) -> Iterator[Mutation]:
    """All faults of a file, in the order of its lines."""
    lines = source.encode().splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    text = b"".join(lines)
    for node, new in sorted(_changes(ast.parse(source)), key=lambda change: (change[0].lineno, change[0].col_offset)):  # type: ignore[attr-defined]
        first, last = begins[node.lineno - 1] + node.col_offset, begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        changed = (text[:first] + new.encode() + text[last:]).decode()
        at: int = node.lineno - 1  # type: ignore[attr-defined]
        yield Mutation(path, at + 1, lines[at].decode().strip(), changed.splitlines()[at].strip(), changed)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that may be changed, each with its new text."""
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.TypeAlias() | ast.Import() | ast.ImportFrom():
            return
        case ast.AnnAssign():
            parts: list[ast.AST] = [node.value] if node.value else []
        case ast.Assign(targets=[ast.Name(id="__slots__" | "__all__"), *_]):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            parts = [*node.args.defaults, *(each for each in node.args.kw_defaults if each), *node.body]
        case ast.ClassDef():
            parts = list(node.body)
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.Call(func=ast.Name(id="cast"), args=[_, value]):
            parts = [value]
        case ast.Expr(value=ast.Constant()):  # a docstring, or the words below a constant
            return
        case ast.Raise():
            parts = []
        case _:
            parts = list(ast.iter_child_nodes(node))
    yield from ((node, new) for new in _news(node))
    for part in parts:
        yield from _changes(part)


def _news(node: ast.AST) -> Iterator[str]:
    """What may stand in the place of a node."""
    match node:
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int() | float()):
            yield repr(node.value + 1)
        case ast.Constant(value=str()):
            yield repr(node.value[1:] or node.value + "X")
        case ast.Constant(value=bytes()):
            yield repr(node.value[1:] or node.value + b"X")
        case ast.Compare():
            for at, op in enumerate(node.ops):
                changed = copy.copy(node)
                changed.ops = [*node.ops[:at], COMPARED[type(op)](), *node.ops[at + 1 :]]
                yield f"({ast.unparse(changed)})"
        case ast.BoolOp():
            changed_op = copy.copy(node)
            changed_op.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            yield f"({ast.unparse(changed_op)})"
        case ast.BinOp() if type(node.op) in COMPUTED:
            computed = copy.copy(node)
            computed.op = COMPUTED[type(node.op)]()
            yield f"({ast.unparse(computed)})"
        case ast.UnaryOp(op=ast.Not()):
            yield f"({ast.unparse(node.operand)})"
        case ast.Name() | ast.Call() | ast.Attribute() if getattr(node, "decides", False):
            yield f"(not {ast.unparse(node)})"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Raise() | ast.Delete() | ast.Continue() | ast.Break() | ast.AugAssign() | ast.Expr(value=ast.Call() | ast.YieldFrom()):
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "pass"
        case ast.If() | ast.While() | ast.IfExp():
            node.test.decides = True  # type: ignore[attr-defined]
