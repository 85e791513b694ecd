"""Small wrong changes to a source file, one at a time: what a good test near it must notice.

Changed are operators, numbers, conditions, returned values, and statements that are left out. Docstrings, messages,
annotations and decorators are left alone. A mutation is an edit of the text, so all else stays as it is.
"""

from __future__ import annotations

import ast
import re
from itertools import accumulate
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "//", ast.Pow: "*"}
EXTREMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil"}
EXTREMES |= {other: name for name, other in EXTREMES.items()}
DEFAULTS = {"bool": "False", "int": "0", "float": "0.0"}  # by the annotation of what is returned
KERNELS = {"kernel", "lean_kernel", "inlined"}
TEXTS = {"__repr__", "__str__", "_repr_html_", "__dir__"}  # functions that only write for people


class Mutation(NamedTuple):
    """The text from ``start`` to ``end`` becomes ``new``."""

    start: int
    end: int
    new: str
    kind: str
    line: int
    function: str  # the names of the class and function around it, dotted; empty at the top of a file
    kernel: bool  # whether it stands in compiled code

    def applied(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.end :]


def mutations(source: str) -> list[Mutation]:
    """All mutations of a source, in the order of its text."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(finder.found)


class _Finder(ast.NodeVisitor):
    """Walks over the code that computes, and notes what could be wrong in it."""

    def __init__(self, source: str) -> None:
        self.source, self.found = source, []
        self.scope: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []
        self.lines = source.splitlines(keepends=True)
        self.starts = [0, *accumulate(map(len, self.lines))]

    def place(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def add(self, kind: str, start: int, end: int, new: str) -> None:
        scope = [node for node in self.scope if not isinstance(node, ast.ClassDef)]
        kernel = any(ast.unparse(mark) in KERNELS for node in scope for mark in node.decorator_list)
        line = self.source.count("\n", 0, start) + 1
        self.found.append(Mutation(start, end, new, kind, line, ".".join(node.name for node in self.scope), kernel))

    def swap(self, kind: str, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """Another operator between two operands; parentheses and line breaks stay."""
        start = self.span(left)[1]
        at = self.source.find(old, start, self.span(right)[0])
        if at >= 0:
            self.add(kind, at, at + len(old), new)

    # What computes nothing is passed over.

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in TEXTS:
            return
        self.scope.append(node)
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]:
            self.visit(part)
        self.scope.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.append(node)
        for part in node.body:
            self.visit(part)
        self.scope.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    # What computes is changed.

    def visit_If(self, node: ast.If) -> None:
        if re.search(r"TYPE_CHECKING|sys\.platform", ast.unparse(node.test)):  # what does not run here
            return
        self.negate(node.test)
        for block in (node.body, node.orelse):
            if block and not isinstance(block[-1], ast.Raise):  # what leads to an error is its message
                for part in block:
                    self.visit(part)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.negate(node.test)
        self.visit(node.body)
        self.visit(node.orelse)

    def negate(self, test: ast.expr) -> None:
        start, end = self.span(test)
        self.add("condition", start, end, f"not ({self.source[start:end]})")
        self.visit(test)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self.swap("comparison", left, right, _symbol(op), COMPARISONS[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in ARITHMETIC and not any(_is_text(part) for part in (node.left, node.right)):
            self.swap("arithmetic", node.left, node.right, _symbol(node.op), ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.swap("boolean", left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            start, inner = self.span(node)[0], self.span(node.operand)[0]
            self.add("boolean" if isinstance(node.op, ast.Not) else "arithmetic", start, inner, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool | int | float):
            self.add("constant", *self.span(node), _other(node.value))

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip: a guard against what cannot be
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in EXTREMES:
            end = self.span(node.func)[1]
            self.add("extreme", end - len(name), end, EXTREMES[name])
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        function = self.scope[-1]
        if node.value is not None and function.returns is not None:
            start, end = self.span(node.value)
            kind, old = ast.unparse(function.returns), self.source[start:end]
            new = f"0 * ({old})" if kind == "np.ndarray" else DEFAULTS.get(kind, old)
            if new != old:
                self.add("return", start, end, new)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add("deleted", *self.span(node), "pass")
        if type(node.op) in ARITHMETIC and not _is_text(node.value):
            self.swap("arithmetic", node.target, node.value, _symbol(node.op) + "=", ARITHMETIC[type(node.op)] + "=")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, ast.Subscript) for target in node.targets):
            self.add("deleted", *self.span(node), "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add("deleted", *self.span(node), "pass")
        self.generic_visit(node)


def _symbol(op: ast.AST) -> str:
    """An operator as it is written."""
    if isinstance(op, ast.cmpop):
        return ast.unparse(ast.Compare(ast.Name("a"), [op], [ast.Name("b")]))[2:-2]
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[1:-1].strip()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _other(value: float) -> str:
    """A number like it: 0 and 1 change places, other whole numbers go up by one, others are doubled."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(1 - value if value in (0, 1) else value + 1)
    return repr(2.0 * value or 1.0)
