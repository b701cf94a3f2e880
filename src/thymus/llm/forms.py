"""Forms: dataclasses as JSON schemas, and answers read back into them, strictly and without a library."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN: Final[Mapping[object, str]] = {str: "string", int: "integer", float: "number", bool: "boolean"}


class FormError(ValueError):
    """An answer does not have the form that was asked for; the message says where."""


def form_of(schema: type) -> Mapping[str, Any] | None:
    """The JSON schema of a dataclass, or ``None`` for ``str``: free text. A field's ``doc`` metadata describes it.

    :raises TypeError: for a type that no form can hold.
    """
    return None if schema is str else _schema(schema)


@lru_cache(maxsize=256)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _schema(kind: Any) -> dict[str, Any]:
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        fields = {}
        for field in dataclasses.fields(kind):
            doc = {"description": field.metadata["doc"]} if "doc" in field.metadata else {}
            fields[field.name] = _schema(_hints(kind)[field.name]) | doc
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal and all(isinstance(choice, str) for choice in inner):
        return {"type": "string", "enum": list(inner)}
    if origin in (list, tuple) and (origin is list or inner[1:] == (Ellipsis,)):
        return {"type": "array", "items": _schema(inner[0])}
    if origin in (Union, types.UnionType) and type(None) in inner and len(inner) == 2:
        return {"anyOf": [_schema(next(one for one in inner if one is not type(None))), {"type": "null"}]}
    raise TypeError(f"{kind!r} cannot be asked for: use str, int, float, bool, Literal, list, tuple[X, ...], dataclass")


def read_answer(schema: type[T], text: str) -> T:
    """The answer in its form. A fence of Markdown around the JSON is put up with.

    :raises FormError: where it has another form; the message holds nothing of what the model wrote but names of fields.
    """
    if schema is str:
        return cast("T", text.strip())
    try:
        value = json.loads(_unfenced(text))
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError, too
        raise FormError("the answer is no JSON") from None
    return cast("T", _read(schema, value, "the answer"))


def _unfenced(text: str) -> str:
    text = text.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0]
    return text


def _read(kind: Any, value: Any, where: str) -> Any:
    if kind in _PLAIN:
        return _plain(kind, value, where)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _fields(kind, value, where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        if value not in inner:
            raise FormError(f"{where} is none of {', '.join(map(str, inner))}")
        return value
    if origin in (list, tuple):
        if not isinstance(value, list):
            raise FormError(f"{where} is no list")
        return cast("type", origin)(_read(inner[0], one, f"{where}[{at}]") for at, one in enumerate(value))
    if value is None:
        return None
    return _read(next(one for one in inner if one is not type(None)), value, where)


def _plain(kind: Any, value: Any, where: str) -> Any:
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (kind is not bool and isinstance(value, bool)):
        raise FormError(f"{where} is no {_PLAIN[kind]}")
    return float(value) if kind is float else value


def _fields(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise FormError(f"{where} is no object")
    hints, read = _hints(kind), {}
    for field in dataclasses.fields(kind):
        if field.name not in value:
            raise FormError(f"{where} lacks {field.name}")
        read[field.name] = _read(hints[field.name], value[field.name], f"{where}.{field.name}")
    return kind(**read)
