// Turns round what a port receives, with the addresses exchanged: echo PORT [FRAMES]. C++ closes the port by itself.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>

#include <ringway.h>

namespace {

struct Close {
	void operator()(rw_port *port) const { rw_close(port); }
};
using Port = std::unique_ptr<rw_port, Close>;

int check(int result)
{
	if (result < 0)
		throw std::runtime_error(rw_error());
	return result;
}

Port open(const char *name, const rw_options &options)
{
	rw_port *port = nullptr;
	check(rw_open(name, &options, &port));
	return Port(port);
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc < 2)
		throw std::runtime_error("which port?");
	const std::uint64_t max = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : UINT64_MAX;
	rw_options options = RW_OPTIONS_INIT;
	options.slots = 512;
	const Port port = open(argv[1], options);
	rw_ring *rx = rw_rx(port.get(), 0), *tx = rw_tx(port.get(), 0);
	std::uint64_t turned = 0;
	while (turned < max) {
		check(rw_wait(&rx, 1, 100));
		for (rw_frame frame; turned < max && rw_avail(tx) > 0 && rw_rx_next(rx, &frame); turned++) {
			if (frame.len >= 12)
				std::swap_ranges(frame.data, frame.data + 6, frame.data + 6);
			check(rw_tx_move(tx, rx, &frame));
		}
		check(rw_sync(tx));
	}
	std::cout << turned << " frames turned round\n";
	return 0;
} catch (const std::exception &error) {
	std::cerr << "echo: " << error.what() << '\n';
	return 1;
}
