"""A contract that import-linter lacks: imports go through the interface of a package."""

from grimp import ImportGraph
from importlinter.application import output
from importlinter.domain.contract import Contract, ContractCheck


class PackageInterfaces(Contract):
    """Only the same folder, and the folders in it, import a module whose name begins with an underscore.

    All other modules import from the interface of that package: the names that its ``__init__.py`` exports.
    """

    type_name = "package_interfaces"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Finds the imports that bypass a package's interface."""
        broken = [
            f"{importer} imports {imported}"
            for imported in graph.modules
            if (folder := imported.partition("._")[0]) != imported
            for importer in graph.find_modules_that_directly_import(imported)
            if importer != folder and not importer.startswith(f"{folder}.")
        ]
        return ContractCheck(kept=not broken, metadata={"broken": sorted(broken)})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints one line for each broken import."""
        for line in check.metadata["broken"]:
            output.print_error(line)
