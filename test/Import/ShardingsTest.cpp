// Sharding specs of nodes (ONNX IR 11).
#include "ModelText.h"

using namespace apc::test;
using Catch::Contains;

namespace {

std::string spec(const std::string &tensor, const std::string &dims, const std::string &configuration = "two",
                 const std::string &devices = "device: 0 device: 1") {
  return "device_configurations { configuration_id: \"" + configuration + "\" sharding_spec { tensor_name: \"" +
         tensor + "\" " + devices + " " + dims + " } }";
}

std::string dim(int64_t axis, const std::string &parts) {
  return "sharded_dim { axis: " + std::to_string(axis) + " " + parts + " } ";
}

std::string parts(int64_t count) { return "simple_sharding { num_shards: " + std::to_string(count) + " } "; }

std::string model(const std::string &specs,
                  const std::string &more = "configuration { name: \"two\" num_devices: 2 }") {
  return serialize(node("MatMul", {"x", "w"}, {"y"}, "name: \"mm\" " + specs) + input("x", {"4", "8"}) +
                       emptyWeight("w", {"8", "6"}) + output("y"),
                   17, more);
}

} // namespace

TEST_CASE("sharding specs of nodes are reported with the tensor's place and its configuration's devices") {
  auto imported = importText(model(spec("w", dim(1, parts(2))) + spec("y", dim(-1, parts(2) + parts(3)), "two", "")));
  const auto &shardings = imported->report.shardings;
  REQUIRE(shardings.size() == 2);
  CHECK(shardings[0].node == "mm");
  CHECK(shardings[0].configuration == "two");
  CHECK(shardings[0].numDevices == 2);
  REQUIRE(shardings[0].tensors.size() == 1);
  CHECK(shardings[0].tensors[0].name == "w");
  CHECK_FALSE(shardings[0].tensors[0].isOutput);
  CHECK(shardings[0].tensors[0].index == 1);
  CHECK(shardings[0].tensors[0].ways == std::map<int64_t, int64_t>{{1, 2}});
  CHECK(shardings[1].tensors[0].isOutput);
  CHECK(shardings[1].tensors[0].ways == std::map<int64_t, int64_t>{{-1, 6}});
  CHECK(importText(model(""))->report.shardings.empty());
}

TEST_CASE("devices that hold the parts are counted, groups of them as well, and stages are reported") {
  std::string groups = "device: -1 device: -2 index_to_device_group_map { key: -1 value: 0 value: 3 } "
                       "index_to_device_group_map { key: -2 value: 1 value: 2 }";
  std::string four = "configuration { name: \"two\" num_devices: 4 }";
  auto imported = importText(model(spec("w", dim(1, parts(2)), "two", groups), four));
  CHECK(imported->report.shardings[0].tensors[0].numHolders == 4);
  CHECK(imported->report.shardings[0].tensors[0].lastHolder == 3);
  CHECK(imported->report.shardings[0].stage == 0);
  std::string staged = "device_configurations { configuration_id: \"two\" pipeline_stage: 1 sharding_spec { "
                       "tensor_name: \"w\" device: 2 device: 3 " +
                       dim(1, parts(2)) + " } }";
  imported = importText(model(staged, four));
  CHECK(imported->report.shardings[0].stage == 1);
  CHECK(imported->report.shardings[0].tensors[0].numHolders == 2);
}

TEST_CASE("sharding specs that cannot be are refused") {
  CHECK_THAT(importError(model(spec("z", dim(0, parts(2))))),
             Contains("node 'mm'") && Contains("names the tensor 'z'; one of its inputs and outputs is accepted"));
  CHECK_THAT(importError(model(spec("w", dim(0, parts(0))))), Contains("cuts dim 0 of 'w' in 0 parts; 1 to"));
  CHECK_THAT(importError(model(spec("w", dim(0, parts(2)), "three"))),
             Contains("configuration 'three', which the model does not define; it defines two"));
  CHECK_THAT(importError(model(spec("w", dim(0, parts(2))), "")), Contains("it defines none"));
  CHECK_THAT(importError(model(spec("w", dim(0, parts(4))))),
             Contains("lists 2 devices of 'w' for 4 parts; one for each part is accepted"));
  CHECK_THAT(importError(model(spec("w", dim(0, parts(2)), "two", "device: 1 device: 1"))),
             Contains("gives device 1 two parts of 'w'; one is accepted"));
  CHECK_THAT(importError(model(spec("w", dim(0, parts(2)), "two", "device: 0 device: -1"))),
             Contains("names the group -1 of devices of 'w', which its map has not"));
  CHECK_THAT(importError(model(spec("w", dim(0, parts(2)), "two", "device: 0 device: 2"))),
             Contains("gives 'w' to device 2; 0 to 1 are those of configuration 'two'"));
}
