// Rows as tables.
#include "Rows.h"

#include <catch2/catch.hpp>

namespace apc {

static Cells with(Cells cells, const Cells &changes) {
  for (const auto &[column, text] : changes)
    cells[column] = text;
  return cells;
}

Cells throughputCells(const Cells &changes) {
  return with({{"id", "made-1"},
               {"source", "Made up"},
               {"hardware", "NVIDIA A100-80GB, NVLink"},
               {"gpus_per_node", "8"},
               {"num_devices", "2"},
               {"model_family", "GPT"},
               {"layers", "2"},
               {"hidden", "256"},
               {"heads", "4"},
               {"kv_heads", "4"},
               {"ffn", "1024"},
               {"vocab", "1000"},
               {"seq", "128"},
               {"experts/topk", ""},
               {"precision", "bf16"},
               {"global_batch", "8"},
               {"micro_batch", "2"},
               {"tp", "1"},
               {"pp", "1"},
               {"vp", ""},
               {"cp", "1"},
               {"dp", "2"},
               {"ep", ""},
               {"zero_stage", ""},
               {"seq_parallel", "no"},
               {"recompute", "none"},
               {"measured_metric", "step time (s)"},
               {"measured_value", "0.5"},
               {"iteration_time_s", "0.5"},
               {"memory_gb", ""},
               {"trust", "A"},
               {"notes", ""},
               {"use", "T"},
               {"strategy_group", ""}},
              changes);
}

Cells testCells(const Cells &changes) {
  return with({{"id", "test-1"},
               {"test_case", "gpt"},
               {"mode", "pretrain"},
               {"hardware", "H100"},
               {"gpus_per_node", "8"},
               {"num_devices", "2"},
               {"model_family", "gpt"},
               {"layers", "2"},
               {"layer_pattern", ""},
               {"hidden", "256"},
               {"heads", "4"},
               {"kv_heads", "2"},
               {"head_dim", "64"},
               {"ffn", "1024"},
               {"vocab", "1000"},
               {"seq", "128"},
               {"position_embedding", "rope"},
               {"normalization", "RMSNorm"},
               {"activation", "swiglu"},
               {"bias", "no"},
               {"tied_embeddings", "no"},
               {"experts", ""},
               {"topk", ""},
               {"moe_ffn", ""},
               {"precision", "bf16"},
               {"optimizer", "adam"},
               {"global_batch", "8"},
               {"micro_batch", "2"},
               {"tp", "1"},
               {"pp", "2"},
               {"vp", "1"},
               {"cp", "1"},
               {"ep", "1"},
               {"sequence_parallel", "no"},
               {"sharding", "none"},
               {"overlap", ""},
               {"recompute_granularity", ""},
               {"recompute_modules", ""},
               {"iteration_time_s", "0.2"},
               {"time_use", "none"},
               {"mem_max_before_save_bytes", "1000000000"},
               {"notes", ""}},
              changes);
}

std::string tableOf(const std::vector<Cells> &rows) {
  std::string text;
  for (const auto &[column, cell] : rows.front())
    text += (text.empty() ? "" : ",") + column;
  for (const Cells &row : rows) {
    std::string line;
    for (const auto &[column, cell] : row)
      line += (line.empty() ? "\n\"" : ",\"") + cell + "\"";
    text += line;
  }
  return text + "\n";
}

std::vector<Measurement> readRows(const std::vector<Cells> &rows) {
  return valueOf(parseMeasurements(tableOf(rows), "made.csv"));
}

std::string reasonOf(const Cells &changes) { return readRows({throughputCells(changes)}).front().leftOut; }

} // namespace apc
