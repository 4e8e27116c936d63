// The errors that leave a room: who is at fault decides the exit code of the tool.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

#include <string>
#include <utility>

namespace apc {

/// Whose fault an error is, with the exit code that the tool returns for it.
enum class Fault : int {
  NoPlan = 1,   ///< the input is fine, but no plan exists or a check failed
  Input = 2,    ///< the model, a flag, a file: the user can mend it
  Internal = 3, ///< ours
};

/// An error with a message for the user: names file, op and value, and says what would be accepted.
class PlannerError : public llvm::ErrorInfo<PlannerError> {
public:
  static char ID;

  PlannerError(Fault fault, std::string message) : fault(fault), text(std::move(message)) {}

  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  Fault getFault() const { return fault; }

private:
  Fault fault;
  std::string text;
};

/// The user's fault: `inputError("model.onnx: node 'a': axis {0} is outside [-{1}, {1})", 7, 3)`.
template <typename... Args>
llvm::Error inputError(const char *format, Args &&...args) {
  return llvm::make_error<PlannerError>(Fault::Input, llvm::formatv(format, std::forward<Args>(args)...).str());
}

/// No plan: the input is understood, but nothing satisfies it.
template <typename... Args>
llvm::Error noPlanError(const char *format, Args &&...args) {
  return llvm::make_error<PlannerError>(Fault::NoPlan, llvm::formatv(format, std::forward<Args>(args)...).str());
}

/// Our fault, found at run time: says what was being done.
template <typename... Args>
llvm::Error internalError(const char *format, Args &&...args) {
  return llvm::make_error<PlannerError>(Fault::Internal, llvm::formatv(format, std::forward<Args>(args)...).str());
}

/// The fault of `error`, which stays as it is: the gravest of several, Internal of foreign ones.
Fault faultOf(const llvm::Error &error);

/// Consumes `error`; returns its fault (Internal for foreign errors) and its message.
std::pair<Fault, std::string> takeMessage(llvm::Error error);

} // namespace apc
