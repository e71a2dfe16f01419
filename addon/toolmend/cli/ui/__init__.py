"""`toolmend ui`: recordings in a browser, while they are written and afterwards. A process of its own, which reads the folder.

    gate.py       who may ask: token, cookie, Host, Origin, the headers of each answer
    server.py     the addresses, and the socket by which pages hear what changes
    index.py      SQLite: a row for each recording, each part of a request once, words. A cache: deleted, it is made again
    reading.py    a recording's folder → its row and its parts
    watching.py   what is new, and what grows
    details.py    one session, one recording, two requests side by side
    sharing.py    a session as one page, without what looks like a secret
    page/         what the browser gets; page/vendor/ is others'

Rule of this package: nothing that mitmdump loads imports it. What was recorded is data: no text of it becomes markup, and no path
is made of it.
"""
