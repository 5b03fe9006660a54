"""``python -m hashbench``."""

from hashbench.cli import main

if __name__ == "__main__":
    main()
