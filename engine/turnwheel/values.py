"""How the small classes that a run makes by the thousand are declared.

`value` is attrs' `frozen` to a type checker, so that changing one is an error in checked code. At run time the check is
left out, since it triples the cost of making one: messages, events, effects, outcomes and stream steps are not to be
changed, and nothing stops those who do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attrs import frozen as value
else:
    from attrs import define as value

__all__ = ["value"]
