#include "benchmarks/micro/bench.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <limits>
#include <string_view>

namespace penstock::bench {
namespace {

constexpr int kNameWidth = 66;

std::vector<Group>& groups() {
  static std::vector<Group> list;
  return list;
}
std::vector<Probe>& probes() {
  static std::vector<Probe> list;
  return list;
}

std::string number(double value) {
  char text[32];
  const double size = std::abs(value);
  const int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string bound(const char* sign, double limit) {
  char text[32];
  std::snprintf(text, sizeof(text), "%s %g", sign, limit);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
  return out;
}

bool write_json(const std::vector<Row>& rows, const std::string& path) {
  std::ofstream file(path);
  file << "[\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    char value[32];
    std::snprintf(value, sizeof(value), "%.6g", r.value);
    file << "  {\"row\": " << quoted(r.name)
         << ", \"value\": " << (std::isfinite(r.value) ? value : "null")
         << ", \"unit\": " << quoted(r.unit)
         << ", \"must\": " << (r.must.empty() ? "null" : quoted(r.must))
         << ", \"ok\": " << (r.ok ? "true" : "false") << "}"
         << (i + 1 < rows.size() ? ",\n" : "\n");
  }
  file << "]\n";
  return static_cast<bool>(file.flush());
}

std::int64_t status_field(std::string_view key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) == 0) {
      return std::strtoll(line.c_str() + key.size(), nullptr, 10) * 1024;
    }
  }
  return 0;
}

// A chain of multiplications: one step is a handful of cycles and neither
// vectorises nor touches memory.
std::uint64_t steps(std::int64_t n) {
  std::uint64_t x = 88172645463325252;
  for (std::int64_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005 + 1442695040888963407;
    asm volatile("" : "+r"(x));
  }
  return x;
}

double steps_per_ns() {
  static const double rate = [] {
    constexpr std::int64_t kSteps = 100'000;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 200; ++i) {
      best = std::min(best, time_of([] { keep(steps(kSteps)); }));
    }
    return static_cast<double>(kSteps) / best;
  }();
  return rate;
}

}  // namespace

void Table::add(Row row) {
  std::printf("%-*s %10s %-8s %-10s %s\n", kNameWidth, row.name.c_str(),
              number(row.value).c_str(), row.unit.c_str(), row.must.c_str(),
              row.must.empty() ? "" : (row.ok ? "ok" : "MISSED"));
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void Table::at_most(const std::string& name, double value,
                    const std::string& unit, double limit) {
  add({name, value, unit, bound("<=", limit), value <= limit});
}
void Table::at_least(const std::string& name, double value,
                     const std::string& unit, double limit) {
  add({name, value, unit, bound(">=", limit), value >= limit});
}
void Table::reference(const std::string& name, double value,
                      const std::string& unit) {
  add({name, value, unit, "", true});
}

double Samples::quantile(double q) const {
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

std::vector<Samples> interleave(
    int repeats, const std::vector<std::function<double()>>& measure) {
  std::vector<Samples> out(measure.size());
  for (int i = 0; i < repeats; ++i) {
    for (std::size_t k = 0; k < measure.size(); ++k) out[k].add(measure[k]());
  }
  return out;
}

double median_ratio(const Samples& a, const Samples& b) {
  Samples ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.add(a[i] / b[i]);
  return ratios.median();
}

std::int64_t now_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

std::int64_t cpu_ns() {
  timespec ts{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

void spin(std::int64_t ns) {
  keep(steps(
      static_cast<std::int64_t>(static_cast<double>(ns) * steps_per_ns())));
}

std::int64_t rss_bytes() { return status_field("VmRSS:"); }
std::int64_t peak_rss_bytes() { return status_field("VmHWM:"); }
void reset_peak_rss() { std::ofstream("/proc/self/clear_refs") << "5"; }

double run_probe(const std::string& name) {
  // popen's shell would be measured by nobody, so it may stand in between.
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (n <= 0) return std::numeric_limits<double>::quiet_NaN();
  std::string command = "'";
  command.append(self, static_cast<std::size_t>(n));
  command.append("' --probe=").append(name);
  FILE* out = popen(command.c_str(), "r");
  double value = std::numeric_limits<double>::quiet_NaN();
  if (out != nullptr) {
    if (std::fscanf(out, "%lf", &value) != 1) {
      value = std::numeric_limits<double>::quiet_NaN();
    }
    if (pclose(out) != 0) value = std::numeric_limits<double>::quiet_NaN();
  }
  return value;
}

bool add_group(Group group) {
  groups().push_back(group);
  return true;
}
bool add_probe(Probe probe) {
  probes().push_back(probe);
  return true;
}

// Whether `name` contains one of the texts of `filter`, between commas.
bool chosen(std::string_view name, std::string_view filter) {
  for (;;) {
    const std::size_t comma = filter.find(',');
    if (name.find(filter.substr(0, comma)) != std::string_view::npos) {
      return true;
    }
    if (comma == std::string_view::npos) return false;
    filter.remove_prefix(comma + 1);
  }
}

int bench_main(int argc, char** argv) {
  std::string json;
  std::string filter;
  std::string probe;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind("--json=", 0) == 0) {
      json = arg.substr(7);
    } else if (arg.rfind("--filter=", 0) == 0) {
      filter = arg.substr(9);
    } else if (arg.rfind("--probe=", 0) == 0) {
      probe = arg.substr(8);
    } else if (arg == "--quick") {
      quick = true;
    } else {
      std::fprintf(stderr,
                   "usage: %s [--json=PATH] [--filter=GROUP,...] [--quick]\n",
                   argv[0]);
      return 2;
    }
  }
  if (!probe.empty()) {
    for (const Probe& p : probes()) {
      if (probe == p.name) return std::printf("%.17g\n", p.run()) < 0;
    }
    return 2;
  }
  std::sort(groups().begin(), groups().end(),
            [](const Group& a, const Group& b) { return a.order < b.order; });
  Table table(quick);
  std::printf("%-*s %10s %-8s %-10s %s\n", kNameWidth, "row", "value", "unit",
              "must", "ok");
  for (const Group& group : groups()) {
    if (!chosen(group.name, filter)) continue;
    try {
      group.run(table);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s: %s\n", group.name, e.what());
      return 1;
    }
  }
  const auto missed = std::count_if(table.rows().begin(), table.rows().end(),
                                    [](const Row& r) { return !r.ok; });
  const auto musts =
      std::count_if(table.rows().begin(), table.rows().end(),
                    [](const Row& r) { return !r.must.empty(); });
  std::printf("%d of %d reached\n", static_cast<int>(musts - missed),
              static_cast<int>(musts));
  if (!json.empty() && !write_json(table.rows(), json)) {
    std::fprintf(stderr, "cannot write %s\n", json.c_str());
    return 1;
  }
  return 0;
}

}  // namespace penstock::bench

int main(int argc, char** argv) {
  return penstock::bench::bench_main(argc, argv);
}
