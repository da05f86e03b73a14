"""Speaking to the reader: one console for results, one for progress."""
from contextlib import contextmanager

from rich.console import Console

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


@contextmanager
def progress(title):
    """A bar on stderr, drawn only on a terminal. Yields update(done, total, what)."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("{task.description:<9}"), BarColumn(24), MofNCompleteColumn(), TextColumn("[dim]{task.fields[what]}")
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(title, total=None, what="")
        yield lambda done, total, what="": bar.update(task, completed=done, total=total, what=what[: err.width - 52])
