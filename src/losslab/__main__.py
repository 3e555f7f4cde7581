"""``python -m losslab``: the command of the packaged project."""

from losslab.inference.command import main

if __name__ == "__main__":
    main()
