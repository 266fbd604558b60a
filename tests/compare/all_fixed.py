"""Every call on fixed values, in the order in which results are kept."""

from __future__ import annotations

import fixed
import fixed_images
import fixed_records

CASES = [*fixed.CASES, *fixed_images.CASES, *fixed_records.CASES]
