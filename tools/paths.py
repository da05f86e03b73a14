"""Where things are in the clone."""
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
LOG = BUILD / "learn.log"
STEPS_JSON = BUILD / "steps.json"
PLOTS = ROOT / "plots"
WORK = ROOT / "exercises"  # the reader's own files; git ignores it
