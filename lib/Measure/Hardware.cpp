// Hardware as measurements name it, as presets with figures of their own.
#include "Fields.h"
#include "Network.h"
#include "Remarks.h"

#include "apc/Cluster/Cluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace apc {

namespace {

/// Hardware whose name holds all `words`, and the size of a memory if one is given. Figures beside the preset's are
/// those that the source states.
struct KnownHardware {
  std::vector<llvm::StringRef> words;
  llvm::StringRef preset;
  std::vector<std::string> overrides = {};
  int64_t gigabytes = 0; ///< 0: of any size
};

/// Memory that CUDA reports, where a source is known; names and datasheets round it. "Total capacity" in PyTorch's
/// messages: A100 of 80 GB levihsu/OOTDiffusion issue 235, of 40 GB TianheWu/CoSeR issue 10, H100 vllm-project/vllm
/// issue 27508, H200 pytorch/pytorch issue 150096, V100 of 32 GB uni-medical/SAM-Med3D issue 8, of 16 GB
/// kchengiva/Shift-GCN issue 34; B200 pytorch/ao pull request 4002, which asked the driver.
constexpr const char *memoryOfA100 = "device.memory_bytes=79.25GiB",
                     *memoryOfSmallV100 = "device.memory_bytes=15.78GiB";

/// Names of machines, and the hardware that they stand for. AWS: docs.aws.amazon.com, Amazon EC2 instance types,
/// accelerated computing (devices, their memory, the network of an instance). Google:
/// cloud.google.com/compute/docs/gpus (devices and memory alone). Huawei's machines called A2 are of the kind that the
/// preset describes.
struct Machine {
  llvm::StringLiteral words; ///< a pattern of whole words
  llvm::StringLiteral hardware;
};

constexpr Machine machines[] = {{"p4d([.]24xlarge)?", "a100 40gb, 400 Gbps EFA per node"},
                                {"p4de([.]24xlarge)?", "a100 80gb, 400 Gbps EFA per node"},
                                {"p5[.]48xlarge", "h100 80gb, 3200 Gbps EFA per node"},
                                {"a2-highgpu", "a100 40gb"},
                                {"a2-ultragpu", "a100 80gb"},
                                {"a3-(high|mega|edge)gpu", "h100 80gb"},
                                {"a3-ultragpu", "h200 141gb"},
                                {"v5 ?lite ?(pod)?", "tpu v5e"},
                                {"v4-[0-9]+", "tpu v4"},
                                {"tpu7x", "tpu v7x"},
                                {"atlas 800t a2|atlas 900 a2( podc)?", "ascend 910b"}};

/// Text without the sizes of machines, "8g" of "a2-highgpu-8g" but not "40g" of "GPU-40GB", and with the hardware of
/// those that it names. Own words stand first, and what these say counts.
std::string withMachines(llvm::StringRef hardware) {
  static const Pattern size("((high|ultra|mega|edge)gpu)-[0-9]+g");
  static const std::vector<Words> words = wordsOf(machines, &Machine::words);
  std::string text = size.replaceFirst("\\1", hardware);
  for (const auto &[machine, own] : llvm::zip_equal(machines, words))
    if (hasWords(hardware, own))
      text += ", " + machine.hardware.str();
  return text;
}

const std::vector<KnownHardware> &knownHardware() {
  static const std::vector<KnownHardware> known = {
      {{"a100"}, "dgx-a100-40gb", {"device.memory_bytes=39.5GiB"}, 40},
      {{"a100"}, "dgx-a100-80gb", {"device.memory_bytes=79.25GiB"}},
      // Meta's H100 of 96 GB and 500 W, whose peak is said to lie between those of the SXM, 989, and the NVL, 835
      // (pytorch/torchtitan benchmarks, llama3_h100_202412: HBM2e, lower TDP): their mean. Memory: what its logs print.
      {{"h100", "hbm2e"},
       "dgx-h100",
       {"device.memory_bytes=95.04GiB", "device.memory_bytes_per_second=2.4TB/s",
        "device.peak_flops_per_second.bf16=9.12e14", "device.peak_flops_per_second.f16=9.12e14"}},
      {{"h100"}, "dgx-h100", {"device.memory_bytes=79.11GiB"}},
      {{"h200"}, "dgx-h200", {"device.memory_bytes=139.83GiB"}},
      {{"gb300"}, "gb300-nvl72"},
      {{"gb200"}, "gb200-nvl72"},
      {{"b300"}, "dgx-b300"},
      {{"b200"}, "dgx-b200", {"device.memory_bytes=178.35GiB"}},
      {{"v100"}, "dgx1-v100-32gb", {"device.memory_bytes=15.78GiB"}, 16},
      {{"v100"}, "dgx1-v100-32gb", {"device.memory_bytes=31.75GiB"}},
      {{"mi300x"}, "mi300x"},
      {{"mi325x"}, "mi325x"},
      {{"mi355x"}, "mi355x"},
      {{"910b"}, "atlas-900-a2"},
      {{"v7x"}, "tpu-v7x"},
      {{"ironwood"}, "tpu-v7x"},
      {{"v6e"}, "tpu-v6e"},
      {{"trillium"}, "tpu-v6e"},
      {{"v5p"}, "tpu-v5p"},
      {{"v5e"}, "tpu-v5e"},
      {{"tpu", "v4"}, "tpu-v4"},
  };
  return known;
}

/// "gb300" is not "b300", "h100" not "gh100", "a100" not "a1000" or "a100x", and "v100" not "v100s"; "8xa100",
/// "dgxh100", "ascend910b3", "tpuv4" and "h100sxm" are written together, and "a100s" are several.
bool hasWord(llvm::StringRef text, llvm::StringRef word) {
  const bool mayGoOn = word == "910b" || word == "tpu", mayBeSeveral = word.ends_with("00") && word != "v100";
  const std::string behind = mayGoOn ? "" : std::string(mayBeSeveral ? "s?" : "") + "($|[^0-9a-z]|sxm|nvl|pcie)";
  return text.contains(word) && // most names are not there, and need no pattern
         Pattern(("(^|[^0-9a-z]|[0-9]x|dgx|hgx|ascend|tpu)" + word).str() + behind).match(text);
}

/// The first size of "40gb", "40 gb", "40-gib" and "40g", but no rate as "40gbps", "40 gb/s" or "400gb per node", and
/// no memory of a host: none of "512 GB host RAM". A DGX, or a board of its kind, is named by the memory of its eight
/// devices. 0 for none.
int64_t memoryIn(llvm::StringRef text) {
  constexpr int64_t devicesOfNode = 8, leastOfNode = 320;
  static const Pattern board("[dh]gx|8[- ]?gpu");
  static const Pattern size("(^|[^0-9a-z.])([0-9]+)[ -]?g(b|ib)?($|[^0-9a-z/].*)");
  static const Pattern ofHost(
      "^[^0-9a-z]*((of )?(host|cpu|system|main|dram|ddr[0-9]?|ram($|[^a-z]))|(per|a) (node|host|server|machine))");
  const bool isBoard = board.match(text);
  llvm::SmallVector<llvm::StringRef, 5> matches;
  while (size.match(text, matches)) {
    text = matches[4];
    int64_t gigabytes = 0;
    if (!ofHost.match(text) && !matches[2].getAsInteger(10, gigabytes))
      return isBoard && gigabytes >= leastOfNode ? gigabytes / devicesOfNode : gigabytes;
  }
  return 0;
}

bool isNamed(llvm::StringRef text, const KnownHardware &known) {
  return llvm::all_of(known.words, [&](llvm::StringRef word) { return hasWord(text, word); }) &&
         (known.gigabytes == 0 || memoryIn(text) == known.gigabytes);
}

/// Parts of one name that differ in speed, memory and links, and the memory of those that presets describe.
struct Part {
  llvm::StringLiteral word;
  std::vector<int64_t> gigabytes; ///< none: of any size
};

/// Why a name is that of a part without a preset, though a preset has its word; empty: it is not.
std::string otherPartIn(llvm::StringRef text) {
  const std::vector<int64_t> sizesOfH100 =
      hasWord(text, "hbm2e") ? std::vector<int64_t>{95, 96} : std::vector<int64_t>{80};
  const Part parts[] = {{"v100", {16, 32}}, {"a100", {40, 80}}, {"h100", sizesOfH100}, {"h200", {}}};
  const Part *part = llvm::find_if(parts, [&](const Part &each) { return hasWord(text, each.word); });
  if (part == std::end(parts))
    return "";
  const std::string name = part->word.upper();
  static const Pattern onBoard("sxm|nvswitch|dgx|hgx"), offBoard("(^|[^0-9a-z])(pcie|nvl($|[^0-9a-z]))");
  if (!onBoard.match(text) && offBoard.match(text))
    return "known is the " + name + " as SXM with NVLink, not as PCIe or NVL";
  const int64_t gigabytes = memoryIn(text);
  if (gigabytes == 0 || part->gigabytes.empty() || llvm::is_contained(part->gigabytes, gigabytes))
    return "";
  auto sizes = llvm::map_range(part->gigabytes, [](int64_t size) { return std::to_string(size); });
  return "known is the " + name + " with " + llvm::join(sizes, " or ") + " GB, not with " + std::to_string(gigabytes);
}

/// The figure of the level of nodes that a stated network replaces: of one device, or of all of a node where these
/// share one link.
std::optional<std::string> networkFigure(llvm::StringRef hardware, llvm::StringRef preset, int64_t devicesOfNode) {
  std::optional<NetworkRate> rate = networkIn(hardware);
  if (!rate)
    return std::nullopt;
  const Cluster cluster = llvm::cantFail(loadCluster(preset));
  const bool isShared = llvm::any_of(cluster.pool.levels, [](const Level &level) { return level.shared; });
  const auto devices = static_cast<double>(devicesOfNode);
  const double ofDevice = rate->isOfDevice ? rate->bytesPerSecond : rate->bytesPerSecond / devices;
  const double bytes = isShared ? ofDevice * devices : ofDevice;
  return llvm::formatv("level.node.bytes_per_second={0}MB/s", std::llround(bytes / 1e6)).str();
}

} // namespace

void setCluster(Fields &fields, llvm::StringRef hardware, int64_t devicesOfNode, Measurement &into) {
  constexpr int64_t usualDevices = 8; // of a node, in presets
  if (hardware.empty())
    return fields.leaveOut("no hardware");
  const std::string whole = withMachines(hardware), lower = llvm::StringRef(whole).lower();
  if (std::string reason = otherPartIn(lower); !reason.empty())
    return fields.leaveOut(reason);
  for (const KnownHardware &known : knownHardware()) {
    if (!isNamed(lower, known))
      continue;
    into.cluster = known.preset.str();
    into.overrides = known.overrides;
    bool hasNodes = !known.preset.starts_with("tpu") && !known.preset.starts_with("gb200");
    if (hasNodes && devicesOfNode > 0 && devicesOfNode != usualDevices)
      into.overrides.push_back("level.device.size=" + std::to_string(devicesOfNode));
    if (hasNodes)
      if (auto figure = networkFigure(whole, known.preset, devicesOfNode > 0 ? devicesOfNode : usualDevices))
        into.overrides.push_back(*figure);
    return;
  }
  fields.leaveOut("hardware without a preset: " + hardware.take_front(40).str());
}

} // namespace apc
