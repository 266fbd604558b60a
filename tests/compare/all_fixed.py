"""Every call on fixed values, in the order in which results are kept."""

from __future__ import annotations

import fixed
import fixed_images
import fixed_numbers
import fixed_records

MODULES = fixed, fixed_images, fixed_records, fixed_numbers
CASES = [call for module in MODULES for call in module.CASES]
