"""A mail server. It notes every mail that it takes in a file, before it says that it has it.

    mail.py PORT FILE

It refuses mails to nobody@example.org for good. Port 0 is a free one; the first line of the output
is the one that it has. With MISTAKE=forgets it says of some mails that it has them, and has them not.
"""

import asyncio
import email
import email.policy
import json
import os
import sys

from aiosmtpd.smtp import SMTP


class Notes:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")
        self.forgets = os.environ.get("MISTAKE") == "forgets"
        self.count = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address == "nobody@example.org":
            return "550 there is nobody"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        note = {
            "to": envelope.rcpt_tos,
            "from": str(mail["From"]),
            "subject": str(mail["Subject"]),
            "id": str(mail["Message-ID"]),
            "text": mail.get_content(),
        }
        self.count += 1
        if self.forgets and self.count % 20 == 0:
            return "250 OK"
        self.file.write(json.dumps(note) + "\n")
        self.file.flush()
        return "250 OK"


async def main():
    port, path = int(sys.argv[1]), sys.argv[2]
    notes = Notes(path)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(notes), "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
