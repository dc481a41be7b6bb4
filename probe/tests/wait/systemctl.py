#!/usr/bin/python3
"""Stands for systemctl: starts, stops and shows units whose command is in a file, as systemd would.

units/NAME.command holds the command, one word a line; units/NAME.pid the number of its process.
"""

import os
import signal
import subprocess
import sys
import time

UNITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "units")


def read(name):
    try:
        with open(os.path.join(UNITS, name)) as file:
            return file.read()
    except FileNotFoundError:
        return None


def runs(pid):
    stat = None
    try:
        with open(f"/proc/{pid}/stat") as file:
            stat = file.read()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def restart(unit):
    old = read(f"{unit}.pid")
    if old and runs(old):
        os.kill(int(old), signal.SIGTERM)
        while runs(old):
            time.sleep(0.01)
    with open(os.path.join(UNITS, f"{unit}.log"), "ab") as log:
        process = subprocess.Popen(
            read(f"{unit}.command").splitlines(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    with open(os.path.join(UNITS, f"{unit}.pid"), "w") as file:
        file.write(str(process.pid))


def show(unit):
    pid = read(f"{unit}.pid")
    if pid and runs(pid):
        print(f"LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nMainPID={pid}")
    else:
        print("LoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\nMainPID=0")


{"restart": restart, "show": show}[sys.argv[1]](sys.argv[-1])
