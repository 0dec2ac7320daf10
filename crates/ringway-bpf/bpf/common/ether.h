/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of Ethernet and IP headers. */
#pragma once

#define ETH_HLEN 14
#define ADDRESS_BITS 0xffffffffffffULL /* of an address of a station in a word */
#define TAG_HLEN 18 /* of an Ethernet header with a tag */
#define TYPE_VLAN 0x8100
#define TYPE_IP 0x0800
#define TYPE_IP6 0x86dd
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_DCCP 33
#define PROTO_SCTP 132
#define FRAGMENT 0x3fff /* more fragments, or behind the first one */
