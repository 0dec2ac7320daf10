// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Never loaded: its types tell the build where things lie in structures that the library knows. Clang describes the types of variables.
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
struct tx_state a_tx_state;
struct vlans a_vlans;
