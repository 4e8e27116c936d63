// A program executed on all its ranks and held against its model on one device.
#pragma once

#include "apc/Import/ModelData.h"
#include "apc/Interpret/Compare.h"
#include "apc/Interpret/Grid.h"

namespace apc {

/// Parameters of a model: its own data where the file has it in the shape wanted, random numbers where it has not. The
/// source refers to `data`.
ParameterSource parametersOf(const ModelData &data);

/// Runs `original` and `program` on random inputs. Integers are as large as `original` accepts them (token numbers stay
/// below the vocabulary). Errors: an op that cannot be evaluated (input); the program cannot be run
/// to its end (a check failed).
llvm::Expected<std::vector<OutputError>> executeProgram(mlir::ModuleOp original, const Program &program,
                                                        const ParameterSource &parameters);

} // namespace apc
