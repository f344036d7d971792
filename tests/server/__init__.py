"""An HTTP/1.1 server on the loopback that misbehaves by script; stdlib only, no sleeps at start.

    with Loopback(json_reply({"id": "1"})) as server:
        client = OpenAI(base_url=server.openai_url, api_key="test", max_retries=0)
        ...
        assert len(server.requests) == 1

`script` holds what is replied as data, `loopback` sends it, `answers` and `endings` hold the
bodies of the three APIs. Nothing in here knows the package.
"""
