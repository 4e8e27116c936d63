// How a training plan stores parameters and optimizer states.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// "adamw; parameters 1.16 GiB on each device, whole; states 352 MiB, 1/8 of all (ZeRO 1: cut further than the
/// parameters)". ZeRO as Rajbhandari et al. 2020 have it: states cut over devices that hold the same parameters are its
/// stage 1, parameters that are gathered for their use its stage 3. States (or parameters, without states) that are cut
/// over some of the axes on which parameters are used whole, and lie on all devices of others, are named: "; hybrid
/// sharding (HSDP): cut over device=8, replicated over node=8", with HSDP where the cuts are at inner levels of the
/// cluster. Empty for plans that train nothing.
std::string storageText(const Plan &plan);

} // namespace apc
