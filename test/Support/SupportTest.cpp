// Errors, files, hashes, tables and units.
#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/JsonText.h"
#include "apc/Support/StableHash.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("an error carries its fault and its text") {
  auto [fault, text] = takeMessage(inputError("m.onnx: axis {0} is outside [-{1}, {1})", 7, 3));
  CHECK(fault == Fault::Input);
  CHECK(text == "m.onnx: axis 7 is outside [-3, 3)");
  CHECK(takeMessage(noPlanError("none")).first == Fault::NoPlan);
  auto joined = takeMessage(llvm::joinErrors(inputError("a"), internalError("b")));
  CHECK(joined.first == Fault::Internal);
  CHECK(joined.second == "a\nb");
  auto foreign = takeMessage(llvm::createStringError("from a library"));
  CHECK(foreign.first == Fault::Internal);
  CHECK(foreign.second == "from a library");
  llvm::Error kept = llvm::joinErrors(noPlanError("a"), inputError("b"));
  CHECK(faultOf(kept) == Fault::Input);
  CHECK(takeMessage(std::move(kept)).second == "a\nb");
  llvm::Error other = llvm::createStringError("from a library");
  CHECK(faultOf(other) == Fault::Internal);
  llvm::consumeError(std::move(other));
}

TEST_CASE("broken JSON is described by what stands where the parser stopped") {
  CHECK(jsonSyntaxProblem("", 1) == "the file is empty");
  CHECK(jsonSyntaxProblem("{\"a\": 1", 8) == "the text ends before its brackets are closed");
  CHECK(jsonSyntaxProblem("{\"a\": x}", 7) == "'x' is not expected here");
  CHECK(jsonSyntaxProblem("\xff\xfe", 1) == "byte 0xff is not expected here; texts are in UTF-8");
  CHECK_THAT(jsonSyntaxProblem("\"a\nb\"", 3), Catch::Contains("byte 0xa is not expected here"));
  CHECK(lineOfOffset("a\nb\nc", 0) == 1);
  CHECK(lineOfOffset("a\nb\nc", 2) == 2);
  CHECK(lineOfOffset("a\nb\nc", 99) == 3);
}

TEST_CASE("bytes are read with binary and decimal prefixes") {
  auto read = [](llvm::StringRef text) {
    auto bytes = parseBytes(text, "--memory-limit");
    if (bytes)
      return *bytes;
    llvm::consumeError(bytes.takeError());
    return int64_t(-1);
  };
  CHECK(read("1024") == 1024);
  CHECK(read("76GiB") == 81604378624);
  CHECK(read("80GB") == 80000000000);
  CHECK(read("512 MiB") == 536870912);
  CHECK(read("1.5k") == 1500);
  for (llvm::StringRef bad : {"", "GiB", "-3", "3 apples", "1.2.3", "99999999TiB"})
    CHECK(read(bad) == -1);
  for (const char *bits : {"76Gb", "76Gbit", "8Mib"})
    CHECK(takeMessage(parseBytes(bits, "--memory-limit").takeError()).first == Fault::Input);
  auto [fault, text] = takeMessage(parseBytes("3 apples", "--memory-limit").takeError());
  CHECK(fault == Fault::Input);
  CHECK(text.find("--memory-limit") != std::string::npos);
  CHECK(text.find("76GiB") != std::string::npos);
}

TEST_CASE("Rates are read in bytes and in bits, and not guessed") {
  const std::vector<std::pair<const char *, double>> rates = {
      {"25e9", 25e9},      {"25GB/s", 25e9},  {"25GB", 25e9},           {"200Gb/s", 25e9},
      {"200Gbit/s", 25e9}, {"200Gbps", 25e9}, {"8Gib/s", 1073741824.0}, {"1000000", 1e6}};
  for (auto [text, expected] : rates) {
    INFO(text);
    llvm::Expected<double> rate = parseBytesPerSecond(text, "--rate");
    REQUIRE(bool(rate));
    CHECK(*rate == expected);
  }
  auto [fault, text] = takeMessage(parseBytesPerSecond("200gb/s", "--rate").takeError());
  CHECK(text == "--rate: '200gb/s' is not a rate; write for instance 25e9 or 25GB/s (bytes), or 200Gb/s (bits)");
}

TEST_CASE("numbers are written with units") {
  CHECK(formatBytes(81604378624.0) == "76.0 GiB");
  CHECK(formatBytes(0) == "0 B");
  CHECK(formatBytes(1023) == "1023 B");
  CHECK(formatBytes(1536) == "1.50 KiB");
  CHECK(formatSeconds(0.00123) == "1.23 ms");
  CHECK(formatSeconds(0.9999) == "1.00 s");
  CHECK(formatSeconds(12.34) == "12.3 s");
  CHECK(formatSeconds(5e-9) == "5.00 ns");
  CHECK(formatSeconds(0) == "0 s");
  CHECK(formatFlops(2.94e15) == "2.94 PFLOP");
  CHECK(formatFlops(12) == "12 FLOP");
  CHECK(formatBytesPerSecond(25e9) == "25.0 GB/s");
  CHECK(formatBytesPerSecond(3.35e12) == "3.35 TB/s");
  CHECK(formatCount(174604000000.0) == "174.6 B");
  CHECK(formatCount(25600000.0) == "25.60 M");
  CHECK(formatCount(512) == "512");
  CHECK(counted(1, "node") == "1 node");
  CHECK(counted(0, "node") == "0 nodes");
  CHECK(counted(2, "process") == "2 processes");
  CHECK(counted(2, "micro-batch") == "2 micro-batches");
  CHECK(counted(2, "strategy") == "2 strategies");
  CHECK(counted(1, "strategy") == "1 strategy");
  CHECK(counted(2, "relay") == "2 relays");
  CHECK(counted(2, "ring y") == "2 x 'ring y'"); // a level of tpu-v4
  CHECK(counted(2, "nvl72") == "2 x 'nvl72'");
  CHECK(counted(1, "ring y") == "1 ring y");
}

TEST_CASE("a table pads its columns") {
  TextTable table;
  table.addColumn("op");
  table.addColumn("bytes", TextTable::Align::Right);
  table.addRow({"MatMul", "12"});
  table.addRow({"Add"});
  std::string text;
  llvm::raw_string_ostream os(text);
  table.print(os, 1);
  CHECK(text == " op      bytes\n ------  -----\n MatMul     12\n Add\n");
}

TEST_CASE("a terminal obeys no text that is made visible") {
  CHECK(visibleText("\x1b[31mRED\a") == "\\x1b[31mRED\\x07");
  CHECK(visibleText("a\nb\tc\x7f") == "a\\x0ab\\x09c\\x7f");
  CHECK(visibleText("a\nb\x1b", /*keepsLines=*/true) == "a\nb\\x1b");
  CHECK(visibleMessage("op 'a\nb': the device's 'c\x1b'\n  - devices' \x07\n") ==
        "op 'a\\x0ab': the device's 'c\\x1b'\n  - devices' \\x07\n");
  CHECK(visibleMessage("'a\nb") == "'a\nb");
  CHECK(visibleText("caf\xc3\xa9 \xe5\xb1\x82") == "caf\xc3\xa9 \xe5\xb1\x82");
  CHECK(visibleText("\xc2\x9b"
                    "1m\xe2\x80\xae") == "\\u{9b}1m\\u{202e}"); // C1 controls, right-to-left override
  CHECK(visibleText("w\xff\xc3") == "w\\xff\\xc3");
  CHECK(isUtf8("caf\xc3\xa9"));
  CHECK_FALSE(isUtf8("w\xff"));
  TextTable table;
  table.addColumn("op");
  table.addRow({"a\nb"});
  std::string text;
  llvm::raw_string_ostream os(text);
  table.print(os);
  CHECK(text == "op\n------\na\\x0ab\n");
}

TEST_CASE("hashes depend on order and never on the run") {
  StableHash a, b, empty;
  a.add(1);
  a.add("x");
  b.add("x");
  b.add(1);
  CHECK(a.value() != b.value());
  CHECK(empty.value() == StableHash().value());
  StableHash zero, minusZero;
  zero.addDouble(0.0);
  minusZero.addDouble(-0.0);
  CHECK(zero.value() == minusZero.value());
}

TEST_CASE("files are replaced whole") {
  llvm::SmallString<128> folder;
  REQUIRE_FALSE(llvm::sys::fs::createUniqueDirectory("apc-support", folder));
  std::string path = (folder + "/deep/file.txt").str();
  REQUIRE_FALSE(static_cast<bool>(writeFileAtomically(path, "one")));
  REQUIRE_FALSE(static_cast<bool>(writeFileAtomically(path, "two")));
  auto content = readFile(path);
  REQUIRE(static_cast<bool>(content));
  CHECK(*content == "two");
  auto [fault, text] = takeMessage(readFile(folder).takeError());
  CHECK(fault == Fault::Input);
  CHECK(text.find("folder") != std::string::npos);
  CHECK(takeMessage(readFile((folder + "/absent").str()).takeError()).first == Fault::Input);
  CHECK(takeMessage(readFile("/dev/zero").takeError()).second == "/dev/zero: is a device; a file is expected");
  CHECK(takeMessage(writeFileAtomically(path + "/below-a-file", "x")).first == Fault::Input);
  // A device is no file to replace, be it full.
  CHECK_FALSE(static_cast<bool>(writeFileAtomically("/dev/null", "x")));
  CHECK(takeMessage(writeFileAtomically("/dev/full", "x")).second.find("/dev/full: cannot be written") == 0);
  CHECK_FALSE(llvm::sys::fs::is_regular_file("/dev/full"));
  CHECK_FALSE(static_cast<bool>(checkWritable((folder + "/not/yet").str())));
  CHECK_FALSE(llvm::sys::fs::exists((folder + "/not").str()));
  CHECK(takeMessage(checkWritable(path + "/below-a-file")).first == Fault::Input);
  CHECK_FALSE(llvm::sys::fs::remove_directories(folder));
  CHECK(sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
