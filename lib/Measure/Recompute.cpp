// Policies of recomputation as sources write them.
#include "Remarks.h"
#include "ThroughputRows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace apc {

namespace {

enum class NamedPolicy : uint8_t { None, Attention, Selective, Full, Unclear, Unknown };

/// "full recompute", "selective AC", "no activation checkpointing".
constexpr const char *again =
    "( *(activation[-_ ])?(recompute|recomputation|remat|rematerialization|checkpointing|ac))";

struct PolicyWords {
  Pattern cell; ///< in lower case
  NamedPolicy policy;
};

/// "uniform" with 1 layer, or without a number, keeps the input of each layer and nothing else, as "full" alone does
/// (NVIDIA/Megatron-LM megatron/training/arguments.py, --recompute-method). So did --checkpoint-activations and
/// PyTorch's and Hugging Face's checkpointing of activations, or "of gradients".
llvm::ArrayRef<PolicyWords> policyWords() {
  const std::string one = again, maybe = one + "?", beside = "( *[+,(&]* *(sp|sequence[- ]parallel(ism)?)[)]?)?";
  auto whole = [](const std::string &text) { return Pattern("^(" + text + ")$", Letters::AsWritten); };
  static const PolicyWords words[] = {
      {whole("none|no|false|off|0|disabled|not used|(no|without)" + one), NamedPolicy::None},
      {whole("(remat|remat_policy|recompute|ac|activation checkpointing)?[ :=]*full" + maybe +
             "( *[,(]? *((method[ =:]*)?uniform[ ,:=]*(1( layers?)?)?|(all|every|each)( the)? layers?)[)]?)?" + beside),
       NamedPolicy::Full},
      {whole("(activation|gradient)s?[-_ ]checkpoint(s|ing)|checkpoint[-_ ]activations?|ac"), NamedPolicy::Full},
      {whole("(selective" + maybe + "[ ,:(]*)?(core[-_ ]?)?att(entio)?n( only)?[)]?"), NamedPolicy::Attention},
      {whole("selective" + maybe + beside), NamedPolicy::Selective},
      {whole("yes|y|true|on|1"), NamedPolicy::Unclear}};
  return words;
}

NamedPolicy policyOf(llvm::StringRef text) {
  for (const PolicyWords &words : policyWords())
    if (words.cell.match(text))
      return words.policy;
  return NamedPolicy::Unknown;
}

/// Of the weights of a layer that multiply all of its tokens, the part in the second, fourth, ... product in their
/// order: queries, keys, values, output, one or two into the inner size, and back. Llama 3 8B: 0.37; GPT-3: 0.5.
double shareOfSecondProducts(const TransformerShape &model) {
  const int64_t queries = model.heads * model.headSize, keys = model.keyHeads * model.headSize;
  llvm::SmallVector<int64_t> columns = {queries, keys, keys, queries, model.inner, model.inner};
  if (model.isGated())
    columns.push_back(model.inner);
  double all = 0, ofSecond = 0;
  for (const auto &[index, size] : llvm::enumerate(columns)) {
    all += static_cast<double>(size);
    ofSecond += index % 2 == 1 ? static_cast<double>(size) : 0;
  }
  return all > 0 ? ofSecond / all : 0;
}

/// Megatron-LM's attentions; or torchtitan's (torchtitan/distributed/activation_checkpoint.py): of layers every second
/// one as a whole, of ops every second product of each layer and what is cheap. The latter is taken as so many whole
/// layers as have the products that are made again, and what is cheap of the others; experts by themselves do not
/// count there, and half of the layers are taken.
RecomputeSetting selective(Fields &fields, const Measurement &row) {
  static const Words torchtitan("torchtitan"), wholeLayers("selective layer|(every|each) (other|second) layer");
  const std::string software = softwareOf(fields);
  if (!hasWords(software, torchtitan))
    return RecomputeChoice::Attention;
  if (row.layout.pipeline > 1)
    fields.leaveOut("every second product is recomputed in each of several stages");
  const bool isOfLayers = hasWords(software, wholeLayers);
  const double share = isOfLayers || row.model.experts > 0 ? 0.5 : shareOfSecondProducts(row.model);
  const double layers = std::floor(share * static_cast<double>(row.model.layers) + (isOfLayers ? 0 : 0.5));
  return {RecomputeChoice::Full, std::max<int64_t>(1, static_cast<int64_t>(layers)),
          isOfLayers ? RecomputeChoice::None : RecomputeChoice::Norms};
}

/// The layers of "block 4", "full (block, 4 layers)", "--recompute-method block --recompute-num-layers 4"; none where
/// other words stand beside them.
std::optional<int64_t> layersOfBlock(llvm::StringRef text) {
  static constexpr llvm::StringLiteral others[] = {
      "full",  "recompute", "recomputation", "granularity", "method", "num",   "layer", "layers",  "per", "each",
      "first", "of",        "the",           "in",          "stage",  "chunk", "sp",    "parallel"};
  static const Pattern belowZero("(^|[ ,:=(])-[0-9]");
  if (belowZero.match(text))
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words, " ,;:=()[]_+&-");
  std::optional<int64_t> layers;
  for (llvm::StringRef word : words) {
    int64_t number = 0;
    const bool isNumber = !word.getAsInteger(10, number);
    if (isNumber && !layers)
      layers = number;
    else if (isNumber || (word != "block" && !llvm::is_contained(others, word)))
      return std::nullopt;
  }
  return llvm::is_contained(words, "block") ? layers : std::nullopt;
}

/// Nothing where the cell names no policy; the row then has a reason.
std::optional<RecomputeSetting> settingOf(Fields &fields, const Measurement &row) {
  const std::string cell = fields.text("recompute").str(), text = llvm::StringRef(cell).lower();
  if (text.empty() && isOfRecipe(fields))
    return RecomputeChoice::None;
  if (std::optional<int64_t> layers = layersOfBlock(text))
    return settingOfBlock(fields, *layers, row);
  switch (policyOf(text)) {
  case NamedPolicy::None:
    return RecomputeChoice::None;
  case NamedPolicy::Attention:
    return RecomputeChoice::Attention;
  case NamedPolicy::Selective:
    return selective(fields, row);
  case NamedPolicy::Full:
    return RecomputeChoice::Full;
  case NamedPolicy::Unclear:
    fields.leaveOut("recompute '" + cell + "' says neither full nor selective");
    return std::nullopt;
  case NamedPolicy::Unknown:
    fields.leaveOut(text.empty() ? "recompute is not stated" : "recompute unknown: " + cell);
    return std::nullopt;
  }
  llvm_unreachable("a policy without a case");
}

} // namespace

RecomputeSetting settingOfBlock(Fields &fields, int64_t layers, const Measurement &row) {
  const int64_t chunks = row.layout.pipeline * row.layout.numChunks();
  if (layers <= 0)
    return RecomputeChoice::None;
  if (layers >= (row.model.layers + chunks - 1) / chunks)
    return RecomputeChoice::Full;
  if (chunks > 1)
    fields.leaveOut("the first layers of each of several stages are recomputed");
  return {RecomputeChoice::Full, layers};
}

void setRecompute(Fields &fields, Measurement &row) {
  if (std::optional<RecomputeSetting> setting = settingOf(fields, row))
    row.layout.recompute = *setting;
  static const Pattern remat("remat_policy=[a-z_]*offload", Letters::AsWritten);
  if (remat.match(fields.text("notes")))
    fields.leaveOut("activations are moved to the host");
  else if (movesToHost(fields.text("notes")) || movesToHost(fields.text("recompute")) ||
           movesToHost(fields.text("zero_stage")))
    fields.leaveOut("states or activations are moved to the host");
}

} // namespace apc
