// Recurrent operators: cells that carry a state from each position of a sequence to the next, in one direction or both.
include "apc/IR/Base.td"

// X is [s, b, i], W [d, gates * h, i], R [d, gates * h, h], B [d, 2 * gates * h], initial states [d, b, h], the result [s, d, b, h]; with
// `layout` 1 the batch b stands first in sequences and states. Batch and directions d may be cut. Hidden units may not: each position's
// product with R takes the whole state of the position before, so a cut would have to gather the state at every one of s positions; nor may
// inputs i, whose sums enter an activation. On a piece `offsets` is the first direction.
class Apc_Recurrent<string mnemonic, list<string> onnx, string cell> : Apc_Op<mnemonic, onnx> {
  dag sequences = (ins Apc_Tensor:$X, Apc_Tensor:$W, Apc_Tensor:$R, Apc_Optional:$B, Apc_Optional:$sequence_lens,
                       Apc_Optional:$initial_h);
  dag arriving = (ins Apc_Optional:$dY, Apc_Optional:$dY_h);
  dag settings = (ins OptionalAttr<DenseF32ArrayAttr>:$activation_alpha, OptionalAttr<DenseF32ArrayAttr>:$activation_beta,
                      OptionalAttr<StrArrayAttr>:$activations, OptionalAttr<F32Attr>:$clip,
                      DefaultValuedAttr<Apc_OneOf<["forward", "reverse", "bidirectional"]>, "\"forward\"">:$direction,
                      OptionalAttr<I64Attr>:$hidden_size, DefaultValuedAttr<Apc_OneOfInts<[0, 1]>, "0">:$layout);
  dag places = (ins Apc_Offsets:$offsets);
  let inferBody = "{ return ::apc::inferRecurrent(getOperation(), ::apc::Cell::" # cell # ", types); }";
  let ruleBody = "{ return ::apc::ruleRecurrent(getOperation(), ::apc::Cell::" # cell # "); }";
  let evaluation = "::apc::evaluateRecurrent(op, operands, ::apc::Cell::" # cell # ")";
  let gradient = "return ::apc::differentiateRecurrent(g, ::apc::Cell::" # cell # ");";
  let local = "::apc::localizeRecurrent(local);";
}

// The backward pass through the positions, from the operands and what arrives: it runs the cell again. `gates` is the gradient of what is
// added to the gates' sums of the input, `previous` the state that R is multiplied with. The gradients of X, W, R and B are products and sums
// of these.
class Apc_RecurrentGradient<string mnemonic, string cell> : Apc_Recurrent<mnemonic, [], cell> {
  let inferBody = "{ return ::apc::inferRecurrentGradient(getOperation(), ::apc::Cell::" # cell # ", types); }";
  let ruleBody = "{ return ::apc::ruleRecurrentGradient(getOperation(), ::apc::Cell::" # cell # "); }";
  let evaluation = "::apc::evaluateRecurrentGradient(op, operands, ::apc::Cell::" # cell # ")";
  let gradient = "return false;";
}

def Apc_RNNOp : Apc_Recurrent<"rnn", ["RNN"], "Rnn"> {
  let summary = "H = f(W x + R H' + Wb + Rb) with H' of the position before";
  let arguments = !con(sequences, settings, places);
  let types = "T: float, T, T, T, i32, T";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$Y_h);
}
def Apc_RNNGradOp : Apc_RecurrentGradient<"rnn_grad", "Rnn"> {
  let summary = "Gradients of rnn through the positions";
  let arguments = !con(sequences, arriving, settings, places);
  let types = "T: float, T, T, T, i32, T, T, T";
  let results = (outs Apc_Tensor:$gates, Apc_Optional:$previous, Apc_Optional:$initial_h_gradient);
}

def Apc_GRUOp : Apc_Recurrent<"gru", ["GRU"], "Gru"> {
  let summary = "H = (1 - z) g(W x + R (r H') + b) + z H' with gates z and r: f(W x + R H' + b)";
  let description = [{ With `linear_before_reset` the third sum is W x + Wb + r (R H' + Rb). }];
  dag reset = (ins DefaultValuedAttr<I64Attr, "0">:$linear_before_reset);
  let arguments = !con(sequences, settings, reset, places);
  let types = "T: float, T, T, T, i32, T";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$Y_h);
}
def Apc_GRUGradOp : Apc_RecurrentGradient<"gru_grad", "Gru"> {
  let summary = "Gradients of gru through the positions";
  let description = [{
    `reset` is r H', that with which the third block of R is multiplied; with `linear_before_reset` it is H' as for the others, and
    `recurrent` is the gradient of what is added to the gates' sums of the state.
  }];
  dag reset = (ins DefaultValuedAttr<I64Attr, "0">:$linear_before_reset);
  let arguments = !con(sequences, arriving, settings, reset, places);
  let types = "T: float, T, T, T, i32, T, T, T";
  let results = (outs Apc_Tensor:$gates, Apc_Optional:$previous, Apc_Optional:$initial_h_gradient, Apc_Optional:$reset,
                      Apc_Optional:$recurrent);
}

def Apc_LSTMOp : Apc_Recurrent<"lstm", ["LSTM"], "Lstm"> {
  let summary = "C = f C' + i c, H = o h(C) with gates i, o, f of f(W x + R H' + P C' + b) and c = g(W x + R H' + b)";
  let description = [{ The gate o is asked with C, not with C'. With `input_forget` f is 1 - i. }];
  dag cells = (ins Apc_Optional:$initial_c, Apc_Optional:$P);
  dag coupling = (ins DefaultValuedAttr<I64Attr, "0">:$input_forget);
  let arguments = !con(sequences, cells, settings, coupling, places);
  let types = "T: float, T, T, T, i32, T, T, T";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$Y_h, Apc_Optional:$Y_c);
}
def Apc_LSTMGradOp : Apc_RecurrentGradient<"lstm_grad", "Lstm"> {
  let summary = "Gradients of lstm through the positions";
  let description = [{ `cells` are the cells that P is multiplied with: C' for i, C for o, C' for f. }];
  dag cells = (ins Apc_Optional:$initial_c, Apc_Optional:$P);
  dag coupling = (ins DefaultValuedAttr<I64Attr, "0">:$input_forget);
  let arguments = !con(sequences, cells, arriving, (ins Apc_Optional:$dY_c), settings, coupling, places);
  let types = "T: float, T, T, T, i32, T, T, T, T, T, T";
  let results = (outs Apc_Tensor:$gates, Apc_Optional:$previous, Apc_Optional:$initial_h_gradient,
                      Apc_Optional:$initial_c_gradient, Apc_Optional:$cells);
}
