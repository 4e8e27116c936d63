// The rows of the table of settings.
#include "apc/Plan/Settings.h"

#include "OptimizerSettings.h"
#include "SettingKinds.h"

#include "apc/Cluster/Cluster.h"
#include "apc/Sharding/MaxExtent.h"
#include "apc/Support/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

constexpr llvm::StringLiteral stepModes[] = {"infer", "train"};
constexpr llvm::StringLiteral batchNormModes[] = {"train", "frozen"};
constexpr llvm::StringLiteral backwardModes[] = {"held", "derived"};
constexpr llvm::StringLiteral zeroChoices[] = {"auto", "0", "1", "2", "3"};
constexpr llvm::StringLiteral launchModes[] = {"eager", "graph"};
constexpr llvm::StringLiteral parallelModes[] = {"auto", "data", "semi", "hybrid"};

llvm::Error checkSeconds(double seconds, const llvm::Twine &given) {
  constexpr double year = 366 * 86400.0;
  if (seconds > 0 && seconds <= year)
    return llvm::Error::success();
  return inputError("{0}: a number of seconds above 0 and at most a year is expected, as 0.5 or 60", given.str());
}

llvm::Error checkShare(double share, const llvm::Twine &given) {
  if (share >= 0 && share <= 1)
    return llvm::Error::success();
  return inputError("{0}: a share from 0 to 1 is expected, as 0.05", given.str());
}

/// `NAME=N` and `NAME=true|false` of maps; a name that is given again takes the later value.
template <typename Value>
Setting bindings(Setting row, std::map<std::string, Value> PlanRequest::*field, std::string (*print)(Value),
                 std::optional<Value> (*parse)(llvm::StringRef), llvm::StringLiteral accepted) {
  row.isList = row.isBinding = true;
  row.print = [field, print](const PlanRequest &request) {
    std::vector<std::string> texts;
    for (const auto &[name, value] : request.*field)
      texts.push_back(name + "=" + print(value));
    return texts;
  };
  row.read = [field, parse, accepted](PlanRequest &request, llvm::StringRef text,
                                      llvm::StringRef source) -> llvm::Error {
    auto [name, given] = text.rsplit('=');
    std::optional<Value> value = parse(given);
    if (name.empty() || name.size() == text.size() || !value)
      return inputError("{0} {1}: accepted is {2}", source, text, accepted);
    (request.*field)[name.str()] = *value;
    return llvm::Error::success();
  };
  row.reset = [field](PlanRequest &request) { (request.*field).clear(); };
  return row;
}

std::string printSize(int64_t size) { return std::to_string(size); }
std::optional<int64_t> parseSize(llvm::StringRef text) {
  int64_t size = 0;
  return text.getAsInteger(10, size) || size < 0 ? std::nullopt : std::optional(size);
}

std::string printFlag(bool flag) { return flag ? "true" : "false"; }
std::optional<bool> parseFlag(llvm::StringRef text) {
  return text == "true" ? std::optional(true) : text == "false" ? std::optional(false) : std::nullopt;
}

/// 2,3,0.5; a single number may stand alone.
std::string printNumbers(std::vector<double> numbers) {
  auto texts = llvm::map_range(numbers, [](double number) { return shortestNumber(number); });
  return llvm::join(texts, ",");
}
std::optional<std::vector<double>> parseNumbers(llvm::StringRef text) {
  std::vector<double> numbers;
  for (llvm::StringRef part : llvm::split(text, ','))
    if (part.trim().getAsDouble(numbers.emplace_back()) || !std::isfinite(numbers.back()))
      return std::nullopt;
  return numbers;
}

/// A file of operators, or the text of one of them.
Setting operatorSetting(Setting row) {
  row = parsedListSetting(row, &PlanRequest::operators, parseOperatorText);
  row.read = [](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    if (text.contains("->")) {
      llvm::Expected<OperatorText> one = parseOperatorText(text, source);
      if (!one)
        return one.takeError();
      request.operators.push_back(std::move(*one));
      return llvm::Error::success();
    }
    llvm::Expected<std::string> file = readFile(text);
    if (!file)
      return file.takeError();
    auto read = parseOperatorFile(*file, text);
    if (!read)
      return read.takeError();
    llvm::append_range(request.operators, std::move(*read));
    return llvm::Error::success();
  };
  return row;
}

std::vector<Setting> modelRows() {
  Setting dim = {"dim", SettingGroup::Model, SettingKind::Text, "NAME=N",
                 "Binds a symbolic dim to N elements, or dim 0 of a result whose size depends on data, as "
                 "VALUE.0=N; repeatable"};
  Setting value = {"value", SettingGroup::Model, SettingKind::Text, "NAME=NUMBERS",
                   "The numbers of a graph input that decides shapes, row by row, as k=5 or pads=0,0,1,1: the input "
                   "becomes a constant; repeatable"};
  Setting rules = {"operator", SettingGroup::Model, SettingKind::Text, "FILE|'NAME: RULE; flops=N'",
                   "Factor rules of operators that are not known, so that they are cut like others: a file with a line "
                   "for each, as 'com.acme.Mix: b s d, d -> b s d; flops=8', or one such line; flops are those of each "
                   "point of the loop nest; repeatable"};
  Setting strict = {"strict", SettingGroup::Model, SettingKind::Switch, "",
                    "Refuse operators that are not known; without it, one whose results have declared types is planned "
                    "whole on every device"};
  Setting condition = {"condition", SettingGroup::Model, SettingKind::Text, "NAME=true|false",
                       "A single bool of the model, taken as known: the branch to keep of an If on it; repeatable"};
  return {
      bindings(dim, &PlanRequest::dims, printSize, parseSize, "NAME=N with N a whole number, for instance batch=4"),
      bindings(value, &PlanRequest::values, printNumbers, parseNumbers, "NAME=NUMBERS, for instance k=5 or pads=0,1"),
      bindings(condition, &PlanRequest::conditions, printFlag, parseFlag, "NAME=true or NAME=false"),
      textSetting({"parameters", SettingGroup::Model, SettingKind::Text, "REGEX",
                   "Graph inputs, and floats of one element, whose whole name matches are parameters"},
                  &PlanRequest::parameters),
      operatorSetting(rules),
      switchSetting(strict, &PlanRequest::strict)};
}

std::vector<Setting> targetRows() {
  Setting devices = {"devices", SettingGroup::Target, SettingKind::WholeNumber, "N", "Number of devices"};
  Setting cluster = {"cluster", SettingGroup::Target, SettingKind::Text, "NAME|FILE",
                     "A preset ('apc clusters' lists them) or a cluster file"};
  Setting overrides = {
      "cluster-set", SettingGroup::Target, SettingKind::Text, "KEY=VALUE",
      "Sets one figure of the cluster, as device.memory_bytes=40GiB, level.node.bytes_per_second=25GB/s, "
      "device.peak_flops_per_second.bf16=1e15 or host.memory_bytes=1TiB; 'apc clusters NAME' lists the keys; "
      "repeatable"};
  Setting runtime = {
      "runtime", SettingGroup::Target, SettingKind::Text, "NAME|FILE",
      "The software that runs the program: a preset ('apc clusters' lists them) or a file; none: every op "
      "is a kernel at the figures of its device; default torch-compiled"};
  runtime.older = noRuntime;
  Setting mode = {"mode", SettingGroup::Target, SettingKind::Text, "train|infer",
                  "train: forward pass, loss, backward pass and the optimizer's update; infer: the forward graph"};
  Setting launches = {"launches", SettingGroup::Target, SettingKind::Text, "eager|graph",
                      "eager: the host launches op by op; graph: ops were recorded before, as in a CUDA graph"};
  Setting limit = {"memory-limit", SettingGroup::Target, SettingKind::WholeNumber, "BYTES",
                   "Memory that one device may use, as 76GiB; default 95 % of the device's memory"};
  limit.unit = "bytes";
  devices.isAlwaysSaid = cluster.isAlwaysSaid = runtime.isAlwaysSaid = mode.isAlwaysSaid = true;
  return {wholeNumberSetting(devices, &PlanRequest::devices, 1, maxDevices),
          textSetting(cluster, &PlanRequest::cluster),
          textListSetting(overrides, &PlanRequest::clusterOverrides),
          textSetting(runtime, &PlanRequest::runtime),
          enumSetting(mode, &PlanRequest::mode, stepModes),
          enumSetting(launches, &PlanRequest::launches, launchModes),
          bytesSetting(limit, &PlanRequest::memoryLimitBytes)};
}

llvm::Error checkNorm(double norm, const llvm::Twine &given) {
  if (norm > 0 && std::isfinite(norm))
    return llvm::Error::success();
  return inputError("{0}: a number above 0 is expected, as 1.0", given.str());
}

std::vector<Setting> trainingRows() {
  Setting loss = {"loss", SettingGroup::Target, SettingKind::Text, "NAME|cross-entropy|mse|sum[:OUTPUT]",
                  "With --mode train: the output of one number to make smaller, or a loss of an output; default the "
                  "only output of one number"};
  Setting clip = {"clip-norm", SettingGroup::Target, SettingKind::Number, "NORM",
                  "With --mode train: the largest norm of all gradients together; larger ones are scaled down"};
  Setting freeze = {"freeze", SettingGroup::Target, SettingKind::Text, "REGEX",
                    "With --mode train: parameters whose whole name matches are not trained"};
  Setting batchNorm = {"batch-norm", SettingGroup::Target, SettingKind::Text, "train|frozen",
                       "With --mode train: batch normalisation by the statistics of the batch over all devices, or by "
                       "those that the model holds"};
  Setting backward = {
      "backward", SettingGroup::Target, SettingKind::Text, "held|derived",
      "With --mode train: of a model whose outputs are gradients of its parameters, or their new values: "
      "held: its backward pass is planned as it is; derived: another one is derived from its loss"};
  Setting recompute = {
      "recompute", SettingGroup::Target, SettingKind::Text, "auto|none|norms|attention|mlp|branches|full",
      "With --mode train: forward values that the backward pass makes again, to save memory: none; "
      "norms: normalisations and activations; attention: what attentions make from queries, keys and "
      "values; mlp: all behind the attention of a layer; branches: all of a layer but the sums behind its attentions; "
      "full: all inside the layers that repeat; auto (the default): the fastest of these that fits. A number of layers "
      "limits a policy to the first of them: full:26; auto finds the number, too. Another policy for the other layers "
      "follows it: full:26,norms"};
  Setting zero = {
      "zero", SettingGroup::Target, SettingKind::Text, "auto|0|1|2|3",
      "With --mode train: the stage of ZeRO that storage has at most. 0: states rest as their parameters are "
      "used; 1: states may be cut further; 2: sums of gradients over micro-batches, too; 3 (and auto): "
      "parameters, too, which are gathered for their use"};
  Setting global = {"global-batch", SettingGroup::Target, SettingKind::WholeNumber, "N",
                    "With --mode train: samples of one step; default the batch that the model was exported with"};
  Setting micro = {"micro-batch", SettingGroup::Target, SettingKind::Text, "N|auto",
                   "With --mode train: samples of one micro-batch on all devices together; gradients are summed over "
                   "the micro-batches of a step; auto (the default): the fastest that fits"};
  Setting copies = {"copies", SettingGroup::Target, SettingKind::Text, "N|auto",
                    "With --mode train: equal parts of each micro-batch that run in turn on all devices, so that one "
                    "computes while another communicates; 1 (the default): micro-batches run whole; auto: 2 where "
                    "that is faster"};
  Setting fusion = {"fusion-bytes", SettingGroup::Target, SettingKind::WholeNumber, "BYTES|auto",
                    "With --mode train: the most bytes in which gradients, or parameters, are exchanged together over "
                    "the same devices, as 25MiB; 0: each alone; auto (the default): as many as keep the latency of "
                    "their links at 5 % of the time"};
  Setting overlap = {"overlap", SettingGroup::Target, SettingKind::Switch, "",
                     "With --mode train: collectives run beside ops, on a stream of their own, where contractions can "
                     "hide them; by default ops and collectives follow each other"};
  Setting tie = {"tie", SettingGroup::Target, SettingKind::Text, "A=B|A=B^T",
                 "With --mode train: parameter B is A, or A transposed, stored twice; repeatable"};
  return {textSetting(loss, &PlanRequest::loss),
          optionalNumberSetting(clip, &PlanRequest::clipNorm, checkNorm),
          enumSetting(batchNorm, &PlanRequest::batchNorm, batchNormModes),
          enumSetting(backward, &PlanRequest::backward, backwardModes),
          enumSetting(zero, &PlanRequest::zero, zeroChoices),
          parsedSetting(recompute, &PlanRequest::recompute, parseRecomputeSetting),
          optionalWholeNumberSetting(global, &PlanRequest::globalBatch, maxExtent),
          optionalWholeNumberSetting(micro, &PlanRequest::microBatch, maxExtent, "auto"),
          parsedSetting(copies, &PlanRequest::copies, parseCountChoice),
          optionalBytesSetting(fusion, &PlanRequest::fusionBytes, "auto"),
          switchSetting(overlap, &PlanRequest::overlap),
          textSetting(freeze, &PlanRequest::freeze),
          textListSetting(tie, &PlanRequest::ties)};
}

std::vector<Setting> pipelineRows() {
  Setting workers = {"pipeline", SettingGroup::Target, SettingKind::Text, "N|N+N...|auto",
                     "With --mode train: workers of a pipeline, each with a part of the model on a part of the "
                     "devices, or the devices of each worker, as 4+2+2; 1 (the default): no pipeline; auto: as many "
                     "equal workers as are fastest, or no pipeline where that is faster"};
  Setting schedule = {"schedule", SettingGroup::Target, SettingKind::Text, "NAME|auto",
                      "With a pipeline: the order in which its stages act, as gpipe, 1f1b, interleaved, zb-h1; auto "
                      "(the default): the fastest that fits"};
  Setting chunks = {"chunks", SettingGroup::Target, SettingKind::Text, "N|auto",
                    "With a pipeline: stages of a worker; auto (the default): the fastest that fits"};
  return {parsedSetting(workers, &PlanRequest::pipeline, parsePipelineChoice),
          textSetting(schedule, &PlanRequest::schedule), parsedSetting(chunks, &PlanRequest::chunks, parseCountChoice)};
}

std::vector<Setting> searchRows() {
  Setting search = {"search", SettingGroup::Search, SettingKind::Text, "NAME", "The search"};
  Setting parallel = {
      "parallel", SettingGroup::Search, SettingKind::Text, "auto|data|semi|hybrid",
      "The part that is left to the search. auto (the default): all that pins leave; data: nothing, "
      "the batch is cut over all devices; semi: nothing, pinned ops hand their cuts on to their "
      "neighbours; hybrid: nothing: every op that has a choice is pinned, and the plan checked and costed"};
  Setting axes = {"mesh-axes", SettingGroup::Search, SettingKind::WholeNumber, "N|auto",
                  "The most axes that a logical mesh may have; pins may need more. auto (the default): three, and "
                  "four where the work allows it, as the plan's notes say"};
  Setting pin = {"pin", SettingGroup::Search, SettingKind::Text, "'REGEX: factor=axes, ...'",
                 "Fixes the whole strategy of the ops in whose names the regular expression matches: factors that are "
                 "not named stay whole, unless the pin ends with '...', which leaves them to the search. Axes: 8 "
                 "(ways), device (a level of the cluster), 4@device (ways of a level), (2@node device); repeatable"};
  Setting input = {"input", SettingGroup::Search, SettingKind::Text, "'NAME: dim=axes, ...'",
                   "The way in which an input of the model arrives, 'pixels: d0=8': dims d0, d1, ... and axes as in "
                   "--pin. The plan takes it as it comes; without this, inputs come as suits the plan; repeatable"};
  Setting ignored = {"ignore-model-shardings", SettingGroup::Search, SettingKind::Switch, "",
                     "Leave out the shardings that the model file brings along (ONNX IR 11)"};
  Setting layout = {"layout", SettingGroup::Search, SettingKind::Text, "dp=N,tp=N[,KEY=VALUE...]",
                    "A layout to list among the references, by its layout degrees dp and tp, as in 'apc evaluate'; "
                    "repeatable"};
  Setting time = {"time-limit", SettingGroup::Search, SettingKind::Number, "SECONDS",
                  "Time that planning may take before it gives its best answer and a bound"};
  Setting gap = {"gap", SettingGroup::Search, SettingKind::Number, "SHARE",
                 "Stop when the answer is proven to be within this share of the optimum"};
  Setting sensitivity = {"sensitivity", SettingGroup::Search, SettingKind::Switch, "",
                         "Also plan with links, memory bandwidth, memory and compute 20 % down and up"};
  time.unit = "seconds";
  search.isAlwaysSaid = true;
  return {textSetting(search, &PlanRequest::search),
          enumSetting(parallel, &PlanRequest::parallel, parallelModes),
          optionalWholeNumberSetting(axes, &PlanRequest::meshAxes, 5, "auto"),
          parsedListSetting(pin, &PlanRequest::pins, parsePin),
          parsedListSetting(input, &PlanRequest::inputs, parseInputPin),
          switchSetting(ignored, &PlanRequest::ignoresModelShardings),
          parsedListSetting(layout, &PlanRequest::layouts, parseParallelDegrees),
          numberSetting(time, &PlanRequest::timeLimitSeconds, checkSeconds),
          numberSetting(gap, &PlanRequest::gapTolerance, checkShare),
          switchSetting(sensitivity, &PlanRequest::sensitivity)};
}

std::vector<Setting> makeSettings() {
  std::vector<Setting> rows = modelRows();
  llvm::append_range(rows, targetRows());
  for (const std::vector<Setting> &group : {trainingRows(), pipelineRows(), optimizerRows()})
    for (Setting row : group) {
      row.isOfTraining = true;
      rows.push_back(std::move(row));
    }
  llvm::append_range(rows, searchRows());
  return rows;
}

} // namespace

llvm::StringRef stepModeName(StepMode mode) { return stepModes[static_cast<size_t>(mode)]; }
std::optional<int64_t> zeroStage(ZeroChoice choice) {
  return choice == ZeroChoice::Auto ? std::nullopt : std::optional(static_cast<int64_t>(choice) - 1);
}

std::string zeroText(ZeroChoice choice) {
  std::optional<int64_t> stage = zeroStage(choice);
  return stage ? std::to_string(*stage) : "auto";
}
llvm::StringRef parallelModeName(ParallelMode mode) { return parallelModes[static_cast<size_t>(mode)]; }

std::string Setting::key() const {
  std::string key = name.str();
  std::replace(key.begin(), key.end(), '-', '_');
  return unit.empty() ? key : key + "_" + unit.str();
}

llvm::ArrayRef<Setting> allSettings() {
  static const std::vector<Setting> settings = makeSettings();
  return settings;
}

const Setting *findSetting(llvm::StringRef name) {
  const Setting *found = llvm::find_if(allSettings(), [&](const Setting &setting) { return setting.name == name; });
  return found == allSettings().end() ? nullptr : found;
}

std::vector<std::string> saidTexts(const Setting &setting, const PlanRequest &request) {
  std::vector<std::string> texts = setting.print(request);
  bool isDefault = texts == setting.print(PlanRequest());
  return isDefault && !setting.isAlwaysSaid ? std::vector<std::string>() : texts;
}

llvm::Error checkTrainingSettings(const PlanRequest &request) {
  std::vector<std::string> ofTraining;
  for (const Setting &setting : allSettings())
    if (setting.isOfTraining && !saidTexts(setting, request).empty())
      ofTraining.push_back("--" + setting.name.str());
  if (request.mode == StepMode::Train || ofTraining.empty())
    return llvm::Error::success();
  return inputError("{0} {1} to --mode train, and the mode is infer", llvm::join(ofTraining, ", "),
                    ofTraining.size() == 1 ? "belongs" : "belong");
}

} // namespace apc
