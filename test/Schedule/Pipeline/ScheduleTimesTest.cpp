// The steps, spans and peaks of schedules: tables, closed forms on random numbers inside their conditions, and figures
// of papers.
#include "EqualWorkers.h"

#include <cmath>
#include <random>

using namespace apc;

namespace {

struct Row {
  const char *schedule;
  uint32_t chunks, pieces;
  std::optional<uint32_t> warmUpFactor;
  std::array<std::array<double, 3>, 3>
      seconds;                                 ///< by size: step without hops, step with hops of 1 s, span without hops
  std::array<std::array<int64_t, 2>, 2> peaks; ///< chunks on the first and the last worker, for the first two sizes
};

// f, i, w = 4, 6, 2 s per worker and micro-batch; (p, m) = (4, 8), (8, 16), (4, 12).
const Row table[] = {
    {"gpipe", 1, 1, {}, {{{132, 138, 132}, {276, 290, 276}, {180, 186, 180}}}, {{{8, 8}, {16, 16}}}},
    {"1f1b", 1, 1, {}, {{{132, 148, 132}, {276, 316, 276}, {180, 202, 180}}}, {{{4, 1}, {8, 1}}}},
    {"eager-1f1b", 1, 1, {}, {{{132, 138, 132}, {276, 290, 276}, {180, 186, 180}}}, {{{7, 1}, {15, 1}}}},
    {"interleaved", 2, 1, {}, {{{114, 128, 114}, {234, 264, 234}, {162, 176, 162}}}, {{{11, 5}, {23, 9}}}},
    {"interleaved", 2, 1, 1, {{{114, 144, 114}, {234, 304, 234}, {162, 204, 162}}}, {{{8, 5}, {16, 9}}}},
    {"interleaved-short", 2, 1, {}, {{{114, 144, 114}, {234, 304, 234}, {162, 204, 162}}}, {{{8, 5}, {16, 9}}}},
    {"bfs", 2, 1, {}, {{{114, 120, 114}, {234, 248, 234}, {162, 168, 162}}}, {{{16, 16}, {32, 32}}}},
    {"seqpipe", 1, 2, {}, {{{114, 140, 114}, {234, 300, 234}, {162, 200, 162}}}, {{{5, 2}, {9, 2}}}},
    {"zb-h1", 1, 1, {}, {{{120, 132, 120}, {248, 276, 248}, {168, 180, 168}}}, {{{4, 1}, {8, 1}}}},
    {"zb-h2", 1, 1, {}, {{{114, 120, 114}, {234, 248, 234}, {162, 168, 162}}}, {{{7, 1}, {15, 1}}}},
    {"interleaved-zb", 2, 1, {}, {{{108, 129, 108}, {220, 269, 220}, {156, 183, 156}}}, {{{8, 5}, {16, 9}}}},
    {"zb-v", 2, 1, {}, {{{108, 125, 108}, {220, 261, 220}, {156, 173, 156}}}, {{{8, 8}, {16, 16}}}},
    {"dualpipev", 2, 1, {}, {{{115, 137, 115}, {239, 293, 239}, {163, 191, 163}}}, {{{9, 9}, {17, 17}}}},
};

PipelineCounts countsOf(const Row &row, uint32_t workers, uint32_t microBatches) {
  return {workers, microBatches, row.chunks, row.pieces, {}, row.warmUpFactor};
}

/// Random whole numbers for closed forms.
struct Draw {
  double p, m, v, n, f, i, w, c, b, t;
  PipelineCounts counts;
  EqualWorkers equal;
};

/// `multiple`: m is a multiple of p. Seconds of a worker are multiples of all numbers of chunks and pieces.
Draw drawn(std::mt19937_64 &random, bool multiple, uint32_t chunks = 1, uint32_t pieces = 1) {
  PipelineCounts counts{static_cast<uint32_t>(2 + random() % 6), 1, chunks, pieces};
  counts.microBatches = multiple ? counts.workers * (1 + random() % 4) : 1 + random() % 24;
  auto seconds = [&] { return static_cast<double>(12 * (1 + random() % 10)); };
  Draw d{};
  d.f = seconds(), d.i = seconds(), d.w = seconds(), d.c = static_cast<double>(random() % 60);
  d.p = counts.workers, d.m = counts.microBatches, d.v = chunks, d.n = pieces;
  d.b = d.i + d.w, d.t = d.f + d.b;
  d.counts = counts;
  d.equal = {d.f, d.i, d.w, d.c};
  return d;
}

/// Calls `check` with draws until 150 of them were inside its condition, for which it returns true.
void manyDraws(bool multiple, llvm::function_ref<bool(const Draw &)> check, uint32_t chunks = 1, uint32_t pieces = 1) {
  std::mt19937_64 random(chunks * 10 + pieces);
  size_t numInside = 0;
  for (size_t tries = 0; tries < 20000 && numInside < 150; ++tries) {
    Draw d = drawn(random, multiple, chunks, pieces);
    INFO("p " << d.p << ", m " << d.m << ", f " << d.f << ", i " << d.i << ", w " << d.w << ", c " << d.c);
    numInside += check(d);
  }
  CHECK(numInside == 150);
}

/// (cost - m t) / cost to four digits.
double bubbleRate(double cost, double ideal) { return std::round(10000 * (cost - ideal) / cost) / 10000; }

} // namespace

TEST_CASE("schedules take the steps and the spans of the table") {
  constexpr std::array<std::pair<uint32_t, uint32_t>, 3> sizes = {{{4, 8}, {8, 16}, {4, 12}}};
  for (const Row &row : table)
    for (size_t size = 0; size < sizes.size(); ++size) {
      INFO(row.schedule << " " << row.warmUpFactor.value_or(0) << ", size " << size);
      PipelineCounts counts = countsOf(row, sizes[size].first, sizes[size].second);
      PipelineTime free = timeOf(row.schedule, counts, {}), hops = timeOf(row.schedule, counts, {.hop = 1});
      CHECK(free.stepSeconds == row.seconds[size][0]);
      CHECK(hops.stepSeconds == row.seconds[size][1]);
      CHECK(free.spanSeconds == row.seconds[size][2]);
      if (size < 2) {
        CHECK(peaksOf(free).front() == row.peaks[size][0]);
        CHECK(peaksOf(free).back() == row.peaks[size][1]);
      }
    }
}

TEST_CASE("schedules take the steps of equal F, I and W") {
  EqualWorkers units{1, 1, 1};
  CHECK(stepOf("gpipe", {4, 8}, units) == 33);
  CHECK(stepOf("1f1b", {4, 8}, units) == 33);
  CHECK(stepOf("interleaved", {4, 8, 2}, units) == 28.5);
  CHECK(stepOf("zb-h1", {4, 8}, units) == 27);
  CHECK(stepOf("zb-h2", {4, 8}, units) == 27);
  CHECK(timeOf("zb-h2", {4, 8}, units).spanSeconds == 24);
  CHECK(stepOf("zb-v", {4, 8, 2}, units) == 25.5);
  CHECK(timeOf("zb-v", {4, 8, 2}, units).spanSeconds == 24);
  CHECK(stepOf("interleaved-zb", {4, 8, 2}, units) == 25.5);
  CHECK(stepOf("dualpipev", {4, 8, 2}, units) == 27);
  CHECK(stepOf("dualpipe", {4, 8, 2}, units) == 26);
  CHECK(stepOf("dualpipe", {4, 8, 2}, {.f = 1, .i = 1, .w = 1, .pairShare = 0}) == 22);
  CHECK(stepOf("dualpipe", {4, 8, 2}, {.f = 4, .i = 5, .w = 3, .pairShare = 0.5}) == 98);
  // DeepSeek-V3's larger ones.
  CHECK(stepOf("dualpipe", {8, 20, 2}, units) == 66);
  CHECK(stepOf("dualpipe", {8, 20, 2}, {.f = 1, .i = 1, .w = 1, .pairShare = 0}) == 52);
  CHECK(stepOf("dualpipe", {8, 16, 2}, units) == 54);
  CHECK(peaksOf(timeOf("dualpipe", {8, 20, 2}, units)) == std::vector<int64_t>(8, 9));
}

TEST_CASE("interleaved schedules take the steps of groups of other sizes") {
  EqualWorkers units{1, 1, 1};
  CHECK(stepOf("interleaved", {4, 10, 2, 1, 5}, units) == 34.5);
  CHECK(stepOf("interleaved", {4, 8, 2, 1, 8}, units) == 28.5);
  CHECK(peaksOf(timeOf("interleaved", {4, 8, 2, 1, 8}, units)) == std::vector<int64_t>{15, 13, 11, 9});
  CHECK(stepOf("interleaved", {4, 12, 2, 1, 6}, units) == 40.5);
  // Llama 3: the bubble is (p - 1) / (v m) of the ideal time, whatever the size of the groups.
  for (uint32_t size : {4, 6, 8, 12, 24})
    CHECK(stepOf("interleaved", {4, 24, 3, 1, size}, {3, 3, 3}) == Approx(24 * 9 * (1 + 3.0 / (3 * 24))));
  // The 16 workers of its 405B model, of 8 chunks each.
  for (uint32_t size : {16, 32})
    CHECK(stepOf("interleaved", {16, 32, 8, 1, size}, {8, 8, 8}) == Approx(32 * 24 * (1 + 15.0 / (8 * 32))));
}

TEST_CASE("schedules follow their closed forms") {
  manyDraws(false, [](const Draw &d) {
    CHECK(stepOf("gpipe", d.counts, d.equal) == (d.m + d.p - 1) * d.t + 2 * (d.p - 1) * d.c);
    return true;
  });
  manyDraws(true, [](const Draw &d) {
    CHECK(stepOf("1f1b", d.counts, d.equal) == (d.m + d.p - 1) * d.t + 2 * d.c * ((d.p - 1) * d.m / d.p + d.p - 2));
    return true;
  });
  manyDraws(false, [](const Draw &d) {
    if (2 * d.c <= d.t)
      CHECK(stepOf("eager-1f1b", d.counts, d.equal) == (d.m + d.p - 1) * d.t + 2 * (d.p - 1) * d.c);
    return 2 * d.c <= d.t;
  });
  manyDraws(
      true,
      [](const Draw &d) { // equal pieces
        EqualWorkers free{d.f, d.i, d.w};
        CHECK(stepOf("seqpipe", d.counts, free) == (d.m * 3 + d.p - 1) * d.t / 3);
        return true;
      },
      1, 3);
}

TEST_CASE("schedules of several chunks follow their closed forms") {
  manyDraws(
      true,
      [](const Draw &d) {
        bool isInside = d.c <= std::min(d.f, d.b) / d.v;
        if (isInside)
          CHECK(stepOf("interleaved", d.counts, d.equal) ==
                (d.m * d.v + d.p - 1) * d.t / d.v + 2 * (d.p * d.v - 1) * d.c);
        return isInside;
      },
      3);
  manyDraws(
      true,
      [](const Draw &d) {
        PipelineCounts brief = d.counts;
        brief.warmUpFactor = 1;
        CHECK(stepOf("interleaved", brief, {d.f, d.i, d.w}) == (d.m * d.v + d.p - 1) * d.t / d.v);
        return true;
      },
      2);
  manyDraws(
      false,
      [](const Draw &d) {
        bool isInside = d.p * d.c <= (d.m - d.p) * std::min(d.f, d.b) / d.v;
        if (isInside)
          CHECK(stepOf("bfs", d.counts, d.equal) == (d.m * d.v + d.p - 1) * d.t / d.v + 2 * (d.p - 1) * d.c);
        return isInside;
      },
      2);
  manyDraws(
      true,
      [](const Draw &d) {
        if (d.m == d.p)
          CHECK(stepOf("bfs", d.counts, d.equal) == (d.m * d.v + d.p - 1) * d.t / d.v + 2 * (d.p * d.v - 1) * d.c);
        return d.m == d.p;
      },
      2);
}

TEST_CASE("zero-bubble schedules follow their closed forms, and never undercut them") {
  manyDraws(false, [](const Draw &d) {
    if (d.m < 2 * d.p)
      return false;
    double form = d.m * d.t + (d.p - 1) * (d.f + d.i - d.w + 4 * d.c), step = stepOf("zb-h1", d.counts, d.equal);
    CHECK(step >= form);
    bool isInside = d.w <= std::min(d.f, d.i) && 2 * d.c <= d.w;
    if (isInside)
      CHECK(step == form);
    return isInside;
  });
  manyDraws(false, [](const Draw &d) {
    if (d.m < 2 * d.p)
      return false;
    double form = d.m * d.t + (d.p - 1) * (d.f + d.i - 2 * d.w + 2 * d.c);
    double span = timeOf("zb-h2", d.counts, d.equal).spanSeconds;
    CHECK(span >= form);
    bool isInside = d.c <= d.w && d.w <= std::min(d.f, d.i);
    if (isInside)
      CHECK(span == form);
    return isInside;
  });
  CHECK(stepOf("zb-h1", {3, 9}, {16, 4, 7}) > 9 * 27 + 2 * (16 + 4 - 7));
  manyDraws(false, [](const Draw &d) { // few micro-batches
    bool isInside = d.m <= d.p && d.w <= std::min(d.f, d.i);
    if (isInside)
      CHECK(stepOf("zb-h1", d.counts, {d.f, d.i, d.w}) == (d.m + d.p - 1) * (d.f + d.i) + d.w);
    return isInside;
  });
  manyDraws(
      false,
      [](const Draw &d) {
        if (d.m >= 2 * d.p)
          CHECK(timeOf("zb-v", d.counts, {d.f, d.f, d.f}).spanSeconds == d.m * 3 * d.f);
        return d.m >= 2 * d.p;
      },
      2);
}

TEST_CASE("DualPipe and its V follow their closed forms") {
  for (uint32_t p : {2, 4, 6, 8, 12})
    for (uint32_t m : {2 * p, 2 * p + 2, 3 * p, 5 * p}) {
      // Bubble: (p / 2 - 1) (F&B + B - 3 W), where B is the whole backward pass: 2 of f, i, w = 1 and F&B = 3.
      CHECK(stepOf("dualpipe", {p, m, 2}, {1, 1, 1}) == 3.0 * m + (p / 2.0 - 1) * (3 + 2 - 3));
      CHECK(stepOf("dualpipev", {p, m, 2}, {2, 2, 2}) == 6.0 * m + (p - 1) * (3 + 2 - 3.0));
      CHECK(peaksOf(timeOf("dualpipe", {p, m, 2}, {1, 1, 1})) == std::vector<int64_t>(p, p + 1));
      CHECK(peaksOf(timeOf("dualpipev", {p, m, 2}, {1, 1, 1})) == std::vector<int64_t>(p, 2 * p + 1));
    }
}

TEST_CASE("Chimera's bubble is that of its paper") {
  for (uint32_t p : {2, 4, 6, 8, 12, 16}) {
    double step = stepOf("chimera", {p, p, 2}, {1, 1, 0});
    INFO("p " << p);
    CHECK(1 - 2 * p / step == Approx((p - 2.0) / (2 * p + p - 2.0)));
    for (int64_t peak : peaksOf(timeOf("chimera", {p, p, 2}, {1, 1, 0})))
      CHECK((peak >= p / 2 + (p > 2) && peak <= p));
  }
  CHECK(1 - 4 * 3 / stepOf("chimera", {4, 4, 2}, {1, 2, 0}) == Approx(0.25));
  CHECK(1 - 8 * 3 / stepOf("chimera", {8, 8, 2}, {1, 2, 0}) == Approx(1.0 / 3));
}

TEST_CASE("peaks follow their closed forms on every worker") {
  for (uint32_t p : {2, 3, 5, 8})
    for (uint32_t m : {2 * p, 4 * p})
      for (int64_t kept : {0, 1}) {
        auto peaks = [&](llvm::StringRef schedule, uint32_t chunks = 1, uint32_t factor = 0) {
          PipelineCounts counts{p, m, chunks};
          if (factor)
            counts.warmUpFactor = factor;
          return peaksOf(timeOf(schedule, counts, {.f = 1, .i = 1, .w = 1, .keptBytes = kept}));
        };
        for (int64_t r = 0; r < p; ++r) {
          INFO("p " << p << ", m " << m << ", r " << r << ", kept " << kept);
          CHECK(peaks("gpipe")[r] == m);
          CHECK(peaks("1f1b")[r] == p - r);
          CHECK(peaks("eager-1f1b")[r] == 2 * (p - r) - 1);
          CHECK(peaks("interleaved", 3)[r] == 2 * p + 2 * (p - 1 - r) + 1);
          CHECK(peaks("interleaved", 3, 1)[r] == 2 * p + p - r);
          CHECK(peaks("bfs", 2)[r] == 2 * m);
          // The kept part of r (2 r) further micro-batches waits for its W.
          CHECK(peaks("zb-h1")[r] == p - r + r * kept);
          CHECK(peaks("zb-h2")[r] == 2 * p - 2 * r - 1 + 2 * r * kept);
          CHECK(peaks("zb-v", 2)[r] == 2 * p);
        }
        // Korthikanti's factor of interleaving.
        CHECK(static_cast<double>(peaks("interleaved", 3)[0]) / 3 == Approx(p * (1 + (p - 1) / (3.0 * p))));
        CHECK(peaksOf(timeOf("seqpipe", {p, m, 1, 4}, {}))[0] == p + 4 - 1);
      }
}

TEST_CASE("V-Half and V-Min hold as few activations, and wait as short, as published") {
  for (uint32_t p = 2; p <= 16; ++p) {
    uint32_t m = 4 * p;
    INFO("p " << p);
    auto timed = [&](llvm::StringRef schedule) {
      return timeOf(schedule, {p, m, 2}, {.f = 1, .i = 1, .w = 1, .keptBytes = 1});
    };
    auto most = [&](llvm::StringRef schedule) { // of halves of a worker's activations, each kept until its W
      auto peaks = peaksOf(timed(schedule));
      return *llvm::max_element(peaks);
    };
    CHECK(most("v-half") == 2 * ((p + 2) / 2));
    CHECK(most("v-min") == 2 * ((p + 4) / 3));
    // Qi et al. give 1/2 and 2/3 of the bubble of 1F1B for many workers; with few, pauses between blocks weigh more.
    auto bubbles = [&](llvm::StringRef schedule) { return (timed(schedule).stepSeconds - 6.0 * m) / (6.0 * (p - 1)); };
    CHECK(bubbles("v-half") <= (p == 2 ? 0.84 : 0.67));
    CHECK(bubbles("v-min") <= (p == 3 ? 0.75 : 0.70));
  }
}

TEST_CASE("so many warm-up actions leave less than one of them before the first I") {
  std::mt19937_64 random(8);
  for (size_t draw = 0; draw < 200; ++draw) {
    auto seconds = [&](uint64_t most) { return static_cast<double>(random() % most); };
    uint32_t p = 2 + random() % 6;
    double f = 1 + seconds(9), i = seconds(20), c = seconds(9);
    // Zero Bubble, section 4.1: the first I comes after F through all workers, I through all others, and the hops.
    auto warmUp = static_cast<uint32_t>(((p - 1) * (i + 2 * c) + p * f) / f);
    ActionLists lists = listsOf("zb-h1", {p, warmUp});
    std::stable_sort(lists.workers[0].begin(), lists.workers[0].end(),
                     [](const Slot &a, const Slot &b) { return a.action.kind < b.action.kind; }); // all F, all I, all W
    PipelineWork work = workOf(lists.shape, {f, i, 0, c});
    work.stages[0].inputGradientSeconds = 10000; // so long that only the first I of worker 0 is waited for
    double firstInput = valueOf(simulatePipeline(lists, work)).workers[0].finishSeconds - 10000.0 * warmUp;
    CHECK(firstInput == (p - 1) * (i + 2 * c) + p * f);
    CHECK(firstInput >= warmUp * f);
    CHECK(firstInput < (warmUp + 1) * f);
  }
}

TEST_CASE("bubble rates are those of Zero Bubble's table 5") {
  struct Published {
    uint32_t p, m;
    double i, w, c;
    std::array<double, 3> rates; ///< 1F1B, ZB-H1, ZB-H2
    uint32_t chunks;
    double interleaved; ///< exact; the paper charges the way back to the first worker once per group only
  };
  const Published rows[] = {
      {8, 24, 97646, 50410, 3245, {0.2431, 0.1585, 0.1083}, 3, 0.1090},
      {8, 32, 97694, 50402, 3381, {0.1985, 0.1242, 0.0837}, 3, 0.0847},
      {8, 24, 99078, 67054, 1773, {0.2347, 0.1323, 0.0698}, 4, 0.0827},
      {16, 48, 99128, 71667, 3322, {0.2552, 0.1397, 0.0672}, 3, 0.1136},
      {16, 64, 99531, 71646, 3352, {0.2082, 0.1088, 0.0516}, 3, 0.0878},
      {32, 96, 97965, 74047, 3916, {0.2646, 0.1421, 0.0641}, 2, 0.1528},
  };
  for (const Published &row : rows) {
    EqualWorkers equal{100000, row.i, row.w, row.c};
    double ideal = row.m * (100000 + row.i + row.w);
    INFO("p " << row.p << ", m " << row.m);
    CHECK(bubbleRate(timeOf("1f1b", {row.p, row.m}, equal).spanSeconds, ideal) == row.rates[0]);
    CHECK(bubbleRate(timeOf("zb-h1", {row.p, row.m}, equal).spanSeconds, ideal) == row.rates[1]);
    CHECK(bubbleRate(timeOf("zb-h2", {row.p, row.m}, equal).spanSeconds, ideal) == row.rates[2]);
    CHECK(bubbleRate(timeOf("interleaved", {row.p, row.m, row.chunks}, equal).spanSeconds, ideal) == row.interleaved);
  }
}
