// SPDX-License-Identifier: MIT OR Apache-2.0
// A module that looks behind what it is shown.
#include "ringway_module.h"

RINGWAY_MODULE(frame)
{
	return frame->head[sizeof(*frame) + frame->port];
}
