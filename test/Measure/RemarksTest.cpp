// Words of remarks and cells: stages of ZeRO, schedules, classes, units.
#include "Rows.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("remarks say what blank cells do not") {
  Measurement row = readRows({throughputCells({{"notes", "ZeRO-1 recalled; peak in GiB; vocab 50257 is the default"},
                                               {"vocab", ""},
                                               {"memory_gb", "2"},
                                               {"use", "M"}})})
                        .front();
  CHECK(row.leftOut.empty());
  CHECK(row.layout.zero == 1);
  CHECK(row.model.vocabulary == 50257);
  CHECK(*row.memoryBytes == 2.0 * (1 << 30));
  CHECK(!row.seconds); // it is not for use as a time
}

TEST_CASE("remarks state classes with commas or without, and rounded or cut numbers state none") {
  auto classesOf = [](const std::string &notes) {
    Measurement row = readRows({throughputCells({{"vocab", ""}, {"notes", notes}})}).front();
    return row.leftOut.empty() ? row.model.vocabulary : 0;
  };
  CHECK(classesOf("vocab 50,257 padded") == 50257);
  CHECK(classesOf("Vocab 51200, micro-batch 2") == 51200);
  CHECK(classesOf("vocab 1,000,000.") == 1000000);
  CHECK(classesOf("vocab 100k or so; vocab 50257") == 50257);
  for (const char *notes : {"vocab 128k", "vocab 50 257", "vocab 50.257", "vocab 50,25", "vocab 1234,567", "vocab 1M"})
    CHECK(classesOf(notes) == 0);
}

TEST_CASE("remarks name schedules that have no column") {
  auto layoutOf = [](const char *notes, const char *chunks) {
    return readRows({throughputCells({{"pp", "2"}, {"dp", "1"}, {"vp", chunks}, {"notes", notes}})})[0].layout.str();
  };
  CHECK(layoutOf("1F1B from the script", "1") == "dp=1,tp=1,pp=2,sp=0,mb=2,recompute=none");
  CHECK(layoutOf("ZB-1p of the paper", "1") == "dp=1,tp=1,pp=2,sp=0,mb=2,schedule=zb-h1,recompute=none");
  CHECK(layoutOf("ZB-V of the paper", "1") == "dp=1,tp=1,pp=2,sp=0,mb=2,chunks=2,schedule=zb-v,recompute=none");
  CHECK(layoutOf("GPipe, all forward first", "1") == "dp=1,tp=1,pp=2,sp=0,mb=2,schedule=gpipe,recompute=none");
  CHECK(layoutOf("DualPipe of DeepSeek", "1") == "dp=1,tp=1,pp=2,sp=0,mb=2,chunks=2,schedule=dualpipe,recompute=none");
  CHECK(layoutOf("DualPipeV", "1") == "dp=1,tp=1,pp=2,sp=0,mb=2,chunks=2,schedule=dualpipev,recompute=none");
  auto reasonFor = [](const char *notes) { return reasonOf({{"pp", "2"}, {"dp", "1"}, {"notes", notes}}); };
  CHECK(reasonFor("ZB-2p beside 1F1B") == "several schedules are named");
  CHECK(reasonFor("GPipe beside 1F1B") == "several schedules are named");
  CHECK(reasonFor("zb-vocab") == "a schedule without bubble is named, but not which");
  CHECK(reasonFor("a zero-bubble schedule") == "a schedule without bubble is named, but not which");
}

TEST_CASE("a schedule that remarks deny is not that of the row") {
  auto scheduleOf = [](const char *notes) {
    return readRows({throughputCells({{"pp", "2"}, {"dp", "1"}, {"notes", notes}})})[0].layout.schedule;
  };
  CHECK(scheduleOf("no GPipe flush").empty());
  CHECK(scheduleOf("w/o GPipe").empty());
  CHECK(scheduleOf("1F1B (not GPipe)").empty());
  CHECK(scheduleOf("GPipe, not 1F1B") == "gpipe");
}

TEST_CASE("a schedule that a row is compared with is not its own") {
  auto rowOf = [](const char *notes) {
    return readRows({throughputCells({{"pp", "2"}, {"dp", "1"}, {"notes", notes}})})[0];
  };
  for (const char *notes :
       {"1F1B, compared with zero bubble", "1F1B; 5 % slower than ZB-1p", "vs GPipe", "1F1B vs ZB-V"}) {
    CHECK(rowOf(notes).leftOut.empty());
    CHECK(rowOf(notes).layout.schedule.empty());
  }
  CHECK(rowOf("ZB-V, compared with 1F1B").layout.schedule == "zb-v");
}

TEST_CASE("a column of schedules counts before remarks") {
  auto rowOf = [](const char *cell, const char *notes, const char *chunks = "1") {
    return readRows(
        {throughputCells({{"pp", "2"}, {"dp", "1"}, {"vp", chunks}, {"schedule", cell}, {"notes", notes}})})[0];
  };
  for (const char *notes : {"zero bubble", "beside GPipe", "a zero-bubble schedule is 5 % faster", "ZB-1p and ZB-2p"}) {
    CHECK(rowOf("1F1B", notes).leftOut.empty());
    CHECK(rowOf("1F1B", notes).layout.schedule.empty());
  }
  CHECK(rowOf("GPipe", "1F1B").layout.schedule == "gpipe");
  CHECK(rowOf("", "ZB-1p").layout.schedule == "zb-h1");
  CHECK(rowOf("interleaved 1F1B", "", "2").layout.chunks == 2);
  CHECK(rowOf("interleaved 1F1B", "").leftOut == "chunks of an interleaved schedule are not stated");
  CHECK(rowOf("zero bubble", "1F1B").leftOut == "a schedule without bubble is named, but not which");
  CHECK(rowOf("wavefront", "1F1B").leftOut == "schedule unknown: wavefront");
}

TEST_CASE("all forward passes before all backward passes are the schedule of GPipe") {
  auto scheduleOf = [](const char *notes) {
    return readRows({throughputCells({{"pp", "2"}, {"dp", "1"}, {"notes", notes}})})[0].layout.schedule;
  };
  for (const char *notes : {"AFAB", "pp_engine=afab", "all-forward-all-backward", "all forward all backward",
                            "all-forward, all-backward", "F-then-B", "FThenB", "GPipe (AFAB)"})
    CHECK(scheduleOf(notes) == "gpipe");
  CHECK(scheduleOf("1F1B instead of AFAB").empty());
}

TEST_CASE("schedules of two copies of the model are left out by their name") {
  auto reasonFor = [](const char *notes) { return reasonOf({{"pp", "2"}, {"dp", "1"}, {"notes", notes}}); };
  CHECK(reasonFor("DualPipe") == "the schedule dualpipe runs two copies of the model, and here a model has one");
  CHECK(reasonFor("Chimera") == "the schedule chimera runs two copies of the model, and here a model has one");
  CHECK(reasonFor("DualPipeV").empty());
}

TEST_CASE("rows whose states or activations leave the device are left out") {
  const std::string reason = "states or activations are moved to the host";
  for (const char *notes :
       {"optimizer states offloaded to CPU", "offload_optimizer: cpu, offload_param: none",
        "CPU activation offloading, 20 layers", "cpu_offloading_num_layers=16", "DeepSpeed; optimizer offload to CPU",
        "ZeRO-Infinity", "no parameter offload; optimizer offload", "DeepSpeedCPUAdam"})
    CHECK(reasonOf({{"notes", notes}}) == reason);
  for (const char *cell : {"ZeRO-3 offload", "3 (CPU offload)", "ZeRO-Infinity"})
    CHECK(reasonOf({{"zero_stage", cell}}) == reason);
  CHECK(reasonOf({{"recompute", "full + CPU offload"}}) == "recompute unknown: full + CPU offload");
  for (const char *notes : {"no offload", "without CPU offloading", "offload: none", "CPU offload False",
                            "offload_optimizer: none", "cpu_offloading_num_layers=0", "not offloaded",
                            "no CPU or NVMe offload", "no ZeRO-Offload", "offloading disabled", "offload = no"})
    CHECK(reasonOf({{"notes", notes}}).empty());
}

TEST_CASE("states that leave the device in what a row is compared with stay on its own") {
  for (const char *notes : {"1.3x faster than with CPU offload", "vs CPU offload", "compared with ZeRO-Offload",
                            "instead of offloading", "faster than DeepSpeed with CPU offload", "unlike ZeRO-Infinity",
                            "no need for CPU offload", "does not need CPU offload", "CPU offload was not needed",
                            "SHARP offload of all-reduce", "NIC offload", "SHARP offload, NIC offload"})
    CHECK(reasonOf({{"notes", notes}}).empty());
  for (const char *notes : {"ZeRO-1 as well as CPU offload", "than DDP, with CPU offload"})
    CHECK(reasonOf({{"notes", notes}}) == "states or activations are moved to the host");
}

TEST_CASE("a part is not nothing, though its number begins with 0") {
  for (const char *notes : {"offload_ratio=0.5", "cpu_offload_fraction: 0.25", "offload=0.05"})
    CHECK(reasonOf({{"notes", notes}}) == "states or activations are moved to the host");
  for (const char *notes : {"offload_ratio=0.0", "offload_ratio=0.", "offload=0, bf16"})
    CHECK(reasonOf({{"notes", notes}}).empty());
}

TEST_CASE("rows that train adapters alone are left out") {
  for (const char *notes : {"LoRA rank 16", "QLoRA 4-bit", "NeMo, LoRA"})
    CHECK(reasonOf({{"notes", notes}}) == "adapters alone are trained");
  for (const char *notes : {"no LoRA", "vs LoRA", "compared with LoRA", "slower than LoRA", "LoRA: off", "flora"})
    CHECK(reasonOf({{"notes", notes}}).empty());
}

TEST_CASE("the cell says which figures are for use, in letters of either case or as words") {
  auto usesOf = [](const char *use) {
    Measurement row = readRows({throughputCells({{"use", use}, {"memory_gb", "3"}})})[0];
    return std::string(row.seconds ? "T" : "") + (row.memoryBytes ? "M" : "");
  };
  for (const char *use : {"T", "t", "time", "step times"})
    CHECK(usesOf(use) == "T");
  for (const char *use : {"M", "m", "memory"})
    CHECK(usesOf(use) == "M");
  for (const char *use : {"TM", "tm", "T, M", "time and memory", ""})
    CHECK(usesOf(use) == "TM");
  CHECK(usesOf("P").empty());
  CHECK(reasonOf({{"use", "train"}}) == "use 'train' is none of T (time), M (memory) and F (outcome)");
}

TEST_CASE("remarks name the stage of ZeRO in several ways where the cell is blank") {
  auto stageOf = [](const char *notes) {
    return readRows({throughputCells({{"zero_stage", ""}, {"notes", notes}})})[0].layout.zero;
  };
  for (const char *notes : {"ZeRO-3", "ZeRO3", "ZeRO stage 3, bf16", "FSDP full shard", "PyTorch FSDP", "FULL_SHARD",
                            "fully sharded data parallel", "FSDP no prefetch", "FSDP=1", "FSDP=64 ways",
                            "ZeRO-3: no offload", "FSDP: no CPU offload"})
    CHECK(stageOf(notes) == 3);
  for (const char *notes : {"ZeRO-2-like", "FSDP SHARD_GRAD_OP"})
    CHECK(stageOf(notes) == 2);
  for (const char *notes :
       {"zero_stage=1", "distributed optimizer", "--use-distributed-optimizer", "FSDP=0, distributed optimizer"})
    CHECK(stageOf(notes) == 1);
  for (const char *notes :
       {"", "zero 4k pages", "zero 50 values", "no FSDP", "FSDP NO_SHARD", "FSDP=0", "FSDP: 0", "FSDP off",
        "FSDP: false", "FSDP: no", "FSDP=no, bf16", "HSDP=0", "no distributed optimizer", "distributed optimizer: off"})
    CHECK(stageOf(notes) == 0);
  CHECK(readRows({throughputCells({{"zero_stage", "1"}, {"notes", "FSDP"}})})[0].layout.zero == 1);
  for (const char *notes : {"faster than ZeRO-3", "vs FSDP", "not ZeRO-3", "compared with PyTorch FSDP"})
    CHECK(stageOf(notes) == 0);
  for (const char *notes : {"ZeRO-1, faster than ZeRO-3", "ZeRO-1; ZeRO-3 was slower", "2x faster than ZeRO-3; ZeRO-1"})
    CHECK(stageOf(notes) == 1);
  CHECK(reasonOf({{"notes", "ZeRO-4"}}) == "ZeRO stage unknown");
}

TEST_CASE("the cell names the stage of ZeRO in words, too") {
  auto stageOf = [](const char *cell) {
    return readRows({throughputCells({{"zero_stage", cell}, {"notes", "ZeRO-2"}})})[0].layout.zero;
  };
  for (const char *cell : {"FSDP", "stage 3", "3 (FSDP)", "3.0", "ZeRO-3", "FULL_SHARD", "Z3"})
    CHECK(stageOf(cell) == 3);
  for (const char *cell : {"SHARD_GRAD_OP", "FSDP SHARD_GRAD_OP", "z2"})
    CHECK(stageOf(cell) == 2);
  for (const char *cell : {"ZeRO-1", "distributed optimizer", "1", "Z1", "dist-opt", "distopt", "DDP + ZeRO-1"})
    CHECK(stageOf(cell) == 1);
  for (const char *cell : {"none", "no", "off", "no FSDP", "0", "DDP", "DP", "NO_SHARD", "FSDP=0"})
    CHECK(stageOf(cell) == 0);
  for (const char *cell : {"n/a", "-"}) // as if blank
    CHECK(stageOf(cell) == 2);
  CHECK(readRows({throughputCells({{"zero_stage", "many"}}), throughputCells()})[0].leftOut ==
        "zero_stage cannot be read");
  CHECK(reasonOf({{"zero_stage", "-1"}}) == "zero_stage is below 0");
}

TEST_CASE("beside a pipeline gradients are summed once a step, and parameters are whole until then") {
  auto stageOf = [](const char *cell, const char *notes) {
    return readRows({throughputCells({{"zero_stage", cell}, {"pp", "2"}, {"dp", "1"}, {"notes", notes}})})[0]
        .layout.zero;
  };
  for (const char *cell : {"1", "2", "3", "FSDP"})
    CHECK(stageOf(cell, "torchtitan") == 1);
  CHECK(stageOf("0", "torchtitan") == 0);
  CHECK(stageOf("3", "Megatron FSDP") == 3);
  CHECK(stageOf("Megatron-FSDP", "") == 3);
  for (const char *notes : {"1.1x faster than Megatron-FSDP", "no Megatron FSDP"})
    CHECK(stageOf("3", notes) == 1);
}

TEST_CASE("groups of ranks hold the same parameters where the cell or remarks say so") {
  auto layoutOf = [](Cells cells) {
    cells.insert({{"num_devices", "64"}, {"dp", "64"}, {"global_batch", "64"}, {"micro_batch", "1"}});
    const Measurement row = readRows({throughputCells(cells)})[0];
    return row.leftOut.empty() ? row.layout.str() : row.leftOut;
  };
  const std::string ofNode = "dp=64,tp=1,sp=0,zero=3,shard=8,mb=1,recompute=none";
  for (const char *notes : {"FSDP hybrid shard", "HSDP", "HYBRID_SHARD"})
    CHECK(layoutOf({{"gpus_per_node", "8"}, {"notes", notes}}) == ofNode);
  CHECK(layoutOf({{"gpus_per_node", "8"}, {"zero_stage", "HSDP"}}) == ofNode);
  CHECK(layoutOf({{"zero_stage", "3"}, {"notes", "FSDP=16 then DP=4 replicas (HSDP)"}}) ==
        "dp=64,tp=1,sp=0,zero=3,shard=16,mb=1,recompute=none");
  CHECK(layoutOf({{"zero_stage", "3"}, {"notes", "2 slice(s) x 32 chips: FSDP within a slice"}}) ==
        "dp=64,tp=1,sp=0,zero=3,shard=32,mb=1,recompute=none");
  CHECK(layoutOf({{"zero_stage", "3"}, {"notes", "FSDP=64 (HSDP)"}}) == "dp=64,tp=1,sp=0,zero=3,mb=1,recompute=none");
  CHECK(layoutOf({{"gpus_per_node", "8"}, {"zero_stage", "ZeRO-2 hybrid shard"}}) ==
        "dp=64,tp=1,sp=0,zero=2,shard=8,mb=1,recompute=none");
  CHECK(layoutOf({{"zero_stage", "3"}, {"notes", "FSDP=4 (HSDP)"}, {"ep", "8"}, {"experts/topk", "8/2"}}) ==
        "parameters are cut over a part of dp beside ep");
  for (const char *notes : {"3 slice(s) x 32 chips", "FSDP=48 (HSDP)"})
    CHECK(layoutOf({{"zero_stage", "3"}, {"notes", notes}}) ==
          "parameters are cut over a part of dp that is not stated");
}

TEST_CASE("figures of memory are in units of 2^30 bytes where a column or the remarks say so") {
  auto unitOf = [](Cells cells) {
    cells.insert({{"memory_gb", "2"}, {"use", "TM"}});
    return *readRows({throughputCells(cells)})[0].memoryBytes / 2;
  };
  CHECK(unitOf({}) == 1e9);
  CHECK(unitOf({{"notes", "10 GiB/s of storage"}}) == 1e9);
  CHECK(unitOf({{"notes", "peak 2gib"}}) == 1 << 30);
  CHECK(unitOf({{"measured_metric", "TPS/GPU | Memory(GiB)"}}) == 1 << 30);
  CHECK(unitOf({{"table_or_url", "Table 1: TPS/GPU, Memory (GiB)"}}) == 1 << 30);
  for (const char *table : {"Table 3, GB200", "tokens/s/GPU on GB300", "Table 4 (TP=8, GB=512)"})
    CHECK(unitOf({{"table_or_url", table}, {"notes", "peak in GiB"}}) == 1 << 30);
  for (const char *notes : {"activations alone 3 GiB", "in GiB elsewhere"}) {
    CHECK(unitOf({{"measured_metric", "peak memory (GB)"}, {"notes", notes}}) == 1e9);
    CHECK(unitOf({{"measured_metric", "memory, GB per GPU"}, {"notes", notes}}) == 1e9);
    CHECK(unitOf({{"table_or_url", "Table 2: memory (GB)"}, {"notes", notes}}) == 1e9);
    CHECK(unitOf({{"measured_metric", "memory on A100-80GB, 80 GB"}, {"notes", notes}}) == 1 << 30); // of the device
  }
  CHECK(unitOf({{"measured_metric", "memory (GiB)"}, {"table_or_url", "Table 2: memory (GB)"}}) == 1 << 30);
}

TEST_CASE("experts are whole where remarks say so, or where ep counts ranks of tp") {
  auto layoutOf = [](Cells cells) {
    cells.insert({{"model_family", "Mixtral"}, {"experts/topk", "8/2"}, {"tp", "2"}, {"seq_parallel", "yes"}});
    return readRows({throughputCells(cells)})[0].layout.str();
  };
  const std::string whole = layoutOf({{"dp", "8"}, {"ep", "8"}, {"notes", "etp=1"}});
  CHECK_THAT(whole, Catch::Contains("ep=8,etp=1"));
  for (const char *notes : {"ETP 1", "ep8 etp1", "expert_tensor_parallel_size: 1", "--expert-tensor-parallel-size 1"})
    CHECK(layoutOf({{"dp", "8"}, {"ep", "8"}, {"notes", notes}}) == whole);
  for (const char *notes : {"", "etp=2", "etp=10"})
    CHECK_THAT(layoutOf({{"dp", "8"}, {"ep", "8"}, {"notes", notes}}), !Catch::Contains("etp"));
  CHECK_THAT(layoutOf({{"dp", "4"}, {"ep", "8"}}), Catch::Contains("ep=8,etp=1"));
  CHECK_THAT(layoutOf({{"dp", "4"}, {"ep", "16"}}), !Catch::Contains("etp"));
}
