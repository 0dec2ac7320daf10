// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Never loaded. Its types say where things lie in structures that the library knows, and what numbers stand for; clang describes
// the types of variables.
#include "layout/numbers.h"
#include "switch/fdb.h"
#include "switch/module.h"
#include "switch/send.h"

struct ctl a_ctl;
struct fdb a_fdb;
struct info a_info;
struct look a_look;
struct module_run a_module_run;
struct port_conf a_port_conf;
struct port_state a_port_state;
struct request a_request;
struct rx_state a_rx_state;
struct secrets a_secrets;
struct stages a_stages;
struct tx_state a_tx_state;
struct vlans a_vlans;
enum answer a_answer;
enum feature a_feature;
enum stage a_stage;

enum numbers {
	NUMBER(BRIDGE),
	NUMBER(HUB),
	NUMBER(CUSTOM),
	NUMBER(PORTS),
	NUMBER(FLOOD),
	NUMBER(MAX_RINGS),
	NUMBER(KERNEL_PROGRESS),
	NUMBER(PARTIAL_CHECKSUMS),
	NUMBER(PORT_EXISTS),
	NUMBER(DEAR_QUIET),
	NUMBER(TX_SIZE),
	NUMBER(STAGES_EVERY),
	NUMBER(STORM_BURST),
	NUMBER(BUCKET_BITS),
	NUMBER(REST_BITS),
	NUMBER(REST_AT),
	NUMBER(SEEN_AT),
	NUMBER(STATIC),
	NUMBER(ENTRY_BLACKHOLE),
	NUMBER(AGE_MAX),
	NUMBER(AHEAD),
	NUMBER(TURN),
	NUMBER_IS(MIX_LOW, (__u32)MIX_FACTOR),
	NUMBER_IS(MIX_HIGH, MIX_FACTOR >> 32),
} numbers;
