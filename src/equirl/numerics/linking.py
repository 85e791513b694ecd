"""Kernels and what they call: typed and lowered one by one, optimised and turned into machine code once together.

Numba by itself makes of every function that a kernel calls a program of its own, which Python could call, and
optimises a function anew in each of its callers. Most functions are only steps of others. Here such a step is left as
it was lowered, and the kernel that Python calls takes in all that it reaches.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, compiler

_numba_codegen: Any = codegen  # without types
_numba_compiler: Any = compiler


class StepLibrary(_numba_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that kernels call: never run on its own."""

    _shared_module: Any

    def finalize(self) -> None:
        """Nothing to do: callers link it as it is."""
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """For a function of Numba's own decorators, which links what it calls itself and no more."""
        if self._shared_module is None:
            module = self.alone().clone()
            for library in all_linked(self._linking_libraries):
                if library is not self:
                    module.link_in(_code_of(library), preserve=True)
            self._shared_module = module
        return self._shared_module

    def alone(self) -> Any:
        """The function without those that it calls; several callers may hold it."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == _numba_codegen.ll.Linkage.external:
                function.linkage = "linkonce_odr"
        return self._final_module

    def get_pointer_to_function(self, name: str) -> int:
        """None: Python cannot call it."""
        return 0

    @property
    def codegen(self) -> Any:
        """Where addresses of constants are set: with the machine code, of which there is none yet."""
        return _Nowhere()


class _Nowhere:
    def set_env(self, env_name: str, env: Any) -> None:
        pass


class KernelLibrary(_numba_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel that Python calls, with all that it reaches."""

    _linking_libraries: Any

    def finalize(self) -> None:
        """Link, optimise and make machine code."""
        for library in all_linked(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_code_of(library), preserve=True)
        self._linking_libraries = type(self._linking_libraries)()
        super().finalize()
        for variable in self._final_module.global_variables:
            env = _numba_compiler.lookup_environment(variable.name)
            if env is not None:
                self._codegen.set_env(variable.name, env)

    def get_pointer_to_function(self, name: str) -> int:
        """The address of one of its functions."""
        self._ensure_finalized()
        return int(self._codegen._engine.get_function_address(name))

    def serialize_using_object_code(self) -> Any:
        """Machine code alone: nothing links a kernel, so what it was made of need not be kept."""
        return self.name, "object", self._get_compiled_object()

    @classmethod
    def loaded(cls, codegen: Any, state: Any) -> Any:
        """The library that was serialised as ``state``."""
        name, _, code = state
        library = cls(codegen, name)
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        return library


def all_linked(libraries: Any) -> list[Any]:
    """The libraries, and what steps among them link themselves, each once."""
    found: dict[Any, None] = {}
    waiting = list(libraries)[::-1]
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            if isinstance(library, StepLibrary):
                waiting += list(library._linking_libraries)[::-1]
    return list(found)


def _code_of(library: Any) -> Any:
    return library.alone() if isinstance(library, StepLibrary) else library._get_module_for_linking()


class KernelFlags(_numba_compiler.Flags):  # type: ignore[misc]
    """Numba's flags, compared by those that are set: it looks each function up by them, some hundred thousand times."""

    __slots__ = ()
    usual_hash = hash(_numba_compiler.Flags())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _numba_compiler.Flags):
            return NotImplemented
        mine, others = self._values, other._values  # type: ignore[attr-defined]
        return mine == others or all(
            getattr(self, name) == getattr(other, name) for name in mine.keys() | others.keys()
        )

    def __hash__(self) -> int:
        return self.usual_hash


class KernelCompiler(_numba_compiler.Compiler):  # type: ignore[misc]
    """Compiles what Python calls."""

    library_class = KernelLibrary

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, returned: Any, flags: Any, names: Any
    ) -> None:
        super().__init__(typing, target, library, args, returned, KernelFlags(flags), names)

    def define_pipelines(self) -> Any:
        """Numba's own, into a library of ours."""
        state = self.state
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()


class StepCompiler(KernelCompiler):
    """Compiles what kernels call."""

    library_class = StepLibrary
