import os
import re
import sys
from pathlib import Path

# Started as a file from any directory, without Python's own variables (-E): the root of the clone takes the place of this
# directory on the path, and what PYTHONPATH names comes last, where it hides nothing.
ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)
sys.path += [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]

try:
    os.getcwd()
except OSError:  # the reader's directory was removed
    os.chdir(ROOT)

# Sizes that rich and typer cannot read, or would fill for hours.
for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
    if not re.fullmatch("[0-9]{2,3}", os.environ.get(name, "")):
        os.environ.pop(name, None)
os.environ.pop("MPLBACKEND", None)  # pictures go to files

try:
    from tools.cli import main
    main()
except KeyboardInterrupt:  # before main() looks after it
    sys.exit(130)
except ModuleNotFoundError as missing:
    from tools.venv import heal
    heal()
    print(f"learn: this Python ({sys.executable}) has no module '{missing.name}'. Install what pyproject.toml names as "
          "dependencies; or, without --system-python, remove .venv and run ./learn again.", file=sys.stderr)
    sys.exit(2)
except Exception:
    from tools.venv import heal
    heal()
    raise
