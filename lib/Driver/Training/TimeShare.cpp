// Limits in notes, which searches write as `timeLimitNotes` does.
#include "TimeShare.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace apc {

std::string timeLimitText(double seconds) {
  std::string text;
  llvm::raw_string_ostream(text) << "the time limit of " << llvm::format("%g", seconds) << " s";
  return text;
}

Plan withTimeLimitOf(const PlanRequest &request, Plan plan) {
  const std::string own = timeLimitText(plan.request.timeLimitSeconds), whole = timeLimitText(request.timeLimitSeconds);
  const llvm::StringRef share = "its share of ";
  plan.request.timeLimitSeconds = request.timeLimitSeconds;
  if (own == whole)
    return plan;
  for (std::string &note : plan.notes)
    if (size_t at = note.find(own); at != std::string::npos) {
      bool isShare = llvm::StringRef(note).take_front(at).ends_with(share);
      note.replace(at, own.size(), isShare ? whole : share.str() + whole);
    }
  return plan;
}

std::vector<std::string> notesOnSearchTime(const Plan &searched) {
  std::vector<std::string> notes;
  for (llvm::StringRef note : searched.notes)
    if (note.contains("the time limit of ") &&
        (note.contains(" ended the search") || note.contains(" before all references were costed")))
      notes.push_back(note.str());
  return notes;
}

} // namespace apc
