"""Contract of import-linter for private modules."""

from grimp import ImportGraph
from importlinter.application import output
from importlinter.domain.contract import Contract, ContractCheck


class InterfacesContract(Contract):
    """Rule: a module whose name begins with an underscore is imported only by its own folder, and by folders below it.

    All other modules import the names in the ``__init__.py`` of the package.
    """

    type_name = "interfaces"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find imports of private modules of other packages."""
        broken = [
            f"{importer} imports {imported}"
            for imported in graph.modules
            if (folder := imported.partition("._")[0]) != imported
            for importer in graph.find_modules_that_directly_import(imported)
            if importer != folder and not importer.startswith(f"{folder}.")
        ]
        return ContractCheck(kept=not broken, metadata={"broken": sorted(broken)})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each such import on a line."""
        for line in check.metadata["broken"]:
            output.print_error(line)
