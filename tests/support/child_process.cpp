#include "support/child_process.hpp"

#include "base/check.hpp"

#ifndef __EMSCRIPTEN__
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#endif

namespace cordwood::test {

#ifdef __EMSCRIPTEN__

bool can_fork() { return false; }

ChildResult run_in_child(const std::function<void(const std::function<void(std::string_view)>&)>&,
                         unsigned) {
  CW_CHECK(false);
  return {};
}

#else

namespace {

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

bool can_fork() { return true; }

ChildResult run_in_child(
    const std::function<void(const std::function<void(std::string_view)>&)>& work,
    unsigned seconds_max) {
  int ends[2];
  CW_CHECK(::pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  CW_CHECK(child >= 0);
  if (child == 0) {
    // Catch2's signal handlers would report the parent's test as failed.
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM}) {
      ::signal(signal, SIG_DFL);
    }
    ::close(ends[0]);
    ::alarm(seconds_max);
    work([&ends](std::string_view text) { write_all(ends[1], text); });
    ::_exit(0);
  }
  ::close(ends[1]);
  ChildResult result;
  char buffer[4096];
  for (ssize_t count = ::read(ends[0], buffer, sizeof buffer); count > 0;
       count = ::read(ends[0], buffer, sizeof buffer)) {
    result.output.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  result.how_it_ended = WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status))
                                            : "exit status " + std::to_string(WEXITSTATUS(status));
  return result;
}

#endif

}  // namespace cordwood::test
