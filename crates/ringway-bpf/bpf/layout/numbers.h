/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Macros are not in an object, but numbers of an enumeration are. */
#pragma once

#define NUMBER(name) NUMBER_##name = name
#define NUMBER_IS(name, value) NUMBER_##name = (int)(value)
