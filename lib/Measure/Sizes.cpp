// Models of published step times, by their families and sizes.
#include "Families.h"
#include "Remarks.h"
#include "ThroughputRows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

constexpr int64_t mostClasses = int64_t(1) << 30, mostExperts = int64_t(1) << 15;

/// Cells of dense models: "none", "0", "0/0".
bool saysDense(llvm::StringRef text) {
  static const Pattern dense("^(none|no|dense|0( ?/ ?0)?)$");
  return dense.match(text);
}

/// "8/2", "8x2", "8, 2", "8 top-2", "8 experts (top 2)".
bool readExperts(llvm::StringRef text, TransformerShape &shape) {
  static const Pattern pattern("^([0-9]+)( experts?)?( *[/x,:-] *|[ ,]*[(]?top[-_ ]?k?[-=: ]*)([0-9]+)[)]?$");
  llvm::SmallVector<llvm::StringRef, 5> groups;
  return pattern.match(text, groups) && !groups[1].getAsInteger(10, shape.experts) &&
         !groups[4].getAsInteger(10, shape.chosenExperts) && shape.experts >= 1 && shape.experts <= mostExperts &&
         shape.chosenExperts >= 1 && shape.chosenExperts <= shape.experts;
}

void setExperts(Fields &fields, TransformerShape &shape) {
  llvm::StringRef text = fields.text("experts/topk");
  if (text.empty() || saysDense(text)) {
    if (hasExperts(fields.text("model_family")))
      fields.leaveOut("no experts/topk of a model with experts");
  } else if (!readExperts(text, shape)) {
    fields.leaveOut("experts are not of the form 8/2");
  }
}

/// The parameters that a row states: billions, or all of them; "7" and "7B". None for other text.
std::optional<double> statedParameters(llvm::StringRef text) {
  constexpr double billion = 1e9, fewestWritten = 1e6; // no model has as many billions
  double number = 0;
  if (text.ends_with_insensitive("b"))
    text = text.drop_back().rtrim();
  if (text.getAsDouble(number) || number <= 0)
    return std::nullopt;
  return number < fewestWritten ? number * billion : number;
}

double shareOutside(double stated, double least, double most) {
  return std::max({0.0, stated / most - 1, 1 - stated / least});
}

/// How far stated parameters lie outside those of a model, which may be stated with its tables or without: as a share.
double distanceOf(double stated, const TransformerShape &shape) {
  const ParameterCount count = countParameters(shape);
  return shareOutside(stated, count.all - count.ofTables, count.all);
}

/// The size of a head has no column. Where another usual one has the stated parameters, and that of the shape clearly
/// has not, it is taken: MaxText's default decoder of 15.7 billion, hidden 4096, has 64 heads of 128.
void fitHeadSize(double stated, TransformerShape &shape) {
  constexpr double clearly = 0.05, near = 0.02; // figures as "15.7" or "13" are rounded
  constexpr int64_t usual[] = {64, 80, 96, 128, 256};
  if (distanceOf(stated, shape) <= clearly)
    return;
  auto distanceWith = [&](int64_t headSize) {
    TransformerShape other = shape;
    other.headSize = headSize;
    return distanceOf(stated, other);
  };
  const int64_t best =
      *llvm::min_element(usual, [&](int64_t a, int64_t b) { return distanceWith(a) < distanceWith(b); });
  if (distanceWith(best) <= near)
    shape.headSize = best;
}

/// The same where a second table may count as well, though the family ties it, and of experts those alone that a token
/// chooses.
double leastDistanceOf(double stated, const TransformerShape &shape) {
  auto distance = [&](int64_t experts) {
    TransformerShape own = shape;
    own.experts = experts;
    const ParameterCount count = countParameters(own);
    own.isTied = false;
    return shareOutside(stated, count.all - count.ofTables, countParameters(own).all);
  };
  return std::min(distance(shape.experts), distance(shape.chosenExperts));
}

/// Published sizes are rounded, and of a prototype may be those of another number of layers: a row of BigScience lies
/// 27 % off. A model that is further off has parts that the columns do not say.
void compareParameters(Fields &fields, double stated, const TransformerShape &shape) {
  constexpr double far = 0.3;
  if (leastDistanceOf(stated, shape) > far)
    fields.leaveOut(llvm::formatv("params_b states {0:F1} billion parameters, and the model of the columns has {1:F1}",
                                  stated / 1e9, countParameters(shape).all / 1e9)
                        .str());
}

} // namespace

void setModel(Fields &fields, TransformerShape &shape) {
  std::optional<TransformerShape> family = shapeOfFamily(fields.text("model_family"));
  if (!family)
    return fields.leaveOut("model family unknown: " + fields.text("model_family").str());
  shape = *family;
  shape.layers = fields.needed("layers");
  shape.hidden = fields.needed("hidden");
  shape.heads = fields.needed("heads");
  shape.keyHeads = fields.whole("kv_heads", shape.heads);
  shape.inner = fields.needed("ffn");
  shape.sequence = fields.needed("seq");
  shape.vocabulary = fields.whole("vocab", classesIn(fields.text("notes")).value_or(0));
  if (shape.vocabulary < 1 || shape.vocabulary > mostClasses)
    fields.leaveOut("no vocab");
  if ((shape.headSize == 0 && shape.hidden % shape.heads != 0) || shape.heads % shape.keyHeads != 0)
    return fields.leaveOut("heads do not divide");
  if (shape.headSize == 0)
    shape.headSize = shape.hidden / shape.heads;
  if (shape.kind == TransformerKind::EncoderDecoder)
    fields.leaveOut("lengths of encoder and decoder are not stated");
  setExperts(fields, shape);
  setParts(fields, shape);
  std::optional<double> stated = statedParameters(fields.text("params_b")); // other text says no less than a blank cell
  if (!stated || fields.isLeftOut())
    return;
  fitHeadSize(*stated, shape);
  compareParameters(fields, *stated, shape);
}

} // namespace apc
