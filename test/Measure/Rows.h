// Made-up rows of measurements.
#pragma once

#include "apc/Measure/Measurement.h"

#include "ValueOf.h"

#include <map>
#include <string>
#include <vector>

namespace apc {

/// Cells by the name of their column.
using Cells = std::map<std::string, std::string>;

/// A GPT of two layers on two devices that took 0.5 s, with `changes`.
Cells throughputCells(const Cells &changes = {});
/// The same as a row of a test, with a memory of 1 GB.
Cells testCells(const Cells &changes = {});
/// A table of rows that have the same columns.
std::string tableOf(const std::vector<Cells> &rows);
/// The rows of a table.
std::vector<Measurement> readRows(const std::vector<Cells> &rows);
/// The reason for which the row of `throughputCells` with `changes` is left out.
std::string reasonOf(const Cells &changes);

} // namespace apc
