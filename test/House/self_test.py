"""Proves that each check of the house can fail: a small tree that is good, then one thing made bad at a time."""

import json
import subprocess
import shutil
import tempfile
import unittest
from pathlib import Path

import format as house_format
import house
import layering
import length
import mlir_free
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
    ".clang-tidy": "Checks: '-*,modernize-use-nullptr'\nWarningsAsErrors: '*'\nHeaderFilterRegex: '/lib/'\n",
    "include/apc/Cost/Cost.h": "// Costs.\n#pragma once\n\n#include \"llvm/ADT/ArrayRef.h\"\n\nint cost();\n",
    "include/apc/IR/Ops/Math/Math.td": 'def A : Apc_Op<"mat_mul", ["MatMul", "com.microsoft.FusedMatMul"]>;\n',
    "include/apc/IR/Base.td": "// Base.\n",
    "lib/Cost/Cost.cpp": "// Costs.\nint *cost() { return nullptr; }\n",
    "lib/Cost/README.md": "Costs.\n",
    "lib/Cost/CMakeLists.txt": "\n",
    "lib/IR/README.md": "Operators.\n",
    "lib/IR/CMakeLists.txt": "\n",
    "test/Cost/CostTest.cpp": "\n",
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
        self.bad(layering.check, "lib/Support/Json.cpp", "#include <nlohmann/json.hpp>\n", "Json/ alone")
        self.bad(layering.check, "lib/Search/Dp/Tables.cpp", '#include "apc/Sharding/Mesh.h"\n', "Search may not include Sharding")
        self.bad(layering.check, "lib/Search/Local.cpp", '#include "Dp/Missing.h"\n', "Dp/Missing.h")
        self.bad(layering.check, "lib/Garage/Car.cpp", "\n", "no room")
        self.put("lib/Cost/Comment.cpp", '// #include "apc/IR/Apc.h"\n#include <vector>\n')
        self.put("lib/Search/Dp/Tables.h", "\n")
        self.put("lib/Search/Fine.cpp", '#include "Dp/Tables.h"\n')
        self.put("lib/Support/Json/Reader.cpp", "#include <nlohmann/json.hpp>\n")
        self.put("lib/Report/Fine.cpp", '#include "apc/Cluster/Cluster.h"\n')
        self.put("lib/Search/One.cpp", "#include <boost/graph/max.hpp>\n")
        self.good(layering.check)
        self.put("lib/Search/Two.cpp", "#include <boost/graph/max.hpp>\n")
        self.assertIn("One.cpp, Two.cpp", "\n".join(layering.check(self.root)[0]))

    def test_layering_by_chains(self):
        """A line may be allowed where the chain that it begins is not; the chain is named from its first header on."""
        rows = {"layering.txt": "Cost | - | - | - | -\nPlan | Cost | - | - | -\nEmit | Plan | - | - | Cost\n",
                "include/apc/Plan/Plan.h": '#include "apc/Cost/Cost.h"\n', "lib/Emit/Local.h": '#include "apc/Plan/Plan.h"\n'}
        for name, text in rows.items():
            self.put(name, text)
        self.put("lib/Emit/Emit.cpp", '#include "Local.h"\n')
        for path in ("include/apc/IR", "lib/IR"):
            shutil.rmtree(self.root / path)
        violations = layering.check(self.root, self.root)[0]
        chain = "Emit may never reach Cost: Local.h -> apc/Plan/Plan.h -> apc/Cost/Cost.h"
        self.assertIn(f"lib/Emit/Emit.cpp: {chain}", violations)
        self.put("layering_today.txt", "Emit | Cost\n")
        self.assertEqual(layering.check(self.root, self.root)[0], [])

    def test_mlir_free(self):
        def built(name, source, *libraries):
            self.put(f"{name}.cpp", source)
            linked = ["-o", f"{name}.bin", f"{name}.cpp", *libraries] if "main" in source else ["-c", "-o", f"{name}.o", f"{name}.cpp"]
            subprocess.run(["g++", *linked], cwd=self.root, check=True)
            if "main" not in source:
                subprocess.run(["ar", "rc", f"lib{name}.a", f"{name}.o"], cwd=self.root, check=True)
            return self.root / (f"{name}.bin" if "main" in source else f"lib{name}.a")

        clean = built("clean", "namespace apc { int f(); int g() { return f(); } }\n")
        needs = built("needs", "namespace mlir { int verify(int); }\nint g() { return mlir::verify(1); }\n")
        program = built("program", "int main() {}\n")
        self.assertEqual(mlir_free.check([program, clean]), [])
        self.assertEqual(mlir_free.check([program, clean, needs]), ["libneeds.a: mlir::verify"])
        linked = built("linked", "namespace mlir { int verify(int) { return 0; } }\nint main() { return mlir::verify(1); }\n")
        self.assertEqual(mlir_free.check([linked, clean]), ["linked.bin: mlir::verify"])

    def test_length(self):
        body = "  int a;\n" * 81
        self.good(length.check)
        self.bad(length.check, "lib/Cost/Long.cpp", "int a;\n" * 501, "501 lines")
        self.bad(length.check, "test/Cost/long.py", "a = 1\n" * 501, "501 lines")
        self.bad(length.check, "lib/Driver/Verb.cpp", "int a;\n" * 121, "121 lines, 120 is the most")
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
        self.put("lib/IR/Ops/Math/Rules.cpp", 'f("MatMul");\n')
        self.put("lib/Cost/Comment.cpp", '// "MatMul"\nf("MatMul of two");\n')
        self.good(operator_names.check)

    def test_rooms(self):
        checked = rooms.check
        self.good(checked)
        self.put("plan.json", "{}\n")
        self.good(checked)
        self.bad(checked, "tools/plan.json", "\n", "does not belong")
        self.bad(checked, "lib/IR/README.md", "Words to read.\n" * 84, "252 words")
        self.bad(checked, "lib/IR/Ops/README.md", "Words to read.\n" * 151, "453 words")
        self.bad(checked, "lib/IR/README.md", "word" * 31 + "\n", ":1: 124 columns")
        self.put("lib/IR/README.md", f"| {'word ' * 300}|\n```\n{'word ' * 300}\n```\n")
        self.good(checked)
        for count in range(31):
            self.put(f"lib/IR/Sub/Op{count}.cpp", "\n")
        self.assertEqual(checked(self.root)[0], ["lib/IR/Sub: 31 files, 30 are the most: make sub-folders"])
        shutil.rmtree(self.root / "lib/IR/Sub")
        self.bad(checked, "include/apc/Cost.h", "\n", "headers live in rooms")
        self.bad(checked, "notes.md", "\n", "does not belong")
        self.bad(checked, "tools/x.sh", "\n", "does not belong")
        (self.root / "lib/IR/README.md").unlink()
        (self.root / "test/IR/mat_mul.mlir").unlink()
        (self.root / "LICENSE").unlink()
        found = "\n".join(checked(self.root)[0])
        for name in ("lib/IR/README.md", "test/IR:", "LICENSE"):
            self.assertIn(name, found)

    def test_words(self):
        self.good(words.check)
        for line in ("// TODO: later", 'char *p = getenv("X");', "  static int calls = 0;", "static double total;", "throw 1;",
                     "thread_local int a;", "struct CostManager {};", "// this is a stub", 'f("/root/x");',
                     "double no = std::numeric_limits<double>::infinity();", "double no = INFINITY;", "double no = 1e30;"):
            self.bad(words.check, "lib/Cost/Word.cpp", f"{line}\n", ":1:")
        self.bad(words.check, "third_party/CMakeLists.txt", "include(/work/x.cmake)\n", ":1:")
        self.put("lib/Cost/Fine.cpp", "static const int a = 1;\n  static constexpr double b = 1e9;\nstatic int f(int a) {\n"
                 "// never infinity()\nf(\"getenv\"); // 1e30 would be a large number\n}\n")
        self.good(words.check)

    def test_words_that_only_fall(self):
        def check(most, pattern=r"\bWhat\b", scope="prose", folders="lib !lib/Cost/Record"):
            return words.check(self.root, [[folders, scope, most, pattern, "a noun"]])[0]

        self.put("lib/Cost/Word.cpp", '// What is kept.\nint What = f("it. What is left");\n')
        self.put("lib/Cost/Record.cpp", "// What is recorded.\n")
        self.put("lib/Cost/word.py", '"""Words.\n\nWhat is a word."""\nWhat = 1  # What it counts\n')
        self.assertEqual(len(check("0")), 4)
        self.assertIn("lib/Cost/Word.cpp:2: 'What': a noun", check("0"))
        self.assertIn("lib/Cost/word.py:3: 'What': a noun", check("0"))
        self.assertEqual(check("4"), [])
        self.assertIn("4 of \\bWhat\\b, 3 are the most", check("3")[-1])

    def test_tidy_reads_precompiled_headers(self):
        """g++'s precompiled header is replaced by clang's own, and still a fault is found."""
        self.put("build/headers/cmake_pch.hxx", "#pragma GCC system_header\n#include <vector>\n")
        self.put("build/headers/cmake_pch.hxx.gch", "of g++, no file that clang can read")
        self.put("lib/Cost/Cost.cpp", "std::vector<int *> costs() { return {0}; }\n")
        command = f"g++ -std=c++20 -Winvalid-pch -include {self.root}/build/headers/cmake_pch.hxx -fpch-preprocess -o x.o -c"
        entry = {"directory": str(self.root), "file": str(self.root / "lib/Cost/Cost.cpp"),
                 "command": f"{command} {self.root}/lib/Cost/Cost.cpp"}
        self.put("build/compile_commands.json", json.dumps([entry]))
        violations = tidy.check(self.root, self.root / "build", ["Cost"], 1)[0]
        self.assertEqual(len(violations), 1)
        self.assertIn("use nullptr", violations[0])

    def test_tidy(self):
        entries = [{"directory": str(self.root), "file": str(self.root / f"lib/Cost/{name}.cpp"),
                    "command": f"g++ -I {self.root}/include -c {self.root}/lib/Cost/{name}.cpp"} for name in ("Cost", "Bad")]
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
        for name in ("Cost", "Bad"):  # names of files that clash when they are read together are no fault
            self.put(f"lib/Cost/{name}.cpp", "static int one() { return 1; }\nint *NAME() { return one() ? nullptr : nullptr; }\n"
                     .replace("NAME", name.lower()))
        self.assertEqual(check(self.root), ([], 2, 2))

    def test_tidy_reads_what_is_compiled_together(self):
        self.put("lib/Cost/Bad.cpp", "int *bad() { return 0; }\n")
        unity = "build/Unity/unity_0_cxx.cxx"
        self.put(unity, "".join(f'#include "{self.root}/lib/Cost/{name}.cpp"\n' for name in ("Cost", "Bad")))
        entry = {"directory": str(self.root), "file": f"{self.root}/{unity}", "command": f"g++ -o x.o -c {self.root}/{unity}"}
        self.put("build/compile_commands.json", json.dumps([entry]))
        violations, total, _ = tidy.check(self.root, self.root / "build", ["Cost"], 1)
        self.assertEqual((len(violations), total), (1, 2))
        self.assertIn("lib/Cost/Bad.cpp:1", violations[0])


if __name__ == "__main__":
    unittest.main()
