// The rows of the table of settings about precision and optimizers.
#include "OptimizerSettings.h"

#include "SettingKinds.h"

#include <cmath>

namespace apc {

namespace {

constexpr llvm::StringLiteral optimizers[] = {"sgd", "momentum", "adam", "adamw"};
constexpr llvm::StringLiteral precisions[] = {"model", "fp32", "bf16", "fp16", "fp8"};

llvm::Error checkPositive(double number, const llvm::Twine &given) {
  if (number > 0 && std::isfinite(number))
    return llvm::Error::success();
  return inputError("{0}: a number above 0 is expected, as 1e-8 or 65536", given.str());
}

llvm::Error checkDecay(double decay, const llvm::Twine &given) {
  if (decay >= 0 && std::isfinite(decay))
    return llvm::Error::success();
  return inputError("{0}: a number from 0 on is expected, as 0.01", given.str());
}

/// The share of the past that a running mean keeps.
llvm::Error checkKept(double share, const llvm::Twine &given) {
  if (share >= 0 && share < 1)
    return llvm::Error::success();
  return inputError("{0}: a number from 0 to below 1 is expected, as 0.9", given.str());
}

llvm::Error checkDampening(double share, const llvm::Twine &given) {
  if (share >= 0 && share <= 1)
    return llvm::Error::success();
  return inputError("{0}: a number from 0 to 1 is expected, as 0.5", given.str());
}

Setting row(llvm::StringLiteral name, SettingKind kind, llvm::StringLiteral value, llvm::StringLiteral help) {
  return {name, SettingGroup::Target, kind, value, help};
}

std::vector<Setting> precisionRows() {
  Setting precision =
      row("precision", SettingKind::Text, "model|fp32|bf16|fp16|fp8",
          "With --mode train: element types of weights, activations and gradients; model (the default): "
          "those of the file. With bf16 and fp16 masters and states of the optimizer are in 32 bits, and "
          "so are losses; fp8 is bf16, with products of weights that the runtime takes in 8 bits");
  Setting scale =
      row("loss-scale", SettingKind::Number, "NUMBER",
          "With --precision fp16: the loss is multiplied by it for the gradients; by default by a number that "
          "begins at 65536, doubles after 2000 steps and halves where a gradient is not finite. Such a step "
          "changes nothing");
  Setting gradients =
      row("fp32-gradients", SettingKind::Switch, "",
          "With weights in 16 bits: their gradients are summed and reduced in 32 bits, also within one micro-batch; by "
          "default in 16, and in 32 only over micro-batches");
  return {enumSetting(precision, &PlanRequest::precision, precisions),
          switchSetting(gradients, &PlanRequest::fp32Gradients),
          optionalNumberSetting(scale, &PlanRequest::lossScale, checkPositive)};
}

} // namespace

llvm::StringRef optimizerName(OptimizerChoice name) { return optimizers[static_cast<size_t>(name)]; }
llvm::StringRef precisionChoiceName(PrecisionChoice choice) { return precisions[static_cast<size_t>(choice)]; }

std::vector<Setting> optimizerRows() {
  Setting optimizer = row("optimizer", SettingKind::Text, "sgd|momentum|adam|adamw",
                          "With --mode train: how gradients change parameters");
  Setting decay = row("weight-decay", SettingKind::Number, "NUMBER",
                      "With --mode train: the decay of weights, PyTorch's weight_decay; default 0.01 with adamw, "
                      "otherwise 0");
  Setting momentum = row("momentum", SettingKind::Number, "SHARE",
                         "With --optimizer momentum: the share of the momentum that a step keeps");
  Setting dampening = row("dampening", SettingKind::Number, "SHARE",
                          "With --optimizer momentum: the share of a gradient that the momentum does not take");
  Setting nesterov = row("nesterov", SettingKind::Switch, "",
                         "With --optimizer momentum: step to where the momentum leads (Nesterov)");
  Setting beta1 = row("beta1", SettingKind::Number, "SHARE",
                      "With --optimizer adam and adamw: the share that the mean of gradients keeps");
  Setting beta2 = row("beta2", SettingKind::Number, "SHARE",
                      "With --optimizer adam and adamw: the share that the mean of their squares keeps");
  Setting epsilon = row("epsilon", SettingKind::Number, "NUMBER",
                        "With --optimizer adam and adamw: the number added to the root of the mean of squares");
  Setting amsgrad = row("amsgrad", SettingKind::Switch, "",
                        "With --optimizer adam and adamw: the root is that of the greatest mean of squares so far, a "
                        "third state");
  std::vector<Setting> rows = {enumSetting(optimizer, &PlanRequest::optimizer, optimizers),
                               optionalNumberSetting(decay, &PlanRequest::weightDecay, checkDecay),
                               numberSetting(momentum, &PlanRequest::momentum, checkKept),
                               numberSetting(dampening, &PlanRequest::dampening, checkDampening),
                               switchSetting(nesterov, &PlanRequest::nesterov),
                               numberSetting(beta1, &PlanRequest::beta1, checkKept),
                               numberSetting(beta2, &PlanRequest::beta2, checkKept),
                               numberSetting(epsilon, &PlanRequest::epsilon, checkPositive),
                               switchSetting(amsgrad, &PlanRequest::amsgrad)};
  for (Setting &each : precisionRows())
    rows.push_back(std::move(each));
  return rows;
}

} // namespace apc
