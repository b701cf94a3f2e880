"""For the tests of a store of your own: ``conformance`` and Hypothesis ``strategies``.

Importing it needs pytest and Hypothesis (``pip install pytest hypothesis``).
"""

import pytest

pytest.register_assert_rewrite("thymus.testing.conformance")
