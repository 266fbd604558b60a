// Looks for the number of calls at once that gives the most per second.
#pragma once

#include <algorithm>

namespace penstock {

/// Climbs: a step that raised the rate is followed by another of its kind, one
/// that lowered it by the opposite. Only a step can have done either, so a rate
/// that falls while the width stays (other programs want the cores) changes
/// nothing, above all not a width that the user asked for.
class WidthSearch {
 public:
  /// The width to go on with after `width` calls at once gave `rate`. `wanted`:
  /// what follows had room for more.
  int next(int width, int limit, double rate, bool wanted) {
    const bool stepped = width != width_;
    const double before = rate_;
    rate_ = rate;
    width_ = width;
    if (!wanted) {
      direction_ = -1;
      return std::max(1, width - std::max(1, width / 8));
    }
    if (before == 0 || rate > before * kNoticeable) {
      if (!stepped) direction_ = 1;
    } else if (stepped && rate < before / kNoticeable) {
      direction_ = -direction_;
    } else {
      return std::min(width, limit);
    }
    return std::clamp(width + direction_ * std::max(1, width / 4), 1, limit);
  }

  /// That of the width before; 0 when there was none.
  double last_rate() const { return rate_; }

 private:
  static constexpr double kNoticeable = 1.05;

  int width_ = 0;
  double rate_ = 0;
  int direction_ = 1;
};

}  // namespace penstock
