# How lit runs the text tests: .mlir and .test files below test/, with our tools and LLVM's on the PATH.
import os
import sys

import lit.formats

config.name = "apc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["House", "Fuzz", "bench", "Inputs", "Pieces"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.apc_binary_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.apc_binary_dir, "bin"), config.llvm_tools_dir, config.environment["PATH"]])
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"

# %apc and %apc-opt: our tools. %quick COMMAND and %refused CODE COMMAND: the command does
# its work, or refuses it as it should, within two seconds (test/Tools/judged.py). %encode < TEXT > MODEL: an ONNX model that is
# written as protobuf text; %decode < MODEL: that text. %models: the models of this repository. %shared: the folder beside the
# checkout with models of others, which only some machines have.
models = os.path.join(config.apc_source_dir, "models")
shared = os.path.normpath(os.path.join(config.apc_source_dir, os.pardir, "shared"))
judged = os.path.join(config.test_source_root, "Tools", "judged.py")
protoc = f"protoc -I{os.path.join(config.apc_source_dir, 'lib', 'Import', 'Onnx')}"
message = "apc.onnx.ModelProto OnnxModel.proto"
config.substitutions += [
    ("%quick", f"{sys.executable} -B {judged} 0"),
    ("%refused", f"{sys.executable} -B {judged}"),
    ("%encode", f"{protoc} --encode={message}"),
    ("%decode", f"{protoc} --decode={message}"),
    ("%python", sys.executable),
    ("%apc", os.path.join(config.apc_binary_dir, "bin", "apc")),
    ("%models", models),
    ("%shared", shared),
]
if "long" in lit_config.params:
    config.available_features.add("long")
else:
    lit_config.note("tests that need 'long' are left out: `ctest -R Lit.Long` runs them")
if os.path.isdir(os.path.join(shared, "onnx-real")):
    config.available_features.add("real-models")
else:
    lit_config.note("tests that need 'real-models' are left out: no folder ../shared beside the checkout")
