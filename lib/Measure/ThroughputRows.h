// Parts of the reader of published step times.
#pragma once

#include "Fields.h"

#include <string>

namespace apc {

/// Text that names the framework and its kernels.
std::string softwareOf(const Fields &fields);

/// Rows of NeMo 2's recipes for Llama 3 need not say what these set: nothing is recomputed, tp cuts sequences, and the
/// optimizer is distributed (NVIDIA/NeMo nemo/collections/llm/recipes/llama3_8b.py, llama3_70b.py and optim/adam.py).
bool isOfRecipe(const Fields &fields);

/// The shape by the family and the columns of sizes; a reason to leave the row out where these do not go together, or
/// have other parameters than `params_b` states.
void setModel(Fields &fields, TransformerShape &shape);

/// Parts of the model that remarks state beside the columns: shared experts are built where their size follows; dense
/// layers among those with experts, and attention in windows shorter than a sequence, are a reason.
void setParts(Fields &fields, TransformerShape &shape);

/// The policy of recomputation that the cell names, in words of several frameworks; a reason where it names none.
void setRecompute(Fields &fields, Measurement &row);

} // namespace apc
