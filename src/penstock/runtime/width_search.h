// Looks for the number of calls at once that gives the most per second.
#pragma once

#include <algorithm>
#include <utility>

namespace penstock {

/// Climbs: a step that raised the rate is followed by another of its kind, one
/// that lowered it by the opposite. Only a step can have done either, so a rate
/// that falls while the width stays (other programs want the cores) changes
/// nothing, above all not a width that the user asked for. At the limit, where
/// it was led before anything was measured, one step down is tried: a service
/// may give the more the fewer are waiting.
class WidthSearch {
 public:
  /// The width to go on with after `width` calls at once gave `rate`. `wanted`:
  /// what follows had room for more.
  int next(int width, int limit, double rate, bool wanted) {
    const bool stepped = width != width_;
    const double before = rate_;
    rate_ = rate;
    width_ = width;
    judged_ = wanted;
    if (!wanted) {
      direction_ = -1;
      tried_from_ = 0;
      return std::max(1, width - std::max(1, width / 8));
    }
    const int tried_from = std::exchange(tried_from_, 0);
    if (before == 0 && width >= limit) {
      tried_from_ = width;
      direction_ = -1;
      return std::max(1, width - width / 4);
    }
    const bool raised = before == 0 || rate > before * kNoticeable;
    const bool lowered = stepped && rate < before / kNoticeable;
    if (tried_from > 0 && !raised) {
      direction_ = 1;
      return std::min(tried_from, limit);
    }
    if (raised) {
      if (!stepped) direction_ = 1;
    } else if (lowered) {
      direction_ = -direction_;
    } else {
      return std::min(width, limit);
    }
    return std::clamp(width + direction_ * std::max(1, width / 4), 1, limit);
  }

  /// The width is what was found to be best, or on the way there.
  bool judged() const { return judged_; }
  /// That of the width before; 0 when there was none.
  double last_rate() const { return rate_; }

 private:
  static constexpr double kNoticeable = 1.05;

  int width_ = 0;
  double rate_ = 0;
  int direction_ = 1;
  int tried_from_ = 0;  // the limit, after the step down from there
  bool judged_ = false;
};

}  // namespace penstock
