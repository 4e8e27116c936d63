// Clocks that go by work.
#include "apc/Support/WorkClock.h"
#include "apc/Support/Parallel.h"

#include <catch2/catch.hpp>

#include <thread>

using namespace apc;

TEST_CASE("A clock goes by work alone until the wall clock has passed its limit") {
  WorkClock clock(3600);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(clock.seconds() == 0);
  clock.spend(5e9);
  CHECK(clock.seconds() == 5);
  CHECK(clock.isReproducible());
  const Stopwatch watch(clock);
  clock.spend(2e9);
  CHECK(watch.seconds() == 2);
  CHECK_FALSE(clock.isOver());
  clock.spend(3593e9);
  CHECK(clock.isOver());

  WorkClock wall(0);
  wall.spend(1e3);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK_FALSE(wall.isReproducible());
  CHECK(wall.isOver());
  CHECK(wall.seconds() >= 0.002);
}

TEST_CASE("Forks read nothing of each other, and their clock counts all of them") {
  for (unsigned numThreads : {1, 3}) {
    WorkClock clock(3600);
    clock.spend(1e9);
    std::vector<double> readings(8);
    forEach(readings.size(), numThreads, clock, [&](size_t index, const std::shared_ptr<WorkClock> &fork) {
      fork->spend(static_cast<double>(index) * 1e9);
      readings[index] = fork->seconds();
    });
    CHECK(readings == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(clock.seconds() == 1 + 28);
  }
  WorkClock clock(3600);
  auto fork = clock.fork();
  fork->spend(1e9);
  clock.spend(2e9);
  clock.join(*fork);
  CHECK(clock.seconds() == 3);
  CHECK(fork->seconds() == 3); // goes on from there
  clock.join(*fork);
  CHECK(clock.seconds() == 3);
}

TEST_CASE("Work that does not count itself makes readings depend on the machine") {
  WorkClock clock(3600);
  auto fork = clock.fork(), other = clock.fork();
  fork->spendMeasured(1e9);
  CHECK_FALSE(fork->isReproducible());
  CHECK(clock.isReproducible());
  clock.join(*other);
  CHECK(clock.isReproducible());
  clock.join(*fork);
  CHECK_FALSE(clock.isReproducible());
  CHECK_FALSE(clock.fork()->isReproducible());
  CHECK(clock.seconds() == 1);
}
