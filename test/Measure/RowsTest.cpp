// Rows of step times as measurements, the reasons to leave rows out, and files that are refused.
#include "Rows.h"

using namespace apc;

namespace {

std::string faultOf(llvm::StringRef text) {
  auto rows = parseMeasurements(text, "made.csv");
  return rows ? "" : takeMessage(rows.takeError()).second;
}

} // namespace

TEST_CASE("a row of step times is read") {
  Measurement row = readRows({throughputCells({{"vp", "2"},
                                               {"pp", "2"},
                                               {"dp", "1"},
                                               {"recompute", "full"},
                                               {"strategy_group", "G1"},
                                               {"memory_gb", "12.5"},
                                               {"use", "TM"}})})
                        .front();
  CHECK(row.leftOut.empty());
  CHECK(row.id == "made-1");
  CHECK(row.group == "G1");
  CHECK(row.line == 2);
  CHECK(row.layout.str() == "dp=1,tp=1,pp=2,sp=0,mb=2,chunks=2,recompute=full");
  CHECK(row.devices == 2);
  CHECK(row.globalBatch == 8);
  CHECK(row.cluster == "dgx-a100-80gb");
  CHECK(row.precision == PrecisionChoice::Bf16);
  CHECK(*row.seconds == 0.5);
  CHECK(*row.memoryBytes == 12.5e9);
  CHECK(row.memoryOf == MeasuredDevice::Fullest);
  CHECK(!row.ranOut);
  CHECK(row.model.headSize == 64);
  CHECK(!row.model.isTied); // the first stage has a table of its own, and the last
}

TEST_CASE("a table is tied where one stage has all layers") {
  CHECK(readRows({throughputCells()}).front().model.isTied);
  CHECK(!readRows({throughputCells({{"pp", "2"}, {"dp", "1"}})}).front().model.isTied);
}

TEST_CASE("a row without a use is for times and memory") {
  Measurement row = readRows({throughputCells({{"use", ""}, {"memory_gb", "3"}})}).front();
  CHECK(*row.seconds == 0.5);
  CHECK(*row.memoryBytes == 3e9);
}

TEST_CASE("yes and no have several words") {
  auto isCut = [](const char *text) {
    return readRows({throughputCells({{"seq_parallel", text}})})[0].layout.cutsSequences;
  };
  for (const char *text : {"yes", "Yes", "True", "1", "on", "Y"})
    CHECK(isCut(text));
  for (const char *text : {"no", "False", "0", "", "off", "N"})
    CHECK(!isCut(text));
  CHECK(reasonOf({{"seq_parallel", "banana"}}) == "seq_parallel 'banana' is neither yes nor no");
}

TEST_CASE("frameworks and kernels are runtimes") {
  auto runtimeOf = [](const char *family, const char *notes) {
    return readRows({throughputCells({{"model_family", family}, {"notes", notes}})})[0].runtime;
  };
  CHECK(runtimeOf("GPT (Megatron-DeepSpeed)", "") == "megatron-2021");
  CHECK(runtimeOf("LLaMA", "kernel=flash_attention2; a fork of Megatron-LM") == "megatron-flash-2");
  CHECK(runtimeOf("LLaMA", "kernel=flash_attention2 + RMS kernel") == "megatron-flash-2-norms");
  for (const char *notes : {"", "trained on Alpaca", "nemotron data"}) // the default of plans
    CHECK(runtimeOf("GPT", notes) == "torch-compiled");
  CHECK(runtimeOf("GPT", "alpa, auto-sharding") == "xla-2022");
  auto overlaps = [](const char *notes) {
    return readRows({throughputCells({{"notes", notes}, {"zero_stage", "3"}})})[0].overlaps;
  };
  CHECK(overlaps("fms-fsdp"));
  CHECK(!overlaps("alpa, auto-sharding"));
  Measurement flash = readRows({throughputCells({{"notes", "kernel=flash_attention2"}})})[0];
  CHECK(!requestOf(flash, "net.onnx").fp32Gradients); // adds up in bf16
  CHECK(requestOf(readRows({throughputCells({{"notes", "MaxText"}})})[0], "net.onnx").fp32Gradients);
  auto onJeanZay = [](const char *devices) {
    return readRows({throughputCells({{"source", "bigscience-workshop/bigscience"},
                                      {"notes", "Megatron-DeepSpeed pipeline"},
                                      {"num_devices", devices},
                                      {"dp", devices}})})[0]
        .runtime;
  };
  CHECK(onJeanZay("8") == "megatron-2021");
  CHECK(onJeanZay("320") == "megatron-2021-waiting"); // hung without
}

TEST_CASE("a row that names no framework has that of its devices") {
  auto runtimeOn = [](const char *hardware) {
    return readRows({throughputCells({{"hardware", hardware}})})[0].runtime;
  };
  CHECK(runtimeOn("NVIDIA H100 SXM") == "torch-compiled");
  CHECK(runtimeOn("TPU v5e") == "xla");
  CHECK(runtimeOn("Ascend 910B") == "mindspore");
}

TEST_CASE("PyTorch's compiler runs where a row or its framework says so") {
  auto runtimeOf = [](const char *notes) { return readRows({throughputCells({{"notes", notes}})})[0].runtime; };
  for (const char *notes : {"torchtitan, FSDP2", "torchtitan, eager (no torch.compile)", "DeepSpeed ZeRO-3",
                            "eager mode", "fms-fsdp, torch.compile: off", "compile=False", "ColossalAI"})
    CHECK(runtimeOf(notes) == "torch-eager");
  for (const char *notes : {"fms-fsdp", "DeepSpeed, compiled", "PyTorch FSDP"})
    CHECK(runtimeOf(notes) == "torch-compiled");
  CHECK(runtimeOf("torchtitan, FSDP2 + torch.compile") == "torch-compiled-layers");
  CHECK(runtimeOf("llmfoundry") == "torch-eager-2023");
}

TEST_CASE("Megatron-LM has fused attention with its core, where it is asked for, and on Hopper") {
  auto runtimeOf = [](const char *notes, const char *hardware) {
    return readRows({throughputCells({{"notes", notes}, {"hardware", hardware}})})[0].runtime;
  };
  for (const char *notes :
       {"Megatron-LM", "MegatronLM", "Megatron-LM; flash attention not used", "Megatron, no flash-attn"})
    CHECK(runtimeOf(notes, "A100-80GB") == "megatron-2023-unfused");
  for (const char *notes : {"Megatron-LM, --use-flash-attn", "Megatron-LM + FlashAttention-2", "Megatron-LM with TE",
                            "Megatron-Core", "NeMo (Megatron)", "Megatron-Bridge"})
    CHECK(runtimeOf(notes, "A100-80GB") == "megatron-2023");
  CHECK(runtimeOf("Megatron-LM", "H100 SXM") == "megatron-2023");
  CHECK(runtimeOf("Megatron-LM, unfused attention", "H100 SXM") == "megatron-2023-unfused");
  CHECK(runtimeOf("Megatron-LM, no flash attention", "H100 SXM") == "megatron-2023-unfused");
}

TEST_CASE("frameworks recompute other parts by the same word") {
  auto rowOf = [](Cells cells) {
    cells.insert({{"recompute", "selective"}, {"layers", "8"}});
    return readRows({throughputCells(cells)})[0];
  };
  CHECK(rowOf({{"notes", "Megatron-LM"}}).layout.recompute->str() == "attention");
  CHECK(rowOf({{"source", "torchtitan"}, {"notes", "selective op AC"}}).layout.recompute->str() == "full:4,norms");
  CHECK(rowOf({{"source", "torchtitan"}, {"notes", "selective layer AC"}}).layout.recompute->str() == "full:4");
  CHECK(rowOf({{"source", "torchtitan"}, {"pp", "2"}, {"dp", "1"}}).leftOut ==
        "every second product is recomputed in each of several stages");
}

TEST_CASE("families decide what sizes do not") {
  TransformerShape llama = readRows({throughputCells({{"model_family", "Llama3.1-8B"}, {"kv_heads", "2"}})})[0].model;
  CHECK(llama.activation == TransformerActivation::GatedSwish);
  CHECK(llama.positions == TransformerPositions::Rotary);
  CHECK(llama.hasRmsNorm);
  CHECK(!llama.isTied);
  CHECK(llama.keyHeads == 2);
  TransformerShape mixtral =
      readRows({throughputCells({{"model_family", "Mixtral"}, {"experts/topk", "8/2"}})})[0].model;
  CHECK(mixtral.experts == 8);
  CHECK(mixtral.chosenExperts == 2);
  CHECK(readRows({throughputCells({{"model_family", "BERT"}})})[0].model.kind == TransformerKind::Encoder);
}

TEST_CASE("frameworks bring tokens to experts by index or by one-hot products") {
  auto modelOf = [](Cells cells) {
    cells.insert({{"model_family", "Mixtral"}, {"experts/topk", "8/2"}});
    return readRows({throughputCells(cells)})[0].model;
  };
  CHECK(modelOf({{"notes", "NeMo"}}).dispatch == ExpertDispatch::ByIndex);
  CHECK(modelOf({{"notes", "DeepSpeed"}}).dispatch == ExpertDispatch::OneHot);
  CHECK(modelOf({{"source", "Alpa"}}).dispatch == ExpertDispatch::OneHot);
  CHECK(modelOf({{"notes", "NeMo"}}).routedParts == 1);
  CHECK(modelOf({{"notes", "NeMo"}, {"cp", "2"}, {"dp", "1"}}).routedParts == 2);
}

TEST_CASE("the size of a head is that of the family or of the stated parameters, else of hidden") {
  auto sizeOf = [](Cells cells) {
    cells.insert({{"layers", "32"}, {"hidden", "4096"}, {"heads", "64"}, {"kv_heads", "64"}, {"ffn", "28672"}});
    cells.insert({"vocab", "32000"});
    Measurement row = readRows({throughputCells(cells)})[0];
    CHECK(row.leftOut.empty());
    return row.model.headSize;
  };
  CHECK(sizeOf({{"model_family", "Llama"}}) == 64);
  CHECK(sizeOf({{"model_family", "MaxText default decoder"}, {"params_b", "15.7"}}) == 128);
  CHECK(sizeOf({{"model_family", "Llama"}, {"params_b", "10.7"}}) == 64); // with its tables
  CHECK(sizeOf({{"model_family", "Llama"}, {"params_b", "13.5"}}) == 64); // between that and without tables
  CHECK(sizeOf({{"model_family", "Llama"}, {"params_b", "17"}}) == 64);   // no usual size has these
  CHECK(sizeOf({{"model_family", "Llama"}, {"params_b", "16B or so"}}) == 64);
  CHECK(sizeOf({{"model_family", "Qwen3 32B"}}) == 128);
  CHECK(sizeOf({{"model_family", "Qwen2.5 32B"}}) == 64);
  CHECK(sizeOf({{"model_family", "Qwen3 32B"}, {"heads", "60"}, {"kv_heads", "6"}}) ==
        128); // hidden / heads is no size
}

TEST_CASE("models with experts state them") {
  for (const char *family : {"GShard MoE", "GPT-MoE", "Mixtral", "Mistral 8x22B", "Qwen3-MoE", "Qwen3-30B-A3B",
                             "Qwen3_235B_a22B", "Llama4 Scout"})
    CHECK(reasonOf({{"model_family", family}}) == "no experts/topk of a model with experts");
  CHECK(reasonOf({{"model_family", "GPT-MoE"}, {"experts/topk", "8/2"}}).empty());
  CHECK(reasonOf({{"model_family", "GPT 8-layer ablation"}}).empty());
}

TEST_CASE("words inside others decide no family") {
  for (const char *family : {"LLaMA (NVLink)", "GPT (hybrid parallel)", "GPT worldwide"})
    CHECK(reasonOf({{"model_family", family}}).empty());
  for (const char *family : {"GPT530B", "GPT5B", "Llama-3.1-Nemotron-Nano-8B", "Nemotron-4 340B"})
    CHECK(reasonOf({{"model_family", family}}).empty());
  for (const char *family : {"T5-11B", "FLAN-T5", "mT5-XXL"})
    CHECK(reasonOf({{"model_family", family}}) == "lengths of encoder and decoder are not stated");
  for (const std::string family :
       {"Qwen2.5-VL-7B", "Qwen3-Next", "GPT hybrid", "Nemotron-H", "Wide GPT", "Llama QLoRA", "Llama 3.2 Vision 11B",
        "Nemotron3-Nano 30B-A3B", "Nemotron Nano 9B v2", "NemotronNano-12B-v2", "Llama-3.3-Nemotron-Super-49B"})
    CHECK(reasonOf({{"model_family", family}}) == "model family unknown: " + family);
}

TEST_CASE("precisions have several names") {
  auto precisionOf = [](const char *text) { return readRows({throughputCells({{"precision", text}})})[0].precision; };
  for (const char *text : {"fp16 mixed", "float16", "half", "fp16/bf16 mixed"})
    CHECK(precisionOf(text) == PrecisionChoice::Fp16);
  for (const char *text : {"amp_bf16", "bfloat16", "half precision (bf16)"})
    CHECK(precisionOf(text) == PrecisionChoice::Bf16);
  for (const char *text : {"fp32", "float32", "TF32"})
    CHECK(precisionOf(text) == PrecisionChoice::Fp32);
}

TEST_CASE("products of f32 run in TF32 where a row says so") {
  auto rowOf = [](const char *precision, const char *notes, const char *hardware = "A100-80GB") {
    return readRows({throughputCells({{"precision", precision}, {"notes", notes}, {"hardware", hardware}})})[0];
  };
  auto runtimeOf = [&](const char *precision, const char *notes) {
    CHECK(rowOf(precision, notes).precision == PrecisionChoice::Fp32);
    return rowOf(precision, notes).runtime;
  };
  for (const char *precision : {"TF32", "fp32 (TF32)", "tf32 mixed"})
    CHECK(runtimeOf(precision, "") == "torch-compiled-tf32");
  for (const char *notes : {"TF32 on", "allow_tf32=True", "torch.backends.cuda.matmul.allow_tf32 = True"})
    CHECK(runtimeOf("fp32", notes) == "torch-compiled-tf32");
  for (const char *notes : {"", "no TF32", "allow_tf32=False", "TF32 disabled", "slower than TF32"})
    CHECK(runtimeOf("fp32", notes) == "torch-compiled");
  CHECK(runtimeOf("TF32", "torchtitan, eager") == "torch-eager-tf32");
  CHECK(runtimeOf("TF32", "llm-foundry") == "torch-eager-2023-tf32");
  CHECK(runtimeOf("TF32", "Megatron-LM") == "megatron-2023-unfused"); // has it
  CHECK(rowOf("bf16", "TF32 on").runtime == "torch-compiled");
  CHECK(rowOf("TF32", "MindSpore").leftOut == "TF32 under a runtime that is known without it");
  CHECK(rowOf("TF32", "", "V100-SXM2-32GB").leftOut == "TF32 on devices that have none");
  CHECK(rowOf("TF32", "", "AMD MI300X").overrides == std::vector<std::string>{"device.tf32_for_f32=true"});
}

TEST_CASE("rows that cannot be used have a reason") {
  CHECK(reasonOf({{"notes", "shard-largest-dimension heuristic"}}) == "a heuristic cuts the weights");
  CHECK(reasonOf({{"trust", "C"}}) == "trust C");
  CHECK(reasonOf({{"trust", ""}}) == "trust is not stated");
  CHECK(reasonOf({{"id", "mindspeed3-0001"}}) == "among the least trustworthy sources");
  CHECK(reasonOf({{"model_family", "Perceiver"}}) == "model family unknown: Perceiver");
  CHECK(reasonOf({{"model_family", "Llama3-70b finetune LoRA"}}) == "model family unknown: Llama3-70b finetune LoRA");
  CHECK(reasonOf({{"hardware", "Cray-1"}}) == "hardware without a preset: Cray-1");
  CHECK(reasonOf({{"hardware", ""}}) == "no hardware");
  CHECK(reasonOf({{"recompute", ""}}) == "recompute is not stated");
  CHECK(reasonOf({{"recompute", "some"}}) == "recompute unknown: some");
  for (const char *none : {"none", "no", "False", "off", "0"})
    CHECK(reasonOf({{"recompute", none}}).empty());
  CHECK(reasonOf({{"precision", "NVFP4"}}) == "precision of 4 bits, or integers");
  CHECK(reasonOf({{"precision", "posit"}}) == "precision unknown: posit");
  CHECK(reasonOf({{"global_batch", ""}}) == "no global_batch");
  CHECK(reasonOf({{"layers", "0"}}) == "layers is below 1");
  CHECK(reasonOf({{"zero_stage", "3"}, {"notes", "3 slice(s) x 256 chips: FSDP within a slice"}}) ==
        "parameters are cut over a part of dp that is not stated");
  CHECK(reasonOf({{"tp", "2"}}) == "degrees do not multiply to the devices");
  CHECK(reasonOf({{"global_batch", "9"}}) == "global batch is no multiple of micro-batch and dp");
  CHECK(reasonOf({{"heads", "3"}}) == "heads do not divide");
  CHECK(reasonOf({{"experts/topk", "eight"}}) == "experts are not of the form 8/2");
  CHECK(reasonOf({{"iteration_time_s", ""}}) == "no step time, memory or outcome to compare with");
  CHECK(reasonOf({{"use", "M"}, {"memory_gb", "3"}, {"notes", "ANALYTIC in the paper"}}) ==
        "memory is computed by its source");
}

TEST_CASE("numbers that no model has are a reason, not an attempt") {
  CHECK(reasonOf({{"layers", "1000000000"}}) == "layers is above 2048");
  CHECK(reasonOf({{"seq", "1e12"}}) == "seq is above 4194304");
  CHECK(reasonOf({{"kv_heads", "0"}}) == "kv_heads is below 1");
  CHECK(reasonOf({{"dp", "1e9"}}) == "dp is above 32768");
  CHECK(reasonOf({{"zero_stage", "7"}}) == "ZeRO stage unknown");
  CHECK(reasonOf({{"notes", "remat_policy=qkv_proj_offloaded"}}) == "activations are moved to the host");
  CHECK(reasonOf({{"experts/topk", "100000000/2"}}) == "experts are not of the form 8/2");
}

TEST_CASE("figures to compare with are above 0") {
  CHECK(reasonOf({{"memory_gb", "0"}, {"use", "TM"}}) == "memory_gb '0' is not above 0");
  CHECK(reasonOf({{"memory_gb", "1e308"}, {"use", "M"}}) == "memory_gb is above that of any device");
  CHECK(reasonOf({{"memory_gb", "-3"}, {"use", "M"}}) == "memory_gb '-3' is not above 0");
  CHECK(reasonOf({{"memory_gb", "0"}, {"use", "T"}}).empty()); // not for use
  CHECK(reasonOf({{"iteration_time_s", "0.0"}}) == "iteration_time_s '0.0' is not above 0");
}

TEST_CASE("dp is what other degrees leave of the devices where its cell is blank") {
  Measurement row = readRows({throughputCells({{"num_devices", "8"}, {"tp", "2"}, {"pp", "2"}, {"dp", ""}})}).front();
  CHECK(row.layout.data == 2);
  CHECK(reasonOf({{"num_devices", "9"}, {"tp", "2"}, {"dp", ""}}) == "no dp");
}

TEST_CASE("a row that ran out of memory has no time") {
  auto rowOf = [](const char *outcome) {
    return readRows({throughputCells({{"measured_metric", "FEASIBILITY"},
                                      {"measured_value", outcome},
                                      {"iteration_time_s", ""},
                                      {"use", "F"}})})
        .front();
  };
  for (const char *outcome : {"OOM Error", "OOM (-1)", "CUDA out of memory", "OOMed"}) {
    CHECK(rowOf(outcome).leftOut.empty());
    CHECK(rowOf(outcome).ranOut);
    CHECK(!rowOf(outcome).seconds);
  }
  Measurement timed =
      readRows({throughputCells({{"measured_metric", "step time"}, {"measured_value", "OOM"}})}).front();
  CHECK(timed.leftOut == "a step time of a run that ran out of memory");
  const Cells latency =
      throughputCells({{"measured_metric", "step time (s)"}, {"measured_value", "OOM"}, {"iteration_time_s", ""}});
  CHECK(readRows({latency}).front().ranOut);
  CHECK(readRows({latency}).front().leftOut.empty());
  const Cells words = {{"measured_metric", "tokens/s"}, {"measured_value", ""}, {"use", "TM"}};
  for (const char *outcome : {"OOM", "oom", "Out of memory", "OOM (-1)", "OutOfMemoryError", "out_of_memory"})
    for (const char *column : {"iteration_time_s", "memory_gb", "measured_value"}) {
      Cells cells = words;
      cells["iteration_time_s"] = "";
      cells[column] = outcome;
      const Measurement row = readRows({throughputCells(cells)}).front();
      CHECK(row.leftOut.empty());
      CHECK(row.unreadable.empty());
      CHECK(row.ranOut);
      CHECK((!row.seconds && !row.memoryBytes));
    }
  Cells peak = words;
  peak["iteration_time_s"] = "OOM", peak["memory_gb"] = "83.5"; // what it asked for
  CHECK(readRows({throughputCells(peak)}).front().ranOut);
  CHECK(!readRows({throughputCells(peak)}).front().memoryBytes);
  for (const char *outcome : {"no OOM", "ran, not out of memory", "did not run out of memory", "fits"})
    CHECK(!rowOf(outcome).ranOut);
}

TEST_CASE("files of another kind are refused") {
  CHECK(faultOf("id,device,value\n1,A100,2\n") ==
        "made.csv:1: columns of neither format of measurements: 'model_family' is needed");
  CHECK(faultOf("id,model_family,test_case,micro_batch,num_devices\n") ==
        "made.csv:1: columns of neither format of measurements: 'measured_metric' or "
        "'mem_max_before_save_bytes' is needed");
}

TEST_CASE("a row of more or fewer cells than columns is left out with its place, and the others are read") {
  std::string whole = tableOf({throughputCells(), throughputCells()});
  std::vector<Measurement> rows = valueOf(parseMeasurements(whole + "cut,short\n", "made.csv"));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].leftOut.empty());
  CHECK(rows[1].leftOut.empty());
  CHECK(rows[2].line == 4);
  CHECK(rows[2].leftOut == "more or fewer cells than columns");
  CHECK_THAT(rows[2].unreadable, Catch::StartsWith("made.csv:4: column 3: the row has 2 cells, and line 1 has "));
  std::string head = llvm::StringRef(whole).split('\n').first.str();
  CHECK_THAT(faultOf(head + "\ncut,short\n"), Catch::StartsWith("made.csv:2: column 3: the row has 2 cells") &&
                                                  Catch::EndsWith("; no row of the file can be read"));
}

TEST_CASE("text where a number belongs leaves its row out; a file of such rows is refused with their place") {
  std::vector<Measurement> rows = readRows({throughputCells(), throughputCells({{"layers", "61+1"}})});
  CHECK(rows[0].leftOut.empty());
  CHECK(rows[1].leftOut == "layers cannot be read");
  CHECK(rows[1].unreadable == "made.csv:3: column 'layers': '61+1' is no number");
  CHECK(faultOf(tableOf({testCells({{"tp", "1.5"}}), testCells({{"pp", "x"}})})) ==
        "made.csv:2: column 'tp': '1.5' is no whole number; no row of the file can be read");
}
