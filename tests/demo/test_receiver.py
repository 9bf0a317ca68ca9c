import aiohttp

from canary.demo.receiver import receiver


async def test_it_takes_what_it_is_told():
    async with receiver() as url, aiohttp.ClientSession() as session:
        async with session.post(url, json={"any": "thing"}) as response:
            assert response.status == 204
        async with session.get(url) as response:
            assert response.status == 405
