// SPDX-License-Identifier: MIT OR Apache-2.0
// An object that has no module in it.
int something_else(int x)
{
	return x + 1;
}
