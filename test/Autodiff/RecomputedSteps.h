// Small models as text, op by op, and training steps of them that recompute.
#pragma once

#include "GradientPrograms.h"

#include "apc/Autodiff/TrainingStep.h"

#include <map>
#include <set>

namespace apc {

inline constexpr const char *activation = "tensor<2x4x8xf64>", *square = "tensor<8x8xf64>", *vector = "tensor<8xf64>";

/// Text of a model. Values have the type `activation` unless another one is named.
class ModelText {
public:
  std::string parameter(const std::string &name, const std::string &type);
  std::string op(const std::string &kind, const std::string &name, const std::vector<std::string> &operands,
                 const std::string &attributes = "", const std::string &type = activation);
  /// A normalisation, whose statistics nobody asks for.
  std::string norm(const std::string &name, const std::string &x);
  std::string product(const std::string &name, const std::string &x);
  /// To "f64", "f32", "bf16" or "i1".
  std::string cast(const std::string &name, const std::string &x, const std::string &element);
  std::string finish(const std::string &result) const;
  const std::string &typeOf(const std::string &value) const { return types.at(value); }

private:
  std::string add(const std::string &text, const std::string &name, const std::string &type);

  std::string body;
  std::map<std::string, std::string> types = {{"x", activation}};
};

/// x + attention(norm(x)), then + gelu(norm of that) between two products.
std::string addLayer(ModelText &model, const std::string &x, const std::string &layer);
std::string layersText(unsigned count);

/// A policy, the number of layers that it holds for (none: all), and the policy of the others.
struct RecomputeOf {
  RecomputeOf(RecomputePolicy policy, std::optional<int64_t> layers = {}, RecomputePolicy rest = RecomputePolicy::None)
      : policy(policy), layers(layers), rest(rest) {}

  RecomputePolicy policy;
  std::optional<int64_t> layers;
  RecomputePolicy rest;
};

/// A training step with what a test asks of it.
struct Recomputing {
  Recomputing(const std::string &text, const RecomputeOf &how);

  /// Loss, parameters and gradients after one step.
  std::vector<Tensor> run() const;

  GradientProgram program;
  TrainingStep step;
  std::set<std::string> copies, kept; ///< forward ops that are copied; those whose results gradients and copies read
};

} // namespace apc
