"""Settings given as KEY=VALUE on the command line."""

from hashbench.foundation.errors import HashbenchError


def parse_settings(pairs: list[str]) -> dict[str, int | float | str | bool]:
    """The settings in texts KEY=VALUE; a value is read as TOML, and is a string if it is not TOML.

    >>> parse_settings(["lr=0.1", "epochs=3", "variant=exact"])
    {'lr': 0.1, 'epochs': 3, 'variant': 'exact'}
    """
    return dict(pairs_of(pairs, "--set", "lr=0.1"))


def pairs_of(texts: list[str], option: str, example: str) -> list[tuple[str, int | float | str | bool]]:
    """The keys and values in texts KEY=VALUE, which were given with ``option``; a value is read as TOML, or a string.

    >>> pairs_of(["bits=32", "bits=48", "method=itq"], "--only", "bits=32")
    [('bits', 32), ('bits', 48), ('method', 'itq')]
    """
    pairs = []
    for given in texts:
        key, equals, text = given.partition("=")
        if not (key and equals and text):
            raise HashbenchError(f"{option} {given!r}: KEY=VALUE is expected, as in {option} {example}")
        pairs.append((key.strip(), _value(text.strip())))
    return pairs


def _value(text: str) -> int | float | str | bool:
    from hashbench.foundation.config import toml_tables  # pydantic is not imported for --help

    try:
        value = toml_tables(f"value = {text}")["value"]
    except ValueError:
        return text
    return value if isinstance(value, int | float | str | bool) else text
