"""``python -m hashbench``."""

from hashbench.cli._app import main

if __name__ == "__main__":
    main()
