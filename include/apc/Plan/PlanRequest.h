// The request for a plan: everything that a user may ask of `apc plan`, as one value.
#pragma once

#include "apc/Plan/CountChoice.h"
#include "apc/Plan/OperatorText.h"
#include "apc/Plan/ParallelDegrees.h"
#include "apc/Plan/Pins.h"
#include "apc/Plan/PipelineChoice.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace apc {

/// One run of the program: a forward pass, or a training iteration with its optimizer update.
enum class StepMode : uint8_t { Infer, Train };

/// The part of the plan that is left to the search. Auto: all that pins leave; Data: nothing, the batch is cut over all
/// devices; Semi: the strategies that follow from pins by propagation; Hybrid: nothing, every op is pinned.
enum class ParallelMode : uint8_t { Auto, Data, Semi, Hybrid };

/// The way ops get to the device. Eager: one by one from the host; Graph: a graph of them that was recorded before, as
/// CUDA graphs.
enum class LaunchMode : uint8_t { Eager, Graph };

/// The optimizers that `apc/Autodiff/Optimizer.h` describes.
enum class OptimizerChoice : uint8_t { Sgd, Momentum, Adam, AdamW };

/// The element types that `apc/Autodiff/Precision.h` describes. Model: those of the file; Fp8: those of Bf16, in whose
/// program the runtime takes the products of weights in 8 bits (`narrowProducts`).
enum class PrecisionChoice : uint8_t { Model, Fp32, Bf16, Fp16, Fp8 };

/// The stage of ZeRO that the storage of a training step has at most (apc/Planning/StorageLimit.h). Auto: 3.
enum class ZeroChoice : uint8_t { Auto, Stage0, Stage1, Stage2, Stage3 };

/// The statistics that batch normalisation trains with. Train: those of its batch; Frozen: those that the model holds.
enum class BatchNormMode : uint8_t { Train, Frozen };

/// The backward pass of a model that holds one itself. Held: it is planned as it is; Derived: it is left out, and
/// another one is derived from the forward pass.
enum class BackwardMode : uint8_t { Held, Derived };

llvm::StringRef stepModeName(StepMode mode);                 ///< "infer", "train"
llvm::StringRef optimizerName(OptimizerChoice name);         ///< "sgd", "momentum", "adam", "adamw"
llvm::StringRef precisionChoiceName(PrecisionChoice choice); ///< "model", "fp32", "bf16", "fp16", "fp8"
std::optional<int64_t> zeroStage(ZeroChoice choice);         ///< none for Auto
std::string zeroText(ZeroChoice choice);                     ///< as in --zero: "auto", "0", "1", "2", "3"
llvm::StringRef parallelModeName(ParallelMode mode);         ///< "auto", "data", "semi", "hybrid"

/// The runtime of plans for no runtime: every op is a kernel at the figures of its device.
constexpr llvm::StringLiteral noRuntime = "none";

/// Settings with their defaults. Each field but the path has one row in the table of settings (apc/Plan/Settings.h),
/// from which flags, plan.json, baselines and differences follow. The request that a plan carries is enough to plan
/// again.
struct PlanRequest {
  std::string modelPath;
  std::map<std::string, int64_t> dims;               ///< symbolic dims bound to elements
  std::map<std::string, std::vector<double>> values; ///< numbers of inputs that decide shapes, row by row
  std::map<std::string, bool> conditions;            ///< branches of Ifs that are kept
  std::vector<OperatorText> operators;               ///< factor rules of operators that the planner does not know
  bool strict = false;                               ///< operators that it does not know are refused
  std::string parameters; ///< regular expression of the graph inputs that are parameters; "" for none

  int64_t devices = 1;                       ///< offered; some of them may be left idle
  std::string cluster = "dgx-a100-80gb";     ///< preset or file
  std::string runtime = "torch-compiled";    ///< a name (`noRuntime` among them) or a file
  std::vector<std::string> clusterOverrides; ///< KEY=VALUE, in order: "device.memory_bytes=40GiB"
  std::optional<int64_t> memoryLimitBytes;   ///< of one device; none: 95 % of its memory

  StepMode mode = StepMode::Train;
  std::string loss; ///< with `Train`: an output, or `cross-entropy:OUTPUT` and its like; "" for the only scalar output
  OptimizerChoice optimizer = OptimizerChoice::AdamW;
  std::optional<double> weightDecay;    ///< none: 0.01 with AdamW, otherwise 0, as in PyTorch
  double momentum = 0.9, dampening = 0; ///< of `Momentum`
  bool nesterov = false;                ///< of `Momentum`
  double beta1 = 0.9, beta2 = 0.999;    ///< of `Adam` and `AdamW`
  double epsilon = 1e-8;                ///< of `Adam` and `AdamW`
  bool amsgrad = false;                 ///< of `Adam` and `AdamW`
  PrecisionChoice precision = PrecisionChoice::Model;
  bool overlap = false;            ///< collectives run beside ops, where the program lets them
  bool fp32Gradients = false;      ///< gradients of parameters in fewer bits are summed and reduced in 32
  std::optional<double> lossScale; ///< with `Fp16`; none: it changes from step to step
  std::optional<double> clipNorm;  ///< the largest global norm that gradients may have; none: they are not clipped
  BatchNormMode batchNorm = BatchNormMode::Train;
  BackwardMode backward = BackwardMode::Held;
  ZeroChoice zero = ZeroChoice::Auto;
  RecomputeSetting recompute = RecomputeChoice::Auto;
  std::optional<int64_t> globalBatch; ///< samples of a step; none: those of the model as it was exported
  /// Samples of one micro-batch on all devices together; gradients are summed over them. None: the planner chooses.
  std::optional<int64_t> microBatch;
  /// Parts of a micro-batch that run in turn, so that one computes while another communicates; 1: it runs whole.
  CountChoice copies = {1};
  /// The most bytes of a buffer in which gradients, or parameters, are exchanged together; 0: each alone. None: by
  /// latency and bandwidth of the links.
  std::optional<int64_t> fusionBytes;
  std::string freeze;            ///< regular expression of parameters that are not trained; "" for none
  std::vector<std::string> ties; ///< parameters that an exporter stored twice, `A=B` or `A=B^T`
  LaunchMode launches = LaunchMode::Eager;

  PipelineChoice pipeline = {1}; ///< workers of a pipeline; 1: every device works on the whole model
  std::string schedule = "auto"; ///< a name of the table of schedules (apc/Schedule/Pipeline/Schedules.h), or "auto"
  CountChoice chunks = {};       ///< stages of a worker

  std::string search = "auto"; ///< a name of the table of searches
  ParallelMode parallel = ParallelMode::Auto;
  /// At most so many axes in a logical mesh; more only where pins need them. None: three, and four where the work
  /// allows.
  std::optional<int64_t> meshAxes;
  std::vector<Pin> pins;                ///< strategies that the user fixes: constraints of every search
  std::vector<InputPin> inputs;         ///< how inputs arrive: constraints of every search, too
  bool ignoresModelShardings = false;   ///< pins that the model holds (ONNX's sharding specs) are left out
  std::vector<ParallelDegrees> layouts; ///< costed beside the plan, as references
  double timeLimitSeconds = 60;         ///< of the whole command: import, search, references, reasons
  /// The search of each mesh stops within this share of its bound. The cost model is no finer than a thousandth.
  double gapTolerance = 1e-3;
  bool sensitivity = false; ///< also plan with figures of the cluster 20 % down and up: eight more searches
};

/// Is any plan that fits near enough to the fastest?
inline bool takesAny(const PlanRequest &request) { return request.gapTolerance >= 1; }

/// The copies of a micro-batch; 1 where the request leaves them open.
inline int64_t copiesOf(const PlanRequest &request) { return request.copies.count.value_or(1); }

} // namespace apc
