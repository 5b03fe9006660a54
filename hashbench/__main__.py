"""``python -m hashbench``."""

from hashbench.cli._entry import main

if __name__ == "__main__":
    main()
