// Message and fault of an llvm::Error.
#include "apc/Support/Error.h"

namespace apc {

char PlannerError::ID = 0;

namespace {

/// The gravest of two faults: ours before the user's before "no plan", so that a mixed list is not called harmless.
Fault graver(Fault a, Fault b) { return static_cast<int>(a) >= static_cast<int>(b) ? a : b; }

} // namespace

Fault faultOf(const llvm::Error &error) {
  Fault fault = Fault::NoPlan;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &own) {
    fault =
        graver(fault, own.isA<PlannerError>() ? static_cast<const PlannerError &>(own).getFault() : Fault::Internal);
  });
  return fault;
}

std::pair<Fault, std::string> takeMessage(llvm::Error error) {
  Fault fault = Fault::NoPlan;
  std::string text;
  auto append = [&](Fault of, const std::string &message) {
    fault = graver(fault, of);
    if (!text.empty())
      text += '\n';
    text += message;
  };
  llvm::handleAllErrors(
      std::move(error),
      [&](const PlannerError &ours) {
        std::string message;
        llvm::raw_string_ostream os(message);
        ours.log(os);
        append(ours.getFault(), message);
      },
      [&](const llvm::ErrorInfoBase &foreign) { append(Fault::Internal, foreign.message()); });
  return {fault, text};
}

} // namespace apc
