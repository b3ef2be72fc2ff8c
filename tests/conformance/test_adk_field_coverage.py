import ast
from pathlib import Path

import pytest
from google.genai.types import Part
from pydantic import BaseModel

import stream_protocol
from tests.conformance.adk_fields import CONVERTED, IGNORED

LIBRARY = Path(stream_protocol.__file__).parent
TABLES = "tests/conformance/adk_fields.py"

each_model = pytest.mark.parametrize("model", [pytest.param(model, id=model.__name__) for model in CONVERTED])


def own_fields(model: type[BaseModel]) -> set[str]:
    """The fields that the installed ADK has in this model, but for those of a base that has a table of its own."""
    inherited = {field for base in CONVERTED if base in model.__mro__[1:] for field in base.model_fields}
    return set(model.model_fields) - inherited


def unknown_fields(model: type[BaseModel], fields: set[str]) -> set[str]:
    return fields - CONVERTED[model].keys() - IGNORED.get(model, {}).keys()


def fields_read(module: Path) -> set[str]:
    """Every name that the module reads as an attribute (``event.author``) or as a key (``fields["author"]``)."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                names.add(name)
    return names


@each_model
def test_every_field_of_the_installed_adk_is_converted_or_ignored_for_a_reason(model: type[BaseModel]) -> None:
    unknown = unknown_fields(model, own_fields(model))
    assert not unknown, (
        f"This ADK has fields that `stream_protocol` does not know: {model.__name__} {sorted(unknown)}. Read what they "
        f"hold. Convert what a page should see and name the module in CONVERTED of {TABLES}, with a fixture that shows "
        "it; or say in IGNORED why a page should not see it."
    )


@each_model
def test_no_field_is_both_converted_and_ignored(model: type[BaseModel]) -> None:
    assert not CONVERTED[model].keys() & IGNORED.get(model, {}).keys()


@pytest.mark.parametrize(
    ("field", "module"),
    [
        pytest.param(field, module, id=f"{model.__name__}.{field}")
        for model, fields in CONVERTED.items()
        for field, module in fields.items()
    ],
)
def test_a_converted_field_is_read_by_the_module_that_its_table_names(field: str, module: str) -> None:
    assert field in fields_read(LIBRARY / module)


def test_every_ignored_field_has_a_reason_and_its_model_a_table() -> None:
    assert all(reason for fields in IGNORED.values() for reason in fields.values())
    assert IGNORED.keys() <= CONVERTED.keys()


def test_a_field_that_nobody_knows_is_found() -> None:
    assert unknown_fields(Part, {"text", "video_metadata", "hologram"}) == {"hologram"}
