"""What ``hashbench verify`` found in a bundle."""

from dataclasses import dataclass, field


@dataclass
class Report:
    """The differences, what could not be checked and why, and how much was compared."""

    differences: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    n_files: int = 0  # whose checksums were compared
    n_rows: int = 0
    n_values: int = 0  # metrics that were computed again
    n_histograms: int = 0
    n_retrievals: int = 0
    n_codes: int = 0  # runs whose codes were counted again
    n_id_lists: int = 0
    rows_alone: list[str] = field(default_factory=list)  # runs of which neither counts nor codes are there
