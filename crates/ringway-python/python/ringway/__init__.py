"""Packet rings and buffers mapped into the program, moved by verified eBPF.

    import ringway

    with ringway.Port("ebpf:eth0", filter="udp port 53") as port:
        for burst in port:              # ends when no frame will ever come
            print(burst.lengths)        # an array of numpy
            for frame in burst:         # memoryviews, without a copy
                print(bytes(frame[:14]).hex(" "))

`ringway.scapy` has a socket for scapy, `ringway.rfc2544` runs benchmarks of network devices.
"""

from ._native import Burst, Error, Fib4, Fib6, Filter, Port, Switch, enter_netns, switches

__all__ = ["Burst", "Error", "Fib4", "Fib6", "Filter", "Port", "Switch", "enter_netns", "switches"]
