/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that others write, read and written once. */
#pragma once

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
