"""The Python behind ./learn: build, run, count, draw, write. Step programs are reached only through their command
line and the JSON lines that they write."""
