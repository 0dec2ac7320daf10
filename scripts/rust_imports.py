"""Reads which file of a Rust crate imports from which, for check-layers. It knows `use` and paths in code, no macros.

A name that a module only passes on counts as an import from the file that defines it. Tests and fuzzing do not count.
"""
import re

TEST = r"#\[cfg\((?:all\()?(?:test|fuzzing)\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*"
ITEM = r"\b(?:fn|struct|enum|union|trait|const|static|type|mod|macro_rules!)\s+(?:mut\s+)?([A-Za-z_]\w*)"
LITERAL = r'//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|' + r"b?'(?:\\.[^']*|[^'\\])'"


def closing(text, start):
    """The place after the item at `start`: behind its semicolon, or behind the brace that ends it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(text[at], 0)
        if depth == 0 and (text[at] == ";" or text[at] == "}" and not re.match(r"\s*;", text[at + 1:at + 20])):
            return at + 1
    return len(text)


def leaves(tree):
    """The paths of the tree of a `use`, each with the name that it binds."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        path, _, name = tree.strip().partition(" as ")
        path = path.removesuffix("::self")
        return [(path, name or path.rpartition("::")[2])] if path else []
    found, depth, part = [], 0, ""
    for c in rest[:rest.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            found += [(head.strip() + path, name) for path, name in leaves(part)]
            part = ""
        else:
            part += c
    return found


class File:
    """One module's file: what it defines, binds by `use`, and says in its code."""

    def __init__(self, path, text):
        text = re.sub(LITERAL, " ", text, flags=re.S)
        text = re.sub(r"\bpub\(in [^)]*\)", "pub(super)", text)  # who may see it, not an import
        self.tests = set()
        while found := re.search(TEST, text):
            end = closing(text, found.end())
            self.tests |= set(re.findall(r"^(?:pub(?:\([^)]*\))? )?mod (\w+);", text[found.end():end]))
            text = text[:found.start()] + text[end:]
        self.path, self.uses, self.passed = path, {}, set()
        self.text = re.sub(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", self.take_use, text)
        self.defined = set(re.findall(ITEM, self.text))
        self.words = set(re.findall(r"\w+", re.sub(r"\bmod \w+\s*;", "", self.text)))

    def take_use(self, found):
        for path, name in leaves(re.sub(r"\s+", " ", found[2]).replace(":: ", "::")):
            self.uses.setdefault(path if name in "*_" else name, (path, name == "*"))
            if found[1]:
                self.passed.add(path if name in "*_" else name)
        return " "


class Crate:
    def __init__(self, folder):
        self.files = {}
        self.src = folder / "src"
        for root in ("lib.rs", "main.rs"):
            if (self.src / root).exists():
                self.read(self.src / root, ())

    def read(self, path, module):
        """Reads the file of `module` and those of the modules that it declares."""
        file = self.files[module] = File(path, path.read_text())
        folder = path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")
        for name in re.findall(r"\bmod\s+(\w+)\s*;", file.text):
            inner = [p for p in (folder / f"{name}.rs", folder / name / "mod.rs") if p.exists()]
            if inner and name not in file.tests:
                self.read(inner[0], (*module, name))

    def absolute(self, module, path):
        """The path from the crate's root; None for one of another crate."""
        first = path[0]
        if first == "crate":
            return path[1:]
        if first == "self":
            return (*module, *path[1:])
        beside = (*module[:-1], *path[1:2]) in self.files
        if first == "super" and len(path) > 1 and path[1] in self.files[module].defined and not beside:
            return (*module, *path[1:])  # out of an inline module
        if first == "super":
            return self.absolute(module[:-1], path[1:] if path[1:2] == ("super",) else ("self", *path[1:]))
        if (*module, first) in self.files:
            return (*module, *path)
        return None

    def find(self, path, seen=()):
        """The module whose file defines the item at `path`, a path from the crate's root."""
        if path is None or path in seen:
            return None
        module = ()
        while (*module, *path[len(module):len(module) + 1]) in self.files and len(module) < len(path):
            module = path[:len(module) + 1]
        rest, file = path[len(module):], self.files[module]
        if not rest or rest[0] in file.defined:
            return module
        if rest[0] in file.uses:
            target = self.absolute(module, tuple(file.uses[rest[0]][0].split("::")))
            return self.find((*target, *rest[1:]), (*seen, path)) if target is not None else None
        for target, every in file.uses.values():
            target = self.absolute(module, tuple(target.split("::")[:-1])) if every else None
            found = self.find((*target, *rest), (*seen, path)) if target else None
            if found is not None and found != target:
                return found
        return module

    def imports(self, module):
        """The modules that `module` imports from."""
        file, found = self.files[module], set()
        for name, (path, _) in file.uses.items():
            if name in file.passed and name not in file.words:
                continue
            target = self.absolute(module, tuple(path.removesuffix("::*").split("::")))
            if target is not None and target not in self.files or path.endswith("::*"):
                found.add(self.find(target))
        for path in set(re.findall(r"(?<![:\w])\w+(?:\s*::\s*\w+)+", file.text)):
            path = tuple(re.split(r"\s*::\s*", path))
            if path[0] in file.uses:
                path = (*file.uses[path[0]][0].split("::"), *path[1:])
            found.add(self.find(self.absolute(module, path)))
        return found - {None, module}

    def graph(self):
        """Each file with the files that it imports from, as paths below src."""
        name = {m: str(f.path.relative_to(self.src)) for m, f in self.files.items()}
        return {name[m]: {name[i] for i in self.imports(m)} for m in self.files}
