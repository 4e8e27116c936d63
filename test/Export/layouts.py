"""Exports plans to the targets that are told degrees, and reads their files back by rules of the target's own."""

import argparse
import csv
import json
import types

from plans import LAYOUTS, check_targets, expect, other_plans, plan_of

def degrees(layout):
    found = dict(dp="1", tp="1", cp="1", ep="1", pp="1", zero="0", sp="1", chunks="1", mb="1")
    found.update(word.split("=", 1) for word in layout.split(",") if "=" in word)
    return found


def replicas(wanted):
    """Ranks of dp that hold the same parts of what ZeRO cuts."""
    ranks = int(wanted["dp"]) * int(wanted["cp"])
    return ranks // int(wanted.get("shard", ranks)) if wanted["zero"] != "0" else int(wanted["dp"])


def only(document):
    (text,) = document["files"].values()
    return text


def read_megatron(name, _, document):
    """The arguments as Megatron's parser has them: names, types and choices."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    for flag in ("tensor-model-parallel-size", "context-parallel-size", "expert-model-parallel-size", "expert-tensor-parallel-size", "num-layers", "micro-batch-size",
                 "pipeline-model-parallel-size", "num-layers-per-virtual-pipeline-stage", "global-batch-size", "recompute-num-layers",
                 "num-distributed-optimizer-instances"):
        parser.add_argument("--" + flag, type=int, default=1)
    parser.add_argument("--pipeline-model-parallel-layout")
    parser.add_argument("--cp-comm-type", choices=["p2p", "a2a", "all_gather", "a2a+p2p"])
    parser.add_argument("--optimizer", choices=["adam", "sgd"])
    parser.add_argument("--data-parallel-sharding-strategy", default="no_shard", choices=["no_shard", "optim", "optim_grads", "optim_grads_params"])
    parser.add_argument("--recompute-granularity", choices=["full", "selective"])
    parser.add_argument("--recompute-method", choices=["uniform", "block"])
    parser.add_argument("--recompute-modules", choices=["core_attn", "layernorm", "mlp"])
    for flag, usual in (("weight-decay", 0.01), ("adam-beta1", 0.9), ("adam-beta2", 0.999), ("adam-eps", 1e-8), ("sgd-momentum", 0.9), ("clip-grad", 1.0)):
        parser.add_argument("--" + flag, type=float, default=usual)
    parser.add_argument("--ckpt-format", choices=["torch_dist", "fsdp_dtensor"], default="torch_dist")
    for flag in ("sequence-parallel", "use-distributed-optimizer", "use-megatron-fsdp", "bf16", "fp16", "untie-embeddings-and-output-weights",
                 "accumulate-allreduce-grads-in-fp32", "overlap-grad-reduce", "overlap-param-gather", "no-gradient-accumulation-fusion"):
        parser.add_argument("--" + flag, action="store_true")
    args = parser.parse_args(only(document).split())
    wanted = degrees(LAYOUTS[name][1])
    expect(name, "tp", args.tensor_model_parallel_size, int(wanted["tp"]))
    expect(name, "cp", args.context_parallel_size, int(wanted["cp"]))
    expect(name, "ep", args.expert_model_parallel_size, int(wanted["ep"]))
    expect(name, "whole experts", "--expert-tensor-parallel-size" in only(document), "etp" in wanted)
    expect(name, "pp", args.pipeline_model_parallel_size, int(wanted["pp"]))
    expect(name, "mb", args.micro_batch_size, int(wanted["mb"]))
    expect(name, "layers", args.num_layers, 2)
    zero = 1 if args.use_distributed_optimizer and not args.use_megatron_fsdp else {"no_shard": 0, "optim_grads": 2, "optim_grads_params": 3}[args.data_parallel_sharding_strategy]
    expect(name, "zero", zero, int(wanted["zero"]))
    expect(name, "instances", args.num_distributed_optimizer_instances, replicas(wanted) if zero else 1)
    expect(name, "clip", args.clip_grad, 0.0)
    if args.use_megatron_fsdp:  # what Megatron asserts of it
        assert args.ckpt_format == "fsdp_dtensor" and args.no_gradient_accumulation_fusion and args.use_distributed_optimizer
    expect(name, "recompute", args.recompute_granularity, wanted.get("recompute"))
    if name == "copies":
        assert "is cut into 3 copies that run in turn" in document["unsaid"][0]
    else:
        expect(name, "unsaid", [text for text in document["unsaid"] if "schedule zb-h1" not in text], [])
    if name == "split":
        assert any("schedule zb-h1: Megatron runs 1f1b" in text for text in document["unsaid"])


def read_schedule(name, text, workers, micro_batches):
    """A row a worker, a cell a unit of time; actions in an order in which each has what it needs before its column."""
    rows = list(csv.reader(text.splitlines()))
    expect(name, "rows", len(rows), workers)
    column = {cell: at for row in rows for at, cell in enumerate(row) if cell}
    expect(name, "actions", len(column), sum(1 for row in rows for cell in row if cell))
    last = max(int(cell[0]) for cell in column)
    for stage in range(last + 1):
        for micro in range(micro_batches):
            forward = column[f"{stage}F{micro}"]
            backward = column.get(f"{stage}B{micro}", column.get(f"{stage}I{micro}"))
            assert forward < backward
            if stage > 0:
                assert column[f"{stage - 1}F{micro}"] < forward
                assert backward < column.get(f"{stage - 1}B{micro}", column.get(f"{stage - 1}I{micro}"))
            if f"{stage}I{micro}" in column:
                assert backward < column[f"{stage}W{micro}"]


def read_torchtitan(name, _, document):
    """The function is called with a configuration, whose fields are read."""
    scope = {}
    exec(document["files"]["torchtitan_config.py"], scope)
    config = types.SimpleNamespace(parallelism=types.SimpleNamespace(), training=types.SimpleNamespace())
    assert scope["apply"](config) is config
    fields, wanted = config.parallelism, degrees(LAYOUTS[name][1])
    expect(name, "dp", fields.data_parallel_replicate_degree * fields.data_parallel_shard_degree, int(wanted["dp"]))
    expect(name, "replicas", fields.data_parallel_replicate_degree, replicas(wanted))
    expect(name, "tp", fields.tensor_parallel_degree, int(wanted["tp"]))
    expect(name, "cp", fields.context_parallel_degree, int(wanted["cp"]))
    expect(name, "ep", fields.expert_parallel_degree, int(wanted["ep"]))
    expect(name, "pp", fields.pipeline_parallel_degree, int(wanted["pp"]))
    expect(name, "recompute", scope["ACTIVATION_CHECKPOINT"], wanted.get("recompute", "none"))
    tokens = 7 if LAYOUTS[name][0] == "moe" else 5
    expect(name, "tokens", config.training.num_tokens_per_microbatch_per_dp_rank, tokens * int(wanted["mb"]))
    if wanted["pp"] == "1":
        return
    parts = fields.module_fqns_per_model_part
    expect(name, "parts", len(parts), int(wanted["pp"]))
    assert "h.0" in parts[0] and "h.1" in parts[1] or "layers.0" in parts[0] and "layers.1" in parts[1], parts
    expect(name, "schedule", fields.pipeline_parallel_schedule_csv, "schedule.csv")
    read_schedule(name, document["files"]["schedule.csv"], int(wanted["pp"]), fields.num_pp_microbatches)
    assert ("0W0" in document["files"]["schedule.csv"]) == (name == "split")


def read_deepspeed(name, _, document):
    """The JSON, with DeepSpeed's own rule: the batch is that of a rank times the accumulation times the ranks of dp."""
    config, wanted = json.loads(only(document)), degrees(LAYOUTS[name][1])
    expect(name, "batch", config["train_batch_size"],
           config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"] * int(wanted["dp"]))
    expect(name, "zero", config["zero_optimization"]["stage"], int(wanted["zero"]))
    expect(name, "group", config["zero_optimization"].get("mics_shard_size"), int(wanted["shard"]) if "shard" in wanted else None)
    expect(name, "tp", config.get("tensor_parallel", {}).get("autotp_size", 1), int(wanted["tp"]))


def read_huggingface(name, _, document):
    """ParallelismConfig's own rule: the sizes multiply to the ranks. Styles of a tp_plan: columns, then rows."""
    config, wanted = json.loads(only(document)), degrees(LAYOUTS[name][1])
    sizes = config["parallelism_config"]
    expect(name, "ranks", sizes["dp_replicate_size"] * sizes["dp_shard_size"] * sizes["tp_size"] * sizes["cp_size"],
           int(wanted["dp"]) * int(wanted["tp"]) * int(wanted["cp"]))
    expect(name, "replicas", sizes["dp_replicate_size"], replicas(wanted))
    expect(name, "tp_plan", bool(config["tp_plan"]), wanted["tp"] != "1")
    assert set(config["tp_plan"].values()) <= {"colwise", "rowwise"}
    arguments = config["training_arguments"]
    expect(name, "samples", arguments["per_device_train_batch_size"] * arguments["gradient_accumulation_steps"] * int(wanted["dp"]), 6)
    expect(name, "recompute", arguments["gradient_checkpointing"], wanted.get("recompute") == "full")


def read_galvatron(name, _, document):
    """Lists of one number for each layer, and stages that hold all layers."""
    config, wanted = json.loads(only(document)), degrees(LAYOUTS[name][1])
    lists = {key: [int(word) for word in config[key].split(",")] for key in ("tp_sizes_enc", "dp_types_enc", "checkpoint", "pp_division")}
    expect(name, "tp", lists["tp_sizes_enc"], [int(wanted["tp"])] * 2)
    expect(name, "layers", sum(lists["pp_division"]), 2)
    expect(name, "stages", len(lists["pp_division"]), config["pp_deg"])
    expect(name, "pp", config["pp_deg"], int(wanted["pp"]))
    expect(name, "micro-batch", config["global_bsz"] // config["chunks"] // int(wanted["dp"]), int(wanted["mb"]))
    expect(name, "ranks", config["world_size"], int(wanted["dp"]) * int(wanted["tp"]) * int(wanted["pp"]))


UNEVEN = "a micro-batch is cut unevenly over the ranks of dp"
# By target: its reader; plans that it refuses, and plans that --strict refuses, with a part of the reason.
TARGETS = {
    "megatron": (read_megatron, {"infer": "for inference", "resnet": "no repeated layers", "uneven": UNEVEN},
                 {"split": "schedule zb-h1: Megatron runs 1f1b", "copies": "3 copies that run in turn"}),
    "torchtitan": (read_torchtitan, {"infer": "for inference", "uneven": UNEVEN},
                   {"pipeline": "ZeRO 1 leaves parameters whole", "copies": "3 copies that run in turn",
                    "cut_experts": "torchtitan leaves them whole", "copied_experts": "torchtitan cuts them as it cuts the rest"}),
    "deepspeed": (read_deepspeed, {"infer": "for inference", "pipeline": "the plan has stages", "split": "the plan has stages", "sharded": "the plan has stages",
                                   "experts": "experts are spread", "whole_experts": "experts are spread", "seats": "experts are spread", "context": "sequences are cut over 5 ranks", "uneven": UNEVEN},
                  {"zero3": "the model's code says that to DeepSpeed", "copied_experts": "DeepSpeed cuts them as it cuts the rest"}),
    "hf": (read_huggingface, {"pipeline": "the plan has stages", "split": "the plan has stages", "sharded": "the plan has stages", "experts": "the plan has stages", "whole_experts": "the plan has stages",
                              "seats": "a tp_plan has no style", "copied_experts": "a tp_plan has no style",
                              "whole": "refuses DDP with TP", "copies": "refuses DDP with TP", "uneven": UNEVEN},
           {"context": "ZeRO 2 leaves parameters whole"}),
    "galvatron": (read_galvatron, {"infer": "for inference", "zero3": "powers of two alone", "context": "sequences are cut in all ops",
                                   "experts": "experts are spread", "whole_experts": "experts are spread", "seats": "experts are spread", "resnet": "no repeated layers", "uneven": UNEVEN, "groups": "powers of two alone"},
                  {"split": "schedule zb-h1: Galvatron runs 1f1b", "copies": "3 copies that run in turn", "copied_experts": "Galvatron cuts them as it cuts the rest"}),
}


if __name__ == "__main__":
    check_targets(TARGETS, {name: plan_of(name) for name in LAYOUTS}, other_plans())
