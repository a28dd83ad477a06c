#!/usr/bin/env python3
"""One transfer by the kernel's TCP or MPTCP; transports.py runs it inside a fabric.

    kernel_flow.py receive ADDRESS PORT [--mptcp]
    kernel_flow.py send ADDRESS PORT SIZE [--mptcp] [--at SECONDS]

The sender prints JSON as 'strack perf client --json' does: seconds go from before the connection is made until the
receiver has said that it has every byte. --at is when to begin, by the monotonic clock, so that several begin at once.
"""

import argparse
import json
import os
import socket
import sys
import time

CHUNK = 1 << 18


def stream(mptcp):
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP if mptcp else socket.IPPROTO_TCP)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'cubic')
    return made


def receive(arguments):
    with stream(arguments.mptcp) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((arguments.address, arguments.port))
        listener.listen()
        connection, _ = listener.accept()
        # The listener stays open: MPTCP's further subflows arrive there.
        with connection:
            buffer = bytearray(CHUNK)
            received = 0
            while count := connection.recv_into(buffer):
                received += count
            connection.sendall(received.to_bytes(8, 'big'))


def send(arguments):
    data = memoryview(bytearray(CHUNK))
    if arguments.at:
        time.sleep(max(0, arguments.at - time.monotonic()))
    began = time.monotonic()
    with stream(arguments.mptcp) as connection:
        connection.connect((arguments.address, arguments.port))
        left = arguments.size
        while left > 0:
            left -= connection.send(data[:left])
        connection.shutdown(socket.SHUT_WR)
        answer = b''
        while len(answer) < 8 and (more := connection.recv(8 - len(answer))):
            answer += more
    seconds = time.monotonic() - began
    received = int.from_bytes(answer, 'big')
    json.dump({'seconds': seconds, 'bytes': received, 'ok': received == arguments.size,
               'cpu_seconds': sum(os.times()[:2])}, sys.stdout)


def main():
    parser = argparse.ArgumentParser(description='one transfer by the kernel')
    commands = parser.add_subparsers(dest='command', required=True)
    for name in ('receive', 'send'):
        command = commands.add_parser(name)
        command.add_argument('address')
        command.add_argument('port', type=int)
        if name == 'send':
            command.add_argument('size', type=int)
            command.add_argument('--at', type=float)
        command.add_argument('--mptcp', action='store_true')
    arguments = parser.parse_args()
    {'receive': receive, 'send': send}[arguments.command](arguments)


if __name__ == '__main__':
    main()
