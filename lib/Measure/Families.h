// Families of models by their names in publications.
#pragma once

#include "apc/Measure/Transformer.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace apc {

/// A shape with what the family decides: kind, normalisation, activation, positions, biases, tied embeddings, and
/// the size of a head where hidden does not. None for a name that is unknown. "GPT (BLOOM prototypes)" is a GPT,
/// "Mixtral 8x7B" a Llama with experts.
std::optional<TransformerShape> shapeOfFamily(llvm::StringRef name);

/// Whether models of that name have experts: "Mixtral", "GPT-MoE", "8x22B", "Qwen3-30B-A3B", "Llama 4".
bool hasExperts(llvm::StringRef name);

} // namespace apc
