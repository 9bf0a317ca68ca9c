import warnings

import aiohttp
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it imports modules that newer Pythons have no more
    import apprise

    apprise.Apprise().add("json://127.0.0.1")  # its plug-ins are loaded when first asked for


@pytest.fixture
async def session():
    async with aiohttp.ClientSession() as session:
        yield session
