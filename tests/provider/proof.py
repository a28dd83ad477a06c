"""What the provider's proofs share: what endpoints' counters said, and where libfabric's own tests are."""

import os
import pathlib
import re
import shutil

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "strack"
NO_FABTESTS = "no fabtests in FABTESTS/bin, PATH or ~/.cache/strack: tools/setup builds them as root, or fabtests.log there says why not"


def bytes_sent(said):
    """Of each endpoint that told of itself (FI_STRACK_STATS)."""
    return [int(number) for number in re.findall(r"datagrams and (\d+) bytes sent", said)]


def fabtests():
    """The folder of fabtests' programs: what FABTESTS says, else by PATH, else what tools/setup built; None where they are not."""
    given = os.environ.get("FABTESTS")
    folders = [f"{given}/bin"] if given else [os.environ.get("PATH", os.defpath), str(CACHE / "fabtests/bin")]
    script = next(filter(None, (shutil.which("runfabtests.sh", path=folder) for folder in folders)), None)
    return pathlib.Path(script).parent if script else None
