"""When a changed config is read again."""

import pytest

from canary.engine.reload import Reload


@pytest.mark.parametrize(
    ("stamps", "read"),
    [
        pytest.param("aaaa", "", id="nothing changes"),
        pytest.param("abbb", "b", id="a change is read once, at the second look"),
        pytest.param("abcdddd", "d", id="a file that is still being written is not read"),
        pytest.param("abaaa", "", id="a change that is taken back is none"),
        pytest.param("abbaaa", "ba", id="a change, and back"),
        pytest.param("abbcbb", "b", id="what was read already is back before anybody looked twice"),
    ],
)
async def test_a_changed_file_is_read_once_it_stands_still(stamps, read):
    """Half a config may be a good one: with half of the pipelines, and their incidents over. `stamps`: one a look."""
    looks, found = iter(stamps), ""
    reload = Reload(read=None, stamp=lambda: next(looks), running=None, seen="a", look_s=0.0)
    for stamp in stamps:
        if await reload._changed():
            reload.seen = stamp
            found += stamp
    assert found == read
