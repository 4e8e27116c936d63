"""Proves that each check of the house can fail: a small tree that is good, then one thing made bad at a time."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

import format as house_format
import house
import layering
import length
import operator_names
import rooms
import tidy
import words

HERE = Path(__file__).resolve().parent
GOOD = {
    "README.md": "# good\n",
    "LICENSE": "free\n",
    "CMakeLists.txt": "\n",
    ".clang-format": "BasedOnStyle: LLVM\n",
    ".clang-tidy": "Checks: '-*,modernize-use-nullptr'\nWarningsAsErrors: '*'\n",
    "include/apc/Cost/Price.h": "// Prices.\n#pragma once\n\n#include \"llvm/ADT/ArrayRef.h\"\n\nint price();\n",
    "include/apc/IR/Ops/Math.td": 'def A : Apc_Op<"mat_mul", ["MatMul", "com.microsoft.FusedMatMul"]>;\n',
    "include/apc/IR/Base.td": "// Base.\n",
    "lib/Cost/Price.cpp": "// Prices.\nint *price() { return nullptr; }\n",
    "lib/Cost/README.md": "Prices.\n",
    "lib/Cost/CMakeLists.txt": "\n",
    "lib/IR/README.md": "Operators.\n",
    "lib/IR/CMakeLists.txt": "\n",
    "test/Cost/PriceTest.cpp": "\n",
    "test/IR/mat_mul.mlir": "\n",
    "tools/CMakeLists.txt": "\n",
}


class HouseTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="house-")).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in GOOD.items():
            self.put(name, text)

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def good(self, check):
        self.assertEqual(check(self.root)[0], [])

    def bad(self, check, name, text, *expected):
        """With this file in the tree the check names it, says what is expected, and says nothing else."""
        self.put(name, text)
        violations = check(self.root)[0]
        self.assertNotEqual(violations, [], f"{name} passed")
        for part in (name, *expected):
            self.assertIn(part, "\n".join(violations))
        if name in GOOD:
            self.put(name, GOOD[name])
        else:
            (self.root / name).unlink()

    def test_code_only(self):
        text = 'int a; // getenv\n/* getenv\n*/ f("getenv", \'"\', 1\'000); R"(getenv)";\nint b;'
        self.assertNotIn("getenv", house.code_only(text))
        self.assertIn("int b;", house.code_only(text).splitlines()[3])
        self.assertEqual(list(house.string_literals('#include "a"\nf("b");')), [(2, "b")])

    def test_layering(self):
        self.good(layering.check)
        self.bad(layering.check, "lib/Cost/Up.cpp", '#include "apc/IR/Apc.h"\n', "Cost may not include IR")
        self.bad(layering.check, "lib/Cost/Mlir.cpp", '#include "mlir/IR/Value.h"\n', "mlir/IR/Value.h")
        self.bad(layering.check, "lib/Cost/Llvm.cpp", '#include "llvm/IR/Module.h"\n', "llvm/IR/Module.h")
        self.bad(layering.check, "lib/Cost/Json.cpp", "#include <nlohmann/json.hpp>\n", "nlohmann/json.hpp")
        self.bad(layering.check, "lib/Search/Dp.cpp", "#include <coin/CbcModel.hpp>\n", "MipSolver.cpp alone")
        self.bad(layering.check, "lib/Garage/Car.cpp", "\n", "no room")
        self.put("lib/Cost/Comment.cpp", '// #include "apc/IR/Apc.h"\n#include <vector>\n')
        self.put("lib/Sharding/One.cpp", "#include <boost/graph/x.hpp>\n")
        self.good(layering.check)
        self.put("lib/Sharding/Two.cpp", "#include <boost/graph/x.hpp>\n")
        self.assertIn("One.cpp, Two.cpp", "\n".join(layering.check(self.root)[0]))

    def test_length(self):
        body = "  int a;\n" * 81
        self.good(length.check)
        self.bad(length.check, "lib/Cost/Long.cpp", "int a;\n" * 501, "501 lines")
        self.bad(length.check, "test/Cost/long.py", "a = 1\n" * 501, "501 lines")
        self.bad(length.check, "lib/Cost/Function.cpp", f"static int f(int a,\n             int b) {{\n{body}}}\n", ":1: static int f: 84")
        self.bad(length.check, "include/apc/Cost/C.h", f"class C {{\n  void f() {{\n{body}  }}\n}};\n", ":2: void f: 83")
        self.bad(length.check, "test/Cost/long.py", "def f():\n" + "    a = 1\n" * 80, "f: 81 lines")
        self.put("lib/Cost/Table.cpp", f"namespace apc {{\nconst int rows[] = {{\n{body}}};\n{body}}} // namespace apc\n")
        self.good(length.check)

    def test_format(self):
        self.good(house_format.check)
        self.bad(house_format.check, "lib/Cost/Ugly.cpp", "int  a ;\n", "clang-format")

    def test_operator_names(self):
        self.good(operator_names.check)
        self.bad(operator_names.check, "lib/Cost/Name.cpp", 'bool b = name == "MatMul";\n', ':1: operator name "MatMul"')
        self.bad(operator_names.check, "tools/apc/Name.cpp", 'f("FusedMatMul");\n', "FusedMatMul")
        self.put("lib/IR/Ops/Math.cpp", 'f("MatMul");\n')
        self.put("lib/Cost/Comment.cpp", '// "MatMul"\nf("MatMul of two");\n')
        self.good(operator_names.check)

    def test_rooms(self):
        self.good(rooms.check)
        self.put("plan.json", "{}\n")
        self.good(rooms.check)
        self.bad(rooms.check, "tools/plan.json", "\n", "does not belong")
        self.bad(rooms.check, "lib/Cost/README.md", "line\n" * 31, "30 lines")
        self.bad(rooms.check, "include/apc/Price.h", "\n", "headers live in rooms")
        self.bad(rooms.check, "notes.md", "\n", "does not belong")
        self.bad(rooms.check, "tools/x.sh", "\n", "does not belong")
        (self.root / "lib/IR/README.md").unlink()
        (self.root / "test/IR/mat_mul.mlir").unlink()
        (self.root / "LICENSE").unlink()
        found = "\n".join(rooms.check(self.root)[0])
        for name in ("lib/IR/README.md", "test/IR:", "LICENSE"):
            self.assertIn(name, found)

    def test_words(self):
        self.good(words.check)
        for line in ("// TODO: later", 'char *p = getenv("X");', "  static int calls = 0;", "static double total;", "throw 1;",
                     "thread_local int a;", "struct PriceManager {};", "// this is a stub", 'f("/root/x");',
                     "double no = std::numeric_limits<double>::infinity();", "double no = INFINITY;", "double no = 1e30;"):
            self.bad(words.check, "lib/Cost/Word.cpp", f"{line}\n", ":1:")
        self.bad(words.check, "third_party/CMakeLists.txt", "include(/work/x.cmake)\n", ":1:")
        self.put("lib/Cost/Fine.cpp", "static const int a = 1;\n  static constexpr double b = 1e9;\nstatic int f(int a) {\n"
                 "// never infinity()\nf(\"getenv\"); // 1e30 would be a large number\n}\n")
        self.good(words.check)

    def test_tidy(self):
        entries = [{"directory": str(self.root), "file": str(self.root / f"lib/Cost/{name}.cpp"),
                    "command": f"g++ -I {self.root}/include -c {self.root}/lib/Cost/{name}.cpp"} for name in ("Price", "Bad")]
        self.put("lib/Cost/Bad.cpp", "int *bad() { return 0; }\n")
        self.put("build/compile_commands.json", json.dumps(entries))

        def check(root):
            return tidy.check(root, root / "build", ["Cost"], 2)

        violations, total, fresh = check(self.root)
        self.assertEqual((total, fresh), (2, 2))
        self.assertIn("lib/Cost/Bad.cpp:1", violations[0])
        self.assertEqual(check(self.root)[2], 1, "the file that passed is not read again")
        self.put("lib/Cost/Bad.cpp", "int *bad() { return nullptr; }\n")
        self.assertEqual(check(self.root), ([], 2, 1))
        self.assertEqual(check(self.root), ([], 2, 0))


if __name__ == "__main__":
    unittest.main()
