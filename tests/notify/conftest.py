import aiohttp
import pytest


@pytest.fixture
async def session():
    async with aiohttp.ClientSession() as session:
        yield session
