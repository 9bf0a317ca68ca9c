"""From a canned probe and a seed to the text that is sent and the answer that must come back. Pure.

The same seed gives the same question at every hop of a run; only the nonce differs, so that hops and arms can be
compared and yet share no cached prefix.
"""
