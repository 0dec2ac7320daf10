# SPDX-License-Identifier: MIT OR Apache-2.0
"""A packet socket of one interface, with the options that the program in C has: `peers/peer-socket.c`."""

import socket
import struct

ETH_P_ALL = 3
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP, PACKET_QDISC_BYPASS, PACKET_IGNORE_OUTGOING = 1, 20, 23
PACKET_MR_PROMISC = 1
BUFFER_BYTES = 16 << 20


def sender(interface):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    link.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    link.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES)
    link.bind((interface, 0))
    return link


def receiver(interface):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    link.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    link.bind((interface, ETH_P_ALL))
    promiscuous = struct.pack("iHH8s", socket.if_nametoindex(interface), PACKET_MR_PROMISC, 0, b"")
    link.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, promiscuous)
    link.settimeout(0.02)
    return link
