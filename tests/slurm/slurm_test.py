#!/usr/bin/env python3
"""A sweep by Slurm, and by GNU parallel, gives what one here gives: with a real slurmctld, slurmd and munged.

  slurm_test.py PROGRAM [FOLDER]

They run in namespaces of their own (network, processes), with an address that is not the loopback's, and are gone with
them. Needs root and Debian's slurmctld, slurmd, slurm-client and munge; status 77 where these are missing. Without GNU
parallel its part is left out, and said so.
"""

import os
import pathlib
import platform
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ADDRESS = "10.98.76.1"
NEEDED = ["slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo", "munged", "unshare", "ip"]
SCENARIO = """name = "small"
[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "permutation"
size = "200 KB"
"""


ROW = """
[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "permutation"
size = "100 KB"
[paper]
title = "A small row"
group = "Small"
section = "Evaluation"
[[paper.runs]]
axes = {"transport.scheme" = ["strack", "rocev2"]}
seeds = [1]
"""


def check(condition, *what):
    if not condition:
        print("FAILED:", *what)
        sys.exit(1)


def outside(arguments):
    """Namespaces, and this script once more inside."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        print("skipped:", f"there is no {', '.join(missing)}" if missing else "only root may make namespaces")
        return 77
    command = ["unshare", "--net", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child", sys.executable, __file__, "--inside",
               *arguments]
    probe = subprocess.run([*command[:7], "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        print("skipped: no namespaces here:", probe.stderr.strip())
        return 77
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL, timeout=240).returncode


def start(folder, name, *words, env=None):
    log = open(folder / f"{name}.log", "w", encoding="utf-8")
    return subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)


def start_cluster(folder):
    """One machine that is controller and node."""
    # Any device will do for an address; not all kernels have dummies.
    for command in (["ip", "link", "set", "lo", "up"], ["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"]):
        subprocess.run(command, check=True)
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o400)
    start(folder, "munged", "munged", "--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge.socket",
          f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.own.log", f"--seed-file={folder}/munged.seed")
    host = platform.node().split(".")[0]
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    conf = folder / "slurm.conf"
    conf.write_text(f"""ClusterName=test
SlurmctldHost={host}({ADDRESS})
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=10000,batch_sched_delay=0
ReturnToService=2
KillWait=5
MinJobAge=30
NodeName={host} NodeAddr={ADDRESS} CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
    os.environ["SLURM_CONF"] = str(conf)
    for _ in range(100):
        if (folder / "munge.socket").exists():
            break
        time.sleep(0.05)
    start(folder, "slurmctld", "slurmctld", "-D", "-i")
    start(folder, "slurmd", "slurmd", "-D", "-N", host)
    for _ in range(300):
        told = subprocess.run(["sinfo", "-h", "-o", "%t"], capture_output=True, text=True, check=False)
        if told.stdout.strip() == "idle":
            return
        time.sleep(0.1)
    logs = "\n".join(f"--- {name}\n{(folder / f'{name}.log').read_text()[-1500:]}" for name in ("munged", "slurmctld", "slurmd"))
    print("skipped: a Slurm of our own does not start here:", told.stdout, told.stderr, logs)
    sys.exit(77)


def sweep(program, scenario, out, *more):
    return [program, "sim", "sweep", str(scenario), "--set", "workload.size=100 KB,200 KB", "--seeds", "1-3", "--quiet", "--out",
            str(out), *more]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)


def hashes(folder, files="*.db"):
    found = {}
    for file in sorted(folder.glob(files)):
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
            found[file.name] = db.execute("select hash from run").fetchone()
            check(db.execute("select status from run").fetchone()[0] == "finished", file)
    return found


def sets_of_runs(program, folder):
    """The league and the paper, of which some short runs; who asks for a GPU is told that a batch has none."""
    league = ["league", "run", "--part", "incast", "--transports", "strack", "--seeds", "1", "--quiet", "--results"]
    paper = ["paper", "run", "--scale", "full", "--quiet", "--results"]
    (folder / "scenarios/paper").mkdir(parents=True)
    (folder / "scenarios/paper/A.toml").write_text(ROW)
    (folder / "scenarios/paper/ORDER").write_text("A\n")
    os.chdir(folder)
    for name, words in (("league", league), ("paper", paper)):
        here = run([program, *words, str(folder / f"{name}-here")])
        check(here.returncode == 0, name, here.stdout, here.stderr)
        there = run([program, *words, str(folder / f"{name}-slurm"), "--slurm"])
        check(there.returncode == 0, name, there.stdout, there.stderr)
        wanted = hashes(folder / f"{name}-here", "**/*.db")
        check(len(wanted) > 0 and hashes(folder / f"{name}-slurm", "**/*.db") == wanted, f"{name} by Slurm differs", wanted)
        check(list((folder / f"{name}-slurm/.batch").glob("task-*.sh")), f"{name} by Slurm was made here")
        refused = run([program, *words, str(folder / "refused"), "--slurm", "--engine", "gpu"])
        told = "--slurm excludes --engine" in refused.stderr or "--engine excludes --slurm" in refused.stderr
        check(refused.returncode == 2 and told, name, refused.returncode, refused.stderr)


def inside(program, folder):
    scenario = folder / "small.toml"
    scenario.write_text(SCENARIO)
    here = run(sweep(program, scenario, folder / "here"))
    check(here.returncode == 0, here.stderr)
    wanted = hashes(folder / "here")
    check(len(wanted) == 6, wanted)

    start_cluster(folder)
    there = run(sweep(program, scenario, folder / "slurm", "--slurm"))
    check(there.returncode == 0, there.stdout, there.stderr)
    check(hashes(folder / "slurm") == wanted, "a sweep by Slurm differs")
    tasks = list((folder / "slurm/.batch").glob("task-*.sh"))
    check(len(tasks) == 1, "short runs are one task", tasks)
    table = [line for line in there.stdout.splitlines() if "KB" in line]
    check(table == [line for line in here.stdout.splitlines() if "KB" in line], there.stdout, here.stdout)

    # What is there is not made again; what is missing is, in tasks of its own.
    before = {file.name: file.stat().st_mtime_ns for file in (folder / "slurm").glob("*.db")}
    gone = sorted(before)[:2]
    for name in gone:
        (folder / "slurm" / name).unlink()
    again = run(sweep(program, scenario, folder / "slurm", "--slurm", "--task-minutes", "0.0001"))
    check(again.returncode == 0, again.stdout, again.stderr)
    check(hashes(folder / "slurm") == wanted, "resumed")
    check(len(list((folder / "slurm/.batch").glob("task-*.sh"))) == 2, "two were missing")
    kept = [name for name in before if (folder / "slurm" / name).stat().st_mtime_ns == before[name]]
    check(sorted(kept + gone) == sorted(before), kept)

    # Ctrl-C takes the job back; the same command goes on.
    command = [program, "sim", "sweep", str(scenario), "--set", "workload.size=4 GB", "--set", "topology.hosts=64", "--seeds", "1-4",
               "--quiet", "--out", str(folder / "stopped"), "--slurm", "--task-minutes", "0.0001"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    for _ in range(300):
        if run(["squeue", "-h", "-t", "running"]).stdout.strip():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)
    check(process.returncode == 130, process.returncode, said)
    check(run(["squeue", "-h"]).stdout.strip() == "", "the job is gone")

    sets_of_runs(program, folder)

    # Slurm's own words, once.
    os.environ["SBATCH_PARTITION"] = "none"
    refused = run(sweep(program, scenario, folder / "refused", "--slurm"))
    check(refused.returncode == 1 and refused.stderr.count("sbatch says") == 1, refused.stdout, refused.stderr)
    del os.environ["SBATCH_PARTITION"]

    if shutil.which("parallel"):
        by_parallel = run(sweep(program, scenario, folder / "parallel", "--ssh", ":"))
        check(by_parallel.returncode == 0, by_parallel.stdout, by_parallel.stderr)
        check(hashes(folder / "parallel") == wanted, "a sweep by GNU parallel differs")
    else:
        print("left out: there is no GNU parallel here")
    print("slurm_test: passed")
    return 0


def main():
    if sys.argv[1] != "--inside":
        return outside([os.path.abspath(sys.argv[1])])
    with tempfile.TemporaryDirectory(prefix="strack_slurm_", ignore_cleanup_errors=True) as folder:
        return inside(sys.argv[2], pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
