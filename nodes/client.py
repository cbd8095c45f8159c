"""The client library: create matches, sit down, act, watch.

    async with connect(".hotseat") as client:
        match = await client.create("tic-tac-toe", players=["0", "1"])
        seat = await match.take("0")
        outcome = await seat.dispatch("play", {"cell": 4})
        async for view in seat.views(legal=True):
            ...

It works on trio and on asyncio. A node's no is a returned `Refusal`; what is raised
is in `client_outcome`. Links that break, nodes that restart and owners that change
are made good with the same key until the operation's deadline.
"""
