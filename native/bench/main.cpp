// cordwood_bench: figures to compare in one run. Without a subcommand it runs `create`.

#include "bench/bench.hpp"

int main(int argc, char** argv) {
  using namespace cordwood::bench;
  CLI::App app("Measures Cordwood through its library. Without a subcommand: create.");
  struct Entry {
    CLI::App* app;
    Command run;
  };
  std::vector<Entry> entries;
  const auto add = [&](const char* name, const char* what, Command (*adder)(CLI::App&)) {
    CLI::App* const command = app.add_subcommand(name, what);
    entries.push_back({command, adder(*command)});
  };
  const Command create = add_create(app);
  add("create", "creates of empty files in one directory, by node size", add_create);
  add("seed-log", "fsync of a directory of 1,000,000 new files, and after 1,000 deletions",
      add_seed_log);
  add("matrix", "creates with an fsync every 1,000, by node and block size and log policy",
      add_matrix);
  add("fsync-threads", "threads that create and fsync small files", add_fsync_threads);
  add("stress", "threads that change and fsync one volume at random; looks for lost wake-ups",
      add_stress);
  app.require_subcommand(0, 1);
  CLI11_PARSE(app, argc, argv);
  for (const Entry& entry : entries) {
    if (entry.app->parsed()) return entry.run();
  }
  return create();
}
