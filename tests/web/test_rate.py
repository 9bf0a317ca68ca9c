from canary.web.rate import Bucket


def test_a_burst_then_one_at_a_time():
    bucket = Bucket(burst=3, every_s=2.0)
    assert [bucket.take(100.0) for _ in range(5)] == [None, None, None, 2.0, 2.0]
    assert bucket.take(101.0) == 1.0
    assert bucket.take(102.0) is None
    assert bucket.take(102.0) == 2.0


def test_it_fills_up_to_the_burst_and_no_more():
    bucket = Bucket(burst=2, every_s=1.0)
    bucket.take(0.0)
    assert [bucket.take(1e6) for _ in range(3)] == [None, None, 1.0]
