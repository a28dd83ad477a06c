#!/usr/bin/env python3
"""A changelog in Debian's own form: changelog.py VERSION MAINTAINER FILE.gz

Its time is SOURCE_DATE_EPOCH, so that two builds are the same bytes; what changed is in CHANGELOG.md, for people.
"""

import email.utils
import gzip
import os
import pathlib
import sys

version, maintainer, file = sys.argv[1:]
when = email.utils.formatdate(int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
text = f"""strack ({version}) unstable; urgency=medium

  * What changed is in /usr/share/doc/strack/CHANGELOG.md, by its effect.

 -- {maintainer}  {when.replace("-0000", "+0000")}
"""
pathlib.Path(file).parent.mkdir(parents=True, exist_ok=True)
pathlib.Path(file).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
