"""Views of frames: they stay good whatever a program does."""

import gc
import threading

import numpy as np
import pytest

import ringway


def numbered(count, begin=0):
    return [bytes([(begin + n) % 256]) * 60 for n in range(count)]


def test_views_are_not_copies(loop):
    loop.send(numbered(2))
    burst = loop.receive()
    assert loop.zero_copy
    first, again = (np.frombuffer(burst[0], np.uint8) for _ in range(2))
    assert first.ctypes.data == again.ctypes.data


def test_views_are_for_reading(loop):
    loop.send(numbered(1))
    view = loop.receive()[0]
    assert view.readonly and not np.frombuffer(view, np.uint8).flags.writeable
    with pytest.raises(TypeError):
        view[0] = 1


def test_views_outlive_bursts_and_ports():
    port = ringway.Port("loop:", slots=64)
    kept = []
    for begin in range(0, 200, 10):
        port.send(numbered(10, begin))
        burst = port.receive()
        kept.extend(burst)
        arrays = [np.frombuffer(view, np.uint8) for view in burst]
        burst.release()
        with pytest.raises(ValueError, match="released"):
            burst[0]
        assert arrays[3][0] == begin + 3
    port.close()
    del port, burst
    gc.collect()
    assert [bytes(view) for view in kept] == numbered(200)


def test_buffers_come_back_when_the_last_view_goes():
    with ringway.Port("loop:", hold=4) as port:
        for _ in range(3):
            port.send(numbered(4))
            burst = port.receive()
            view = burst[3]
            del burst
            port.send(numbered(1, begin=9))
            with pytest.raises(ringway.Error, match="hold") as caught:
                port.receive()
            assert caught.value.kind == "busy"
            assert bytes(view) == numbered(4)[3]
            view.release()
            assert [bytes(f) for f in port.receive()] == numbered(1, begin=9)


def test_a_small_hold_gives_small_bursts():
    with ringway.Port("loop:", hold=3) as port:
        port.send(numbered(8))
        sizes, got = [], []
        for _ in range(3):
            with port.receive() as burst:
                sizes.append(len(burst))
                got.extend(bytes(f) for f in burst)
        assert sizes == [3, 3, 2] and got == numbered(8)


def test_a_hold_of_nothing_copies():
    with ringway.Port("loop:", hold=0) as port:
        assert not port.zero_copy
        port.send(numbered(3))
        assert [bytes(f) for f in port.receive()] == numbered(3)


def test_bursts_are_sequences(loop):
    loop.send(numbered(3))
    burst = loop.receive()
    assert len(burst) == 3 and bytes(burst[-1]) == bytes(burst[2]) == numbered(3)[2]
    for index in (3, -4, 1 << 62, -(1 << 62)):
        with pytest.raises(IndexError):
            burst[index]
    assert len(list(reversed(burst))) == 3
    assert burst.array(4).tolist() == [[0] * 4, [1] * 4, [2] * 4]
    assert burst.array(70)[1].tolist() == [1] * 60 + [0] * 10
    with pytest.raises(ValueError):
        burst.array(0)


def test_classes_are_closed(loop):
    loop.send(numbered(1))
    burst = loop.receive()
    kinds = [burst[0].obj, burst, loop, ringway.Filter("ip"), ringway.Fib4(), ringway.Fib6()]
    for one in kinds:
        for other in kinds:
            if type(one) is not type(other):
                with pytest.raises(TypeError, match="layout"):
                    one.__class__ = type(other)
    with pytest.raises(TypeError):
        type(burst[0].obj)()
    with pytest.raises(TypeError):
        ringway.Burst()
    with pytest.raises(TypeError):
        type("Sub", (ringway.Burst,), {})


def test_a_view_without_its_frame_object(loop):
    loop.send(numbered(1))
    frame = loop.receive()[0].obj
    gc.collect()
    views = [memoryview(frame)[10:20] for _ in range(3)]
    del frame
    loop.close()
    gc.collect()
    assert views[2].cast("H").tolist() == [0] * 5


def test_frames_are_read_while_others_come():
    with ringway.Port("loop:", hold=64) as port:
        wrong = []

        def read(views, value):
            for _ in range(200):
                wrong.extend(v for v in views if bytes(v) != bytes([value]) * 60)

        threads = []
        for value in range(40):
            port.send(numbered(1, begin=value))
            burst = port.receive()
            threads.append(threading.Thread(target=read, args=(list(burst), value)))
            threads[-1].start()
            del burst
        for thread in threads:
            thread.join()
        assert not wrong


def test_an_object_that_changes_the_port_while_it_is_read(loop):
    class Hostile:
        def __bytes__(self):
            loop.close()
            return b"x" * 60

    with pytest.raises(ringway.Error, match="closed"):
        loop.send([Hostile(), Hostile()])
