"""Settings given as KEY=VALUE on the command line."""

from hashbench.errors import HashbenchError


def parse_settings(pairs: list[str]) -> dict[str, int | float | str | bool]:
    """The settings in texts KEY=VALUE; a value is read as TOML, and is a string if it is not TOML.

    >>> parse_settings(["lr=0.1", "epochs=3", "variant=exact"])
    {'lr': 0.1, 'epochs': 3, 'variant': 'exact'}
    """
    settings: dict[str, int | float | str | bool] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key and equals and text):
            raise HashbenchError(f"--set {pair!r}: KEY=VALUE is expected, as in --set lr=0.1")
        settings[key.strip()] = _value(text.strip())
    return settings


def _value(text: str) -> int | float | str | bool:
    from hashbench.config import toml_tables  # pydantic is not imported for --help

    try:
        value = toml_tables(f"value = {text}")["value"]
    except ValueError:
        return text
    return value if isinstance(value, int | float | str | bool) else text
