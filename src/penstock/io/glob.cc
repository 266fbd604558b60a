#include "penstock/io/glob.h"

#include <algorithm>

#include "penstock/io/http.h"

namespace penstock {
namespace {

/// Reads the set that begins at pattern[at] == '['. Gives whether `c` is in it
/// and sets `at` behind it; a set without end is a plain '['.
bool in_set(std::string_view pattern, std::size_t& at, char c, bool& is_set) {
  std::size_t i = at + 1;
  const bool negated =
      i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  const std::size_t first = i;
  bool found = false;
  for (; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > first) {
      at = i + 1;
      is_set = true;
      return found != negated;
    }
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' &&
        pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    const auto x = static_cast<unsigned char>(c);
    found |= low <= x && x <= high;
  }
  is_set = false;
  return false;
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty()) parts.push_back(part);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

class Walk {
 public:
  Walk(FileSystem& fs, std::vector<std::string_view> parts,
       std::vector<std::string>& out)
      : fs_(fs), parts_(std::move(parts)), out_(out) {}

  /// `base` is empty, "/" or ends with '/'.
  Status from(const std::string& base, std::size_t at) {
    const bool last = at + 1 == parts_.size();
    const std::string_view part = parts_[at];
    if (!is_glob(part)) {
      const std::string path = absl::StrCat(base, to_absl(part));
      if (!last) return from(path + "/", at + 1);
      const auto info = fs_.info(path);
      if (info.ok() && !info->directory) out_.push_back(path);
      return absl::OkStatus();
    }
    auto entries = fs_.list(base.empty() ? "." : base);
    if (!entries.ok()) {
      // A directory that is not there has no matches; one that may not be
      // read is an error.
      if (entries.status().code() == StatusCode::kNotFound) {
        return absl::OkStatus();
      }
      return entries.status();
    }
    const bool any_depth = part == "**";
    if (any_depth && !last) PS_RETURN_IF_ERROR(from(base, at + 1));
    for (const DirectoryEntry& entry : *entries) {
      const std::string path = base + entry.name;
      if (!glob_match(any_depth ? "*" : part, entry.name)) continue;
      if (any_depth) {
        // Links may lead back to where they lie: not followed.
        if (entry.directory && !entry.link) {
          PS_RETURN_IF_ERROR(from(path + "/", at));
        }
        if (last && !entry.directory) out_.push_back(path);
      } else if (last) {
        if (!entry.directory) out_.push_back(path);
      } else if (entry.directory) {
        PS_RETURN_IF_ERROR(from(path + "/", at + 1));
      }
    }
    return absl::OkStatus();
  }

 private:
  FileSystem& fs_;
  std::vector<std::string_view> parts_;
  std::vector<std::string>& out_;
};

}  // namespace

bool is_glob(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

bool glob_match(std::string_view pattern, std::string_view name) {
  if (!name.empty() && name[0] == '.' &&
      (pattern.empty() || pattern[0] != '.')) {
    return false;
  }
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_n = 0;
  while (n < name.size()) {
    bool matched = false;
    std::size_t next = p + 1;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = p++;
        star_n = n;
        continue;
      }
      bool is_set = false;
      if (pattern[p] == '?') {
        matched = true;
      } else if (pattern[p] == '[') {
        std::size_t at = p;
        matched = in_set(pattern, at, name[n], is_set);
        if (is_set) next = at;
        if (!is_set) matched = name[n] == '[';
      } else {
        matched = pattern[p] == name[n];
      }
    }
    if (matched) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_n;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

StatusOr<std::vector<std::string>> glob(FileSystem& fs,
                                        const std::string& pattern) {
  std::vector<std::string> out;
  std::vector<std::string_view> parts = parts_of(pattern);
  if (parts.empty()) return out;
  PS_RETURN_IF_ERROR(
      Walk(fs, std::move(parts), out).from(pattern[0] == '/' ? "/" : "", 0));
  // "**" may reach a file in more than one way.
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

namespace {

/// Behind the host, where '[' is part of an address, and before the query.
bool is_http_pattern(std::string_view name) {
  if (!is_http(name)) return false;
  name.remove_prefix(name.find("://") + 3);
  name = name.substr(0, name.find('?'));
  const std::size_t path = name.find('/');
  return path != std::string_view::npos &&
         name.find_first_of("*[", path) != std::string_view::npos;
}

}  // namespace

StatusOr<std::vector<std::string>> expand_names(
    FileSystem& fs, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (is_http_pattern(name)) {
      return invalid_argument(
          "a server cannot be asked what it has: patterns are for files of "
          "this machine, got ",
          quoted_name(name), " (write %2A or %5B for * or [)");
    }
    if (!is_glob(name) || name.find("://") != std::string::npos ||
        fs.info(name).ok()) {
      out.push_back(name);
      continue;
    }
    PS_ASSIGN_OR_RETURN(std::vector<std::string> found, glob(fs, name));
    if (found.empty()) {
      return make_error(StatusCode::kNotFound, "no file matches '", name, "'");
    }
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace penstock
