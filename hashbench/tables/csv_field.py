"""A value as a field of a CSV file: what tables and figures share."""

from hashbench.tables.notation import number, plain

# six decimals: the last bits of a mean may depend on the machine that summed it, this text may not
DECIMALS = 6
FORMULA = ("=", "+", "-", "@")  # a spreadsheet runs a field that begins so

Value = str | int | float | bool | None


def csv_field(value: Value) -> str:
    """The text of a value: blank for None, numbers with six decimals, text on one line, an apostrophe before a formula.

    >>> [csv_field(value) for value in (None, True, 3, 0.25, "12 bits", "=1+1")]
    ['', 'true', '3', '0.250000', '12 bits', "'=1+1"]
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return number(value, DECIMALS)
    if isinstance(value, int):
        return str(value)
    text = plain(value)
    return f"'{text}" if text.startswith(FORMULA) else text
