/* Sizes, places and numbers of net/netmap.h, which are netmap's. Compiled as C and as C++, and not run. */
#include <net/netmap.h>
#include <stddef.h>

#ifdef __cplusplus
#define CHECK(what) static_assert(what, #what)
#else
#define CHECK(what) _Static_assert(what, #what)
#endif
#define SIZE(type, size) CHECK(sizeof(struct type) == (size))
#define AT(type, field, place) CHECK(offsetof(struct type, field) == (place))

SIZE(netmap_slot, 16);
AT(netmap_slot, len, 4);
AT(netmap_slot, flags, 6);
AT(netmap_slot, ptr, 8);
SIZE(netmap_ring, 256);
AT(netmap_ring, num_slots, 8);
AT(netmap_ring, nr_buf_size, 12);
AT(netmap_ring, ringid, 16);
AT(netmap_ring, dir, 18);
AT(netmap_ring, head, 20);
AT(netmap_ring, cur, 24);
AT(netmap_ring, tail, 28);
AT(netmap_ring, flags, 32);
AT(netmap_ring, ts, 40);
AT(netmap_ring, offset_mask, 56);
AT(netmap_ring, buf_align, 64);
AT(netmap_ring, sem, 128);
AT(netmap_ring, slot, 256);
SIZE(netmap_if, 56);
AT(netmap_if, ni_version, 16);
AT(netmap_if, ni_flags, 20);
AT(netmap_if, ni_tx_rings, 24);
AT(netmap_if, ni_rx_rings, 28);
AT(netmap_if, ni_bufs_head, 32);
AT(netmap_if, ni_host_tx_rings, 36);
AT(netmap_if, ni_host_rx_rings, 40);
AT(netmap_if, ring_ofs, 56);

SIZE(nmreq_header, 88);
AT(nmreq_header, nr_name, 8);
AT(nmreq_header, nr_options, 72);
AT(nmreq_header, nr_body, 80);
SIZE(nmreq_register, 56);
AT(nmreq_register, nr_tx_rings, 24);
AT(nmreq_register, nr_host_rx_rings, 30);
AT(nmreq_register, nr_mem_id, 32);
AT(nmreq_register, nr_ringid, 34);
AT(nmreq_register, nr_mode, 36);
AT(nmreq_register, nr_extra_bufs, 40);
AT(nmreq_register, nr_flags, 48);
SIZE(nmreq_port_info_get, 32);
AT(nmreq_port_info_get, nr_mem_id, 24);
SIZE(nmreq_vale_attach, 64);
AT(nmreq_vale_attach, port_index, 56);
SIZE(nmreq_vale_detach, 8);
SIZE(nmreq_vale_list, 8);
AT(nmreq_vale_list, nr_port_idx, 4);
SIZE(nmreq_port_hdr, 8);
SIZE(nmreq_vale_newif, 16);
SIZE(nmreq_vale_polling, 16);
SIZE(nmreq_pools_info, 64);
AT(nmreq_pools_info, nr_if_pool_offset, 16);
AT(nmreq_pools_info, nr_ring_pool_offset, 32);
AT(nmreq_pools_info, nr_buf_pool_offset, 48);
SIZE(nmreq_sync_kloop_start, 8);

SIZE(nmreq_option, 24);
AT(nmreq_option, nro_status, 12);
SIZE(nmreq_opt_extmem, 96);
AT(nmreq_opt_extmem, nro_info, 32);
SIZE(nmreq_opt_csb, 40);
SIZE(nmreq_opt_sync_kloop_mode, 32);
SIZE(nmreq_opt_offsets, 56);
AT(nmreq_opt_offsets, nro_offset_bits, 40);
AT(nmreq_opt_offsets, nro_tx_align, 44);
AT(nmreq_opt_offsets, nro_min_gap, 48);

SIZE(nmreq, 60);
AT(nmreq, nr_version, 16);
AT(nmreq, nr_tx_rings, 36);
AT(nmreq, nr_ringid, 40);
AT(nmreq, nr_cmd, 42);
AT(nmreq, nr_arg2, 46);
AT(nmreq, nr_arg3, 48);
AT(nmreq, nr_flags, 52);

CHECK(NIOCGINFO == 0xc03c6991);
CHECK(NIOCREGIF == 0xc03c6992);
CHECK(NIOCTXSYNC == 0x6994);
CHECK(NIOCRXSYNC == 0x6995);
CHECK(NIOCCONFIG == 0xc1106996);
CHECK(NIOCCTRL == 0xc0586997);
CHECK(NETMAP_REQ_CSB_ENABLE == 15 && NETMAP_REQ_POOLS_INFO_GET == 12 && NETMAP_REQ_OPT_OFFSETS == 5);
