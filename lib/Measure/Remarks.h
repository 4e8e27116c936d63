// Words of remarks and cells, as whoever collects measurements writes them.
#pragma once

#include "Words.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace apc {

/// The number in a group of the first match of a pattern in `text`.
std::optional<int64_t> numberIn(llvm::StringRef text, const Pattern &pattern, size_t group = 1);

bool hasWords(llvm::StringRef text, const Words &words);

/// Words that are there to say something, be it that they are off: not "torch.compile not stated", "FSDP: unknown".
bool isStated(llvm::StringRef text, const Words &words);

/// Words that are stated, neither denied nor off: not "no FSDP", "FSDP=0", "FSDP: off".
bool isOn(llvm::StringRef text, const Words &words);

/// Words that are neither denied nor off and tell of the row itself, which may leave them unstated: not "vs FSDP",
/// "compared with FSDP", "faster than FSDP".
bool isOwn(llvm::StringRef text, const Words &words);

/// The first such words: "ZeRO-1" in "faster than ZeRO-3; ZeRO-1".
std::optional<llvm::StringRef> ownWords(llvm::StringRef text, const Words &words);

/// "OOM (-1)", "out of memory" and "OutOfMemoryError", but not "no OOM".
bool saysOutOfMemory(llvm::StringRef text);

/// Whether figures of memory are in units of 2^30 bytes: "peak in GiB", "Memory(GiB)"; a rate in GiB/s says nothing.
bool saysBinaryUnits(llvm::StringRef text);

/// Whether they are in units of 10^9 bytes: "peak in GB", "Memory (GB)"; not the size of a device, "A100-80GB", "80
/// GB".
bool saysDecimalUnits(llvm::StringRef text);

/// The classes that remarks state: "vocab 50257", "vocab 50,257". None where text goes on as another number would, or
/// a unit: "vocab 128k" is rounded, "vocab 50 257" and "vocab 50.257" are written otherwise.
std::optional<int64_t> classesIn(llvm::StringRef text);

/// The stage of ZeRO that words name: "ZeRO-1", "ZeRO3", "zero_stage=2", a distributed optimizer, which cuts its states
/// alone, or FSDP, which cuts everything unless it says otherwise.
std::optional<int64_t> stageIn(llvm::StringRef text);

/// The same in a cell that is of ZeRO alone: "stage 1" and "Z1" as well, and 0 for "none" and "DDP".
std::optional<int64_t> stageOfCell(llvm::StringRef text);

/// The ways in which tp cuts each expert: "etp=1", "ETP 2", "expert_tensor_parallel_size: 1".
std::optional<int64_t> tensorOfExpertsIn(llvm::StringRef text);

/// Whether words say that each of several groups of devices has all parameters: "HSDP", "hybrid shard".
bool cutsWithinGroups(llvm::StringRef text);

/// Whether states or activations leave the device during a step: "ZeRO-3 offload", "offload_optimizer: cpu", "CPU
/// activation offloading", "ZeRO-Infinity"; not "no offload", "CPU offload False", "offload: none", "faster than with
/// CPU offload", "SHARP offload", which is of a network.
bool movesToHost(llvm::StringRef text);

/// Whether the weights of adapters alone are trained: "LoRA rank 16", "QLoRA"; not "vs LoRA".
bool trainsAdapters(llvm::StringRef text);

} // namespace apc
