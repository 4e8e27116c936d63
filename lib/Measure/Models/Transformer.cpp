// Models of the three kinds out of their layers.
#include "Layers.h"

namespace apc {

static std::string writeDecoder(const TransformerShape &shape) {
  LayerWriter writer(shape);
  std::string x = writer.embed("/", writer.tokens("tokens", shape.sequence), shape.sequence);
  std::string mask = writer.causalMask("/mask/", shape.sequence);
  for (int64_t index = 0; index < shape.layers; ++index)
    x = writer.layer("/h." + std::to_string(index), x, mask, shape.sequence);
  writer.output(writer.head("/head", writer.norm("/norm", x)));
  return writer.take();
}

static std::string writeEncoder(const TransformerShape &shape) {
  LayerWriter writer(shape);
  std::string x = writer.embed("/", writer.tokens("tokens", shape.sequence), shape.sequence);
  for (int64_t index = 0; index < shape.layers; ++index)
    x = writer.layer("/h." + std::to_string(index), x, /*mask=*/"", shape.sequence);
  writer.output(writer.head("/head", writer.transform("/transform", writer.norm("/norm", x))));
  return writer.take();
}

static std::string writeEncoderDecoder(const TransformerShape &shape) {
  LayerWriter writer(shape);
  std::string tokens = writer.tokens("tokens", shape.sequence);
  std::string targets = writer.tokens("targets", shape.decoderSequence);
  std::string memory = writer.embed("/encoder/", tokens, shape.sequence);
  for (int64_t index = 0; index < shape.layers; ++index)
    memory = writer.layer("/encoder/h." + std::to_string(index), memory, /*mask=*/"", shape.sequence);
  memory = writer.norm("/encoder/norm", memory);
  std::string x = writer.embed("/decoder/", targets, shape.decoderSequence);
  std::string mask = writer.causalMask("/decoder/mask/", shape.decoderSequence);
  for (int64_t index = 0; index < shape.decoderLayers; ++index)
    x = writer.layer("/decoder/h." + std::to_string(index), x, mask, shape.decoderSequence, memory, shape.sequence);
  writer.output(writer.head("/head", writer.norm("/decoder/norm", x)));
  return writer.take();
}

std::string writeTransformer(const TransformerShape &shape) {
  switch (shape.kind) {
  case TransformerKind::Decoder:
    return writeDecoder(shape);
  case TransformerKind::Encoder:
    return writeEncoder(shape);
  case TransformerKind::EncoderDecoder:
    return writeEncoderDecoder(shape);
  }
  return {};
}

} // namespace apc
