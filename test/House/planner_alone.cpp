// A program of the planner's libraries and nothing else: it links when no room above the rule needs MLIR.
int main() { return 0; }
