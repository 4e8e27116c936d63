// Parts of models that no column says: shared experts, dense layers among others, windows of attention.
#include "Remarks.h"
#include "ThroughputRows.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral digitGroups = "([0-9]{1,3}(,[0-9]{3})+|[0-9]+)"; // two groups

/// The number in the first words that match a pattern and tell of the row itself, in thousands of 1024 where a "k" is
/// behind it.
std::optional<int64_t> ownNumber(llvm::StringRef text, const Words &pattern) {
  static const Pattern number((digitGroups + "(k?)").str());
  std::optional<llvm::StringRef> words = ownWords(text, pattern);
  llvm::SmallVector<llvm::StringRef, 4> groups;
  int64_t found = 0;
  if (!words || !number.match(*words, groups))
    return std::nullopt;
  std::string digits = groups[1].str();
  llvm::erase(digits, ',');
  constexpr int64_t most = int64_t(1) << 40; // greater ones are slips
  if (llvm::StringRef(digits).getAsInteger(10, found) || found > most)
    return std::nullopt;
  constexpr int64_t thousand = 1024;
  return groups[3].empty() ? found : found * thousand;
}

constexpr int64_t mostShared = 1 << 10, mostColumns = 1 << 24; // greater numbers are slips

constexpr llvm::StringLiteral sharedExperts = "shared[-_ ]experts?";

/// "2 shared experts", "a shared expert", "n_shared_experts=2"; none where the number is not stated.
std::optional<int64_t> countOfShared(llvm::StringRef text) {
  static const Words before(("[0-9]+ " + sharedExperts).str()), shared("[0-9]+ shared"), routed("routed( experts?)?");
  static const Words behind(("((n|num)_)?" + sharedExperts + " ?[=:] ?[0-9]+").str());
  auto written = [](llvm::StringRef number) { return Words((number + " " + sharedExperts).str()); };
  static const Words numbers[] = {written("(a|one|a single|single)"), written("two"), written("three"),
                                  written("four")};
  for (const Words *words : {&before, &behind})
    if (std::optional<int64_t> count = ownNumber(text, *words))
      return count;
  if (hasWords(text, routed))
    if (std::optional<int64_t> count = ownNumber(text, shared))
      return count;
  for (const auto &[index, words] : llvm::enumerate(numbers))
    if (isOwn(text, words))
      return static_cast<int64_t>(index) + 1;
  return std::nullopt;
}

/// Experts that all tokens pass are one of their inner sizes together: as a row states it, or as many as those of the
/// others.
void setShared(Fields &fields, llvm::StringRef text, TransformerShape &shape) {
  static const Words any(sharedExperts);
  static const Words size(("(moe[-_ ])?" + sharedExperts +
                           "([-_ ](ffn|intermediate|hidden|inner))?([-_ ]size)?( ?[=:] ?| of size | of | )" +
                           digitGroups)
                              .str());
  static const Pattern sized("shared[-_ ]expert([-_ ](ffn|intermediate|hidden|inner)| of )");
  if (std::optional<int64_t> inner = sized.match(text) ? ownNumber(text, size) : std::nullopt)
    shape.sharedInner = *inner;
  else if (std::optional<int64_t> count = countOfShared(text))
    shape.sharedInner = std::min(*count, mostShared) * shape.inner;
  else if (isOwn(text, any))
    fields.leaveOut("shared experts whose size is not stated");
  if (shape.sharedInner > mostColumns)
    fields.leaveOut("shared experts are larger than those of any model");
}

/// "first 3 layers dense", "first_k_dense_replace=1", "moe_layer_freq=2", "MoE every other layer".
bool hasDenseLayers(llvm::StringRef text) {
  static const Words some(
      "first[-_ ]k[-_ ]dense[-_ ]replace|"
      "first ([1-9a-z][0-9a-z]* )?layers?( is| are|:)? dense|"
      "([1-9][0-9]*|one|two|three|first|initial|leading|some) dense (first )?layers?|"
      "dense (first|initial|leading) ([0-9a-z]+ )?layers?|"
      "(interleav(ed|ing)|alternat(e|ed|ing)) (dense|moe)[a-z]*( and |/| & )(dense|moe)|"
      "(moe|experts?)( layers?)?( is| are)?( in| at)? every (other|second|third|fourth|[2-9](nd|rd|th)?) layers?|"
      "every (other|second|third|fourth|[2-9](nd|rd|th)?) layers?( is| are| has)?( an?)? (moe|experts?)");
  constexpr llvm::StringLiteral steps =
      "(moe[-_ ](layer[-_ ])?(freq|frequency|interval)|interleave[-_ ]moe[-_ ]layer[-_ ]step)";
  static const Words stepped(steps);
  static const Pattern numbered((steps + "[ =:]*([0-9]+)").str());
  const bool isStepped = isOn(text, stepped) && numberIn(text, numbered, /*group=*/4) != 1;
  return isStepped || isOwn(text, some);
}

/// The positions of "sliding window 4096", "sliding_window = 4k", "4,096-token sliding window"; none where they are not
/// stated.
std::optional<int64_t> windowIn(llvm::StringRef text) {
  static const Words behind(("sliding[-_ ]window([-_ ](size|attention))*( of|[ =:(])* *" + digitGroups + "k?").str());
  static const Words front((digitGroups + "k?[- ](tokens?|positions?)?[- ]?sliding[-_ ]window").str());
  std::optional<int64_t> window = ownNumber(text, behind);
  return window ? window : ownNumber(text, front);
}

} // namespace

void setParts(Fields &fields, TransformerShape &shape) {
  const std::string text = (fields.text("model_family") + "; " + fields.text("notes")).str();
  static const Words windows("sliding[-_ ]windows?|swa|windowed[-_ ]attention|local( and global|/global)?"
                             "[-_ ]attention");
  if (isOwn(text, windows) && windowIn(text).value_or(0) < shape.sequence)
    fields.leaveOut("attention in windows");
  if (shape.experts == 0)
    return;
  if (hasDenseLayers(text))
    fields.leaveOut("some layers are dense beside layers with experts");
  setShared(fields, text, shape);
}

} // namespace apc
