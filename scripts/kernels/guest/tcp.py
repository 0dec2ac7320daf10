"""TCP both ways at once: `tcp.py serve ADDRESS` and `tcp.py call ADDRESS` send each other BYTES made up by a seed, and compare what came.

The lengths are those of a few hundred segments: some are lost, sent again, and merged on the way.
"""

import hashlib
import random
import socket
import sys
import threading

BYTES = 400_000
PORT = 5001


def made_up(seed):
    return random.Random(seed).randbytes(BYTES)


def main():
    role, address = sys.argv[1:3]
    if role == "serve":
        listener = socket.create_server((address, PORT))
        print("listening", flush=True)
        listener.settimeout(60)
        peer, _ = listener.accept()
        mine, theirs = made_up(1), made_up(2)
    else:
        peer = socket.create_connection((address, PORT), timeout=20)
        mine, theirs = made_up(2), made_up(1)
    peer.settimeout(20)

    def send():
        peer.sendall(mine)
        peer.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    got = bytearray()
    try:
        while piece := peer.recv(65536):
            got += piece
    except TimeoutError:
        sys.exit("%s: %d of %d bytes came" % (role, len(got), BYTES))
    sender.join(20)
    if hashlib.sha256(got).digest() != hashlib.sha256(theirs).digest():
        sys.exit("%s: %d of %d bytes came, and they differ" % (role, len(got), BYTES))
    print("%d bytes each way, equal" % BYTES)


main()
