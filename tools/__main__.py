import sys
from pathlib import Path

# Started as a file from any directory: the root of the clone takes the place of this directory on the path.
sys.path[0] = str(Path(__file__).resolve().parents[1])

try:
    from tools.cli import main
except ModuleNotFoundError as missing:
    print(f"learn: this Python ({sys.executable}) has no module '{missing.name}'.\n"
          "Install what requirements.txt names; or, without --system-python, remove .venv and run ./learn again.",
          file=sys.stderr)
    sys.exit(2)

main()
