from canary.web.recent import Recent


def test_the_one_that_was_longest_not_asked_for_goes():
    recent = Recent(2)
    assert recent.keep("a", 1) == 1
    recent.keep("b", 2)
    assert recent.get("a") == 1
    recent.keep("c", 3)
    assert [recent.get(name) for name in "abc"] == [1, None, 3]
