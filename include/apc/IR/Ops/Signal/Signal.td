// Signal processing: Fourier transforms, and the determinant.
include "apc/IR/Base.td"

class Apc_Signal<string mnemonic, list<string> onnx, string function> : Apc_Op<mnemonic, onnx> {
  let inferBody = "{ return ::apc::infer" # function # "(getOperation(), types); }";
  let ruleBody = "{ return ::apc::rule" # function # "(getOperation()); }";
  let evaluates = 1;
  let differentiates = 1;
}

def Apc_DFTOp : Apc_Signal<"dft", ["DFT"], "Dft"> {
  let summary = "The discrete Fourier transform along one dim of [..., 1] (real) or [..., 2] (complex)";
  let arguments = (ins Apc_Tensor:$input, Apc_Optional:$dft_length, Apc_Optional:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$inverse, DefaultValuedAttr<I64Attr, "0">:$onesided,
                       DefaultValuedAttr<I64Attr, "23">:$opset_version);
  let types = "float, index, index";
  let results = (outs Apc_Tensor:$output);
}

def Apc_STFTOp : Apc_Signal<"stft", ["STFT"], "Stft"> {
  let summary = "Fourier transforms of frames that slide over a signal [b, s], [b, s, 1] or [b, s, 2]: [b, frames, bins, 2]";
  let arguments = (ins Apc_Tensor:$signal, Apc_Tensor:$frame_step, Apc_Optional:$window, Apc_Optional:$frame_length,
                       DefaultValuedAttr<I64Attr, "1">:$onesided);
  let types = "T: float, index, T, index";
  let results = (outs Apc_Tensor:$output);
}

def Apc_DetOp : Apc_Signal<"det", ["Det"], "Det"> {
  let summary = "The determinant of each square matrix [..., m, m]";
  let arguments = (ins Apc_Tensor:$X);
  let types = "float";
  let results = (outs Apc_Tensor:$Y);
}

// The gradient of `det`, also of singular matrices.
def Apc_CofactorsOp : Apc_Signal<"cofactors", [], "Cofactors"> {
  let summary = "The determinant without row i and column j of each square matrix [..., m, m], with the sign of i + j";
  let arguments = (ins Apc_Tensor:$X);
  let types = "float";
  let results = (outs Apc_Tensor:$Y);
  let differentiates = 0;
}
