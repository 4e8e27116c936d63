// Reading custom cluster files: what is understood, and what every mistake is answered with.
#include "../ErrorOf.h"
#include "apc/Cluster/Cluster.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

const std::string document = R"({
  "name": "pair",
  "device": {
    "name": "chip",
    "peak_flops_per_second": {"value": {"f32": 1e12, "f16": 4e12}, "source": "data sheet"},
    "peak_vector_flops_per_second": {"f32": 5e11},
    "memory_bytes": 16000000000,
    "memory_bytes_per_second": {"value": 4e11, "source": "data sheet"},
    "launch_seconds": 2e-6,
    "contraction_efficiency": [[1e6, 0.4], [1e9, 0.8]]
  },
  "levels": [
    {"name": "board", "size": 4, "bytes_per_second": 1e9, "latency_seconds": 1e-5, "shared": true},
    {"name": "chip", "size": 2, "bytes_per_second": 1e10, "latency_seconds": 1e-6, "efficiency": 0.9,
     "topology": "mesh"}
  ],
  "host": {"memory_bytes": 64000000000}
})";

std::string replaced(llvm::StringRef what, llvm::StringRef with) {
  std::string text = document;
  size_t at = text.find(what.str());
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with.str());
}

std::string documentError(const std::string &text) { return inputErrorOf(parseCluster(text, "my.json")); }

} // namespace

TEST_CASE("a cluster file is read") {
  llvm::Expected<Cluster> cluster = parseCluster(document, "my.json");
  REQUIRE(static_cast<bool>(cluster));
  CHECK(cluster->name == "pair");
  CHECK(cluster->pool.numDevices() == 8);
  CHECK(cluster->pool.device.peakFlopsPerSecond.at(NumberFormat::F16) == 4e12);
  CHECK(cluster->pool.device.memoryBytes == 16000000000);
  CHECK(cluster->pool.device.contractionEfficiency.points.size() == 2);
  CHECK(cluster->pool.device.collectiveLaunchSeconds == 2e-6);
  CHECK(cluster->pool.levels[0].shared);
  CHECK(cluster->pool.levels[0].bulkLatencySeconds == 1e-5);
  CHECK(cluster->pool.levels[1].topology == Topology::Mesh);
  CHECK(cluster->pool.levels[1].peers == 1);
  CHECK(cluster->pool.host.memoryBytes == 64000000000);
  CHECK(cluster->pool.host.storageBytes == 0);
  REQUIRE(cluster->figures.size() == 16);
  CHECK(cluster->figures[3].name == "device.memory_bytes_per_second");
  CHECK(cluster->figures[3].value == "400000000000.0");
  CHECK(cluster->figures[3].source == "data sheet");
  CHECK(cluster->figures[6].name == "level.board.size");
  CHECK(cluster->figures[6].source.empty());
}

TEST_CASE("figures out of range name file, line, key and unit") {
  CHECK(documentError(replaced("16000000000", "-1")) ==
        "my.json:7: device.memory_bytes: a whole number above 0 and at most 1.15292e+18 is expected, in bytes, not -1");
  CHECK(documentError(replaced("\"latency_seconds\": 1e-6", "\"latency_seconds\": 0")) ==
        "my.json:14: levels[1].latency_seconds: a number above 0 and at most 1 is expected, in seconds, not 0");
  CHECK(documentError(replaced("\"value\": 4e11", "\"value\": 1e300")) ==
        "my.json:8: device.memory_bytes_per_second.value: a number above 0 and at most 1e+18 is expected, in bytes per "
        "second, not 1e+300");
  CHECK(documentError(replaced("\"size\": 4", "\"size\": 2.5")) ==
        "my.json:13: levels[0].size: a whole number above 0 and at most 1048576 is expected, not 2.5");
  CHECK(documentError(replaced("\"efficiency\": 0.9", "\"efficiency\": 1.5")) ==
        "my.json:14: levels[1].efficiency: a number above 0 and at most 1 is expected, not 1.5");
  CHECK(documentError(replaced("\"f16\": 4e12", "\"f16\": \"fast\"")) ==
        "my.json:5: device.peak_flops_per_second.value.f16: a number above 0 and at most 1e+21 is expected, in "
        "floating-point operations per second, not \"fast\"");
}

TEST_CASE("numbers that overflow, NaN and broken syntax give a line") {
  CHECK(documentError(replaced("2e-6", "1e999")) == "my.json:9: a number is too large; at most 1.79e308 is accepted");
  CHECK(documentError(replaced("2e-6", "NaN")) == "my.json:9: this is not JSON: 'N' is not expected here");
  CHECK(llvm::StringRef(documentError(document.substr(0, document.find("peak_vector"))))
            .starts_with("my.json:6: this is not JSON: "));
  CHECK(documentError("") == "my.json:1: this is not JSON: the file is empty");
  CHECK(llvm::StringRef(documentError(std::string(100000, '['))).starts_with("my.json:1: brackets are nested"));
  CHECK(llvm::StringRef(documentError("\xff\xfe")).starts_with("my.json:1: this is not JSON: "));
}

TEST_CASE("unknown keys are named, with the nearest known one") {
  CHECK(documentError(replaced("memory_bytes\": 16", "memory_byte\": 16")) ==
        "my.json:7: device.memory_byte: unknown key, did you mean 'memory_bytes'? (name, peak_flops_per_second, "
        "peak_vector_flops_per_second, memory_bytes, memory_bytes_per_second, launch_seconds, "
        "graph_launch_seconds, collective_launch_seconds, workspace_bytes, contraction_efficiency, "
        "narrow_contraction_share, multiprocessors, "
        "attention_efficiency, tuned_attention_efficiency, masked_attention_share, memory_efficiency, speed_variation, "
        "overlapped_compute_share, overlapped_communication_share, tf32_for_f32, bf16_for_f32 are known)");
  CHECK(documentError(replaced("\"host\"", "\"colour\"")) ==
        "my.json:17: colour: unknown key (name, description, device, levels, host are known)");
  CHECK(llvm::StringRef(documentError(replaced("\"f16\"", "\"fp16\""))).contains("unknown key, did you mean 'f16'?"));
  CHECK(llvm::StringRef(documentError(replaced("\"source\": \"data sheet\"}", "\"origin\": \"data sheet\"}")))
            .starts_with("my.json:5: device.peak_flops_per_second.origin: unknown key"));
}

TEST_CASE("missing keys, wrong types and keys given twice are refused") {
  CHECK(documentError(replaced("\"memory_bytes\": 16000000000,", "")) ==
        "my.json:3: device: 'memory_bytes' is missing (bytes expected)");
  CHECK(documentError(replaced("{\"f32\": 5e11}", "{\"f16\": 5e11}")) ==
        "my.json:6: device.peak_vector_flops_per_second: 'f32' is missing: it stands in for the other formats");
  CHECK(documentError(replaced("\"shared\": true", "\"shared\": 1")) ==
        "my.json:13: levels[0].shared: true or false is expected, not 1");
  CHECK(documentError(replaced("\"mesh\"", "\"star\"")) ==
        "my.json:15: levels[1].topology: switch, mesh or torus is expected, not \"star\"");
  CHECK(documentError(replaced("\"name\": \"pair\"", "\"name\": \"pair\", \"name\": \"other\"")) ==
        "my.json:2: key \"name\" is given twice in one object");
  CHECK(documentError("[]") ==
        "my.json:1: document: an object with the keys name, description, device, levels, host is "
        "expected, not []");
  CHECK(documentError(replaced("\"launch_seconds\": 2e-6", "\"launch_seconds\": 2e-6, \"tf32_for_f32\": true")) ==
        "my.json:9: device.tf32_for_f32: 'peak_flops_per_second' has no 'tf32'");
  CHECK(documentError(replaced("{\"name\": \"board\", \"size\": 4", "{\"name\": \"board\", \"size\": 1048576")) ==
        "my.json:14: levels[1]: the sizes multiply to 2097152 devices; at most 1048576 are expected");
}

TEST_CASE("curves must ascend and never make more work faster") {
  CHECK(documentError(replaced("[1e9, 0.8]", "[1e5, 0.8]")) ==
        "my.json:10: device.contraction_efficiency[1]: sizes must ascend (in floating-point operations)");
  CHECK(llvm::StringRef(documentError(replaced("[1e9, 0.8]", "[2e6, 0.8]")))
            .contains("device.contraction_efficiency[1]: the fraction rises so steeply"));
  CHECK(documentError(replaced("[1e9, 0.8]", "[1e9]")) == "my.json:10: device.contraction_efficiency[1]: a pair "
                                                          "[floating-point operations, fraction] is expected, not "
                                                          "[1000000000.0]");
  CHECK(documentError(replaced("[[1e6, 0.4], [1e9, 0.8]]", "[]")) ==
        "my.json:10: device.contraction_efficiency: a list of pairs [floating-point operations, fraction] is expected, "
        "not []");
}

TEST_CASE("deep nesting is refused, not followed") {
  std::string deep = std::string(400000, '[') + std::string(400000, ']');
  CHECK(documentError(deep) == "my.json:1: brackets are nested more than 16 deep");
  CHECK(documentError(replaced("16000000000", deep)) == "my.json:7: brackets are nested more than 16 deep");
}

TEST_CASE("a cut text is an error at every length, never a crash") {
  for (size_t size = 0; size + 1 < document.size(); ++size) {
    llvm::Expected<Cluster> cluster = parseCluster(document.substr(0, size), "cut.json");
    CHECK_FALSE(static_cast<bool>(cluster));
    llvm::consumeError(cluster.takeError());
  }
}

TEST_CASE("any one byte changed is read or refused, never a crash") {
  for (size_t at = 0; at < document.size(); ++at)
    for (char c : {'"', '{', ']', '\\', '-', '9', '\0'}) {
      std::string text = document;
      text[at] = c;
      llvm::Expected<Cluster> cluster = parseCluster(text, "changed.json");
      if (!cluster)
        CHECK(llvm::StringRef(takeMessage(cluster.takeError()).second).starts_with("changed.json:"));
    }
}
