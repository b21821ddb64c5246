"""``python -m tunewright``."""

import sys

from tunewright.cli import main

sys.exit(main())
