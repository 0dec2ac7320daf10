"""Reads which file of the eBPF sources includes which, for check-layers, and which headers have programs in them."""
import re


def graph(folder):
    """The files that each file includes, by their names in the folder."""
    texts = {str(f.relative_to(folder)): f.read_text() for f in sorted(folder.rglob("*.[hc]"))}
    includes = {name: re.findall(r'^#include "([^"]+)"', text, flags=re.M) for name, text in texts.items()}
    return {name: {other for other in others if other in texts} for name, others in includes.items()}


def entries_in_headers(folder):
    """Headers with programs, of which the places are the files that end in .bpf.c. `SEC` of maps and variables begins with a dot."""
    programs = re.compile(r'^\s*SEC\("(?!license|\.)', flags=re.M)
    return [str(f.relative_to(folder)) for f in sorted(folder.rglob("*.h")) if programs.search(f.read_text())]
