"""`toolmend ui`: recordings in a browser, while they are written and afterwards. A separate process that reads the folder.

    gate.py       access: token, cookie, Host, Origin, the headers of each response
    server.py     the routes, and the socket that pushes changes to pages
    index.py      SQLite: a row for each recording, each part of a request once, full text. A cache: if deleted, it is rebuilt
    reading.py    a recording's folder → its row and its parts
    watching.py   finds new and growing recordings
    details.py    one session, one recording, two requests side by side
    sharing.py    a session as one page, without what looks like a secret
    page/         the browser's files; page/vendor/ is third-party code

1. Nothing that mitmdump loads imports this package.
2. Recorded text is data: it never becomes markup or part of a path.
"""
