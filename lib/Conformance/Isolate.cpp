// Forks, polls and reaps.
#include "Isolate.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

struct Process {
  size_t index = 0;
  pid_t id = -1;
  int result = -1, messages = -1; ///< read ends: what the work gives, its stderr
  std::string text, log;
  bool isLate = false;
  Clock::time_point start;

  bool isOpen() const { return result >= 0 || messages >= 0; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
};

void writeAll(int descriptor, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return;
    text = text.drop_front(count < 0 ? 0 : static_cast<size_t>(count));
  }
}

/// In the child; does not return.
[[noreturn]] void runChild(size_t index, int result, int messages, llvm::function_ref<std::string(size_t)> work) {
  for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGINT, SIGTERM, SIGPIPE})
    std::signal(number, SIG_DFL);
  dup2(messages, STDERR_FILENO);
  writeAll(result, work(index));
  _exit(0);
}

/// Empty id when no process can be made.
Process start(size_t index, llvm::function_ref<std::string(size_t)> work) {
  Process process;
  process.index = index;
  process.start = Clock::now();
  int results[2], messages[2];
  if (pipe(results) != 0)
    return process;
  if (pipe(messages) != 0) {
    close(results[0]);
    close(results[1]);
    return process;
  }
  std::fflush(nullptr);
  process.id = fork();
  if (process.id == 0) {
    close(results[0]);
    close(messages[0]);
    runChild(index, results[1], messages[1], work);
  }
  close(results[1]);
  close(messages[1]);
  process.result = results[0];
  process.messages = messages[0];
  return process;
}

/// Takes what is there; closes at the end.
void drain(int &descriptor, std::string &text) {
  char buffer[1 << 14];
  ssize_t count = read(descriptor, buffer, sizeof buffer);
  if (count > 0) {
    text.append(buffer, static_cast<size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    close(descriptor);
    descriptor = -1;
  }
}

std::string lastLine(llvm::StringRef log) {
  return log.rtrim().rsplit('\n').second.empty() ? log.rtrim().str() : log.rtrim().rsplit('\n').second.str();
}

IsolatedResult reap(Process &process, unsigned limitSeconds) {
  IsolatedResult result{std::move(process.text), "", process.seconds()};
  if (process.id < 0) {
    result.failure = "no process can be made for it";
    return result;
  }
  int status = 0;
  while (waitpid(process.id, &status, 0) < 0 && errno == EINTR) {
  }
  if (process.isLate)
    result.failure = llvm::formatv("ran longer than {0} s", limitSeconds);
  else if (WIFSIGNALED(status))
    result.failure = llvm::formatv("killed by signal {0} ({1}): {2}", WTERMSIG(status), strsignal(WTERMSIG(status)),
                                   lastLine(process.log));
  else if (WEXITSTATUS(status) != 0)
    result.failure = llvm::formatv("ended with exit code {0}: {1}", WEXITSTATUS(status), lastLine(process.log));
  return result;
}

void pollAll(std::vector<Process> &running, unsigned limitSeconds) {
  constexpr int pollMilliseconds = 200;
  std::vector<pollfd> polled;
  std::vector<std::pair<int *, std::string *>> targets;
  for (Process &process : running)
    for (auto [descriptor, text] :
         {std::pair(&process.result, &process.text), std::pair(&process.messages, &process.log)})
      if (*descriptor >= 0) {
        polled.push_back({*descriptor, POLLIN, 0});
        targets.push_back({descriptor, text});
      }
  poll(polled.data(), polled.size(), pollMilliseconds);
  for (size_t i = 0; i < polled.size(); ++i)
    if (polled[i].revents != 0)
      drain(*targets[i].first, *targets[i].second);
  for (Process &process : running)
    if (!process.isLate && process.id > 0 && process.seconds() > limitSeconds) {
      process.isLate = true;
      kill(process.id, SIGKILL);
    }
}

} // namespace

void runIsolated(size_t count, unsigned jobs, unsigned limitSeconds, llvm::function_ref<std::string(size_t)> work,
                 llvm::function_ref<void(size_t, IsolatedResult)> done) {
  std::vector<Process> running;
  size_t next = 0;
  while (next < count || !running.empty()) {
    while (next < count && running.size() < std::max(jobs, 1u))
      running.push_back(start(next++, work));
    pollAll(running, limitSeconds);
    for (size_t i = 0; i < running.size();) {
      if (running[i].isOpen()) {
        ++i;
        continue;
      }
      Process ended = std::move(running[i]);
      running.erase(running.begin() + static_cast<ptrdiff_t>(i));
      done(ended.index, reap(ended, limitSeconds));
    }
  }
}

} // namespace apc
