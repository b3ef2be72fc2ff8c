"""A contract of import-linter that it does not have itself."""

from grimp import ImportGraph
from importlinter.application import output
from importlinter.domain.contract import Contract, ContractCheck


class InterfacesContract(Contract):
    """A module whose name begins with an underscore is imported by its own folder, and by the folders in it, alone.

    All others go through the interface of that package: what its ``__init__.py`` exports.
    """

    type_name = "interfaces"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Finds the imports that go around an interface."""
        broken = [
            f"{importer} imports {imported}"
            for imported in graph.modules
            if (folder := imported.partition("._")[0]) != imported
            for importer in graph.find_modules_that_directly_import(imported)
            if importer != folder and not importer.startswith(f"{folder}.")
        ]
        return ContractCheck(kept=not broken, metadata={"broken": sorted(broken)})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Names them, a line each."""
        for line in check.metadata["broken"]:
            output.print_error(line)
