"""Run step programs, and read back what they wrote: the case measured and the emulator's counters."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

from tools import steps
from tools.guard import require_regular, stop, write_whole
from tools.paths import BUILD, ROOT

USAGE = 2  # the exit status of a program that refuses its arguments


def last_json(path):
    """The last line of a file, as JSON; None where there is none, or where its writer was stopped in the middle."""
    require_regular(path)
    try:
        return json.loads(path.read_bytes().splitlines()[-1])
    except (FileNotFoundError, IndexError, ValueError, RecursionError):
        return None


def case(step, variant, backend, gpu="h200", arguments=(), environment=None):
    """One variant, once: {status, output, case, profile}. On the emulator with counters, as if on the GPU named, and with further
    environment variables."""
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        result, counts = Path(place, "case.jsonl"), Path(place, "profile.json")
        command = [steps.program(step, backend), "--json", result, *(["--variant", variant] if variant else []), *arguments]
        env = dict(os.environ) | (environment or {})
        if backend == "cpu":
            command.append("--profile")
            env |= {"SIMT_PROFILE_JSON": str(counts), "SIMT_GPU": gpu}
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, errors="replace")
        return {"step": step["name"], "variant": variant, "backend": backend, "status": done.returncode,
                "output": done.stdout + done.stderr,
                "case": last_json(result), "profile": last_json(counts)}


def is_run(kept):
    """Whether that is what case() returns."""
    return isinstance(kept, dict) and kept.keys() >= {"step", "variant", "status", "output", "case", "profile"} \
        and all(isinstance(kept[name], (dict, type(None))) for name in ("case", "profile"))


def cached(step, name, find, is_whole):
    """What find() says of a step's program on the emulator, from a cache that lives as long as the program that was built. name: what is
    asked, in words that a file's name can have; is_whole: whether what stands in the cache is an answer."""
    built = steps.program(step, "cpu").stat()
    cache = BUILD / "counts" / f"{step['name']}-{name}.json"
    key = [built.st_mtime_ns, built.st_size]
    kept = last_json(cache)
    if isinstance(kept, dict) and kept.get("key") == key and is_whole(kept.get("run")):
        return kept["run"]
    found = find()
    cache.parent.mkdir(parents=True, exist_ok=True)
    write_whole(cache, json.dumps({"key": key, "run": found}))
    return found


def counted(step, variant, *arguments):
    """The emulator's counts at the default shape, as far as no arguments say otherwise, from the cache."""
    return cached(step, f"{variant}{''.join(arguments)}", lambda: case(step, variant, "cpu", arguments=arguments), is_run)


def launched(step, variant, head_dim):
    """Of the kernels that a variant of attention launches at a head dimension the one whose blocks ask for most shared memory, as the
    emulator saw it; "shared" is the sum of static and dynamic. None where the program refuses that head dimension."""
    done = counted(step, variant, "--heads", "1", "--seqlen", "1", "--head-dim", str(head_dim))
    if done["status"] == USAGE:
        return None
    if done["status"]:
        stop(f"{step['name']} {variant} ended with status {done['status']}:\n{done['output']}", 1)
    kernels = [kernel | {"shared": kernel["shared_static"] + kernel["shared_dynamic"]} for kernel in done["profile"]["kernels"]]
    return max(kernels, key=lambda kernel: kernel["shared"])


def total(profile):
    """The counters of all kernels together."""
    sums = {}
    for kernel in profile["kernels"]:
        for name, count in kernel["total"].items():
            sums[name] = sums.get(name, 0) + count
    return sums


def sectors_per_request(counts):
    """Loads and stores of global memory: 32-byte sectors that a warp's request touched, on average."""
    requests = counts["global_ld_requests"] + counts["global_st_requests"]
    return (counts["global_ld_sectors"] + counts["global_st_sectors"]) / requests if requests else None


def size_words(size):
    """64 KiB, 1 GiB, 400012 bytes."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size % 1024 or unit == "GiB":
            return f"{size} {unit}"
        size //= 1024


def attention_words(shape):
    """B8 H32/8 N2048 D64 causal, of 32 heads that share 8 of K and V; B1 H8 D64, 512 queries, 8192 keys."""
    grouped = f"/{shape['kv_heads']}" if shape["kv_heads"] != shape["heads"] else ""
    queries, keys = shape["seqlen"], shape.get("kv_seqlen") or shape["seqlen"]
    words = [f"B{shape['batch']}", f"H{shape['heads']}{grouped}", *[f"N{queries}"] * (queries == keys), f"D{shape['head_dim']}",
             *["causal"] * shape["causal"]]
    lengths = [f"{queries} {'query' if queries == 1 else 'queries'}", f"{keys} {'key' if keys == 1 else 'keys'}"] if queries != keys else []
    return ", ".join([" ".join(words), *lengths])


POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def shape_words(shape):
    """4096³ for a cube, 64 KiB for a size, n 2²⁸, B1 H8 N8192 D64 for attention, else m 100, n 200, k 300."""
    if "seqlen" in shape:
        return attention_words(shape)
    if list(shape) == ["bytes"]:
        return size_words(shape["bytes"])
    if list(shape) == ["n"] and shape["n"] >= 1 << 16 and shape["n"] & (shape["n"] - 1) == 0:
        return f"n 2{str(shape['n'].bit_length() - 1).translate(POWERS)}"
    sizes = list(shape.values())
    if len(sizes) == 3 and len(set(sizes)) == 1:
        return f"{sizes[0]}³"
    return ", ".join(f"{name} {size}" for name, size in shape.items())
