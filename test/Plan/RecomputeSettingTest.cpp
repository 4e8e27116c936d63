// Texts of policies of recomputation and the layers that they hold for.
#include "../ValueOf.h"

#include "apc/Plan/RecomputeChoice.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Settings of recomputation are read and written back") {
  for (const char *text : {"none", "norms", "attention", "mlp", "branches", "full", "auto", "norms:1", "full:26",
                           "full:26,norms", "mlp:3,attention", "norms:1,full"})
    CHECK(valueOf(parseRecomputeSetting(text, "--recompute")).str() == text);
  CHECK(valueOf(parseRecomputeSetting("full:26", "--recompute")) == RecomputeSetting(RecomputeChoice::Full, 26));
  CHECK(valueOf(parseRecomputeSetting("mlp", "--recompute")) == RecomputeChoice::Mlp);
  CHECK_FALSE(valueOf(parseRecomputeSetting("mlp:2", "--recompute")) == RecomputeChoice::Mlp);
  CHECK(valueOf(parseRecomputeSetting("full:26,norms", "--recompute")) ==
        RecomputeSetting(RecomputeChoice::Full, 26, RecomputeChoice::Norms));
}

TEST_CASE("Texts that are no settings of recomputation are refused") {
  for (const char *text :
       {"", "some", "full:", "full:0", "full:-1", "full:x", "none:2", "auto:2", "full:1:2", "full,norms", "full:2,",
        "full:2,full", "full:2,none", "full:2,auto", "full:2,norms:3", "full:2,norms,mlp", "none:2,norms", ",norms"}) {
    INFO(text);
    auto setting = parseRecomputeSetting(text, "--recompute");
    REQUIRE(!setting);
    auto [fault, message] = takeMessage(setting.takeError());
    CHECK(fault == Fault::Input);
    CHECK_THAT(message, Catch::StartsWith(std::string("--recompute ") + text + ": accepted are 'none'") &&
                            Catch::Contains("'full:26'") && Catch::Contains("'full:26,norms'"));
  }
}
