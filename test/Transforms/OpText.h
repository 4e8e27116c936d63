// Ops and constants as text.
#pragma once

#include <string>

namespace apc {

inline std::string op(const std::string &result, const std::string &name, const std::string &operands,
                      const std::string &types, const std::string &type = "tensor<4x8xf32>",
                      const std::string &attributes = "") {
  return "  %" + result + " = \"apc." + name + "\"(" + operands + ") {" + attributes + "} : (" + types + ") -> " +
         type + "\n";
}

inline std::string constant(const std::string &name, double value, const std::string &type = "f32") {
  return "  %" + name + " = apc.constant dense<" + std::to_string(value) + "> : tensor<" + type + ">\n";
}

} // namespace apc
