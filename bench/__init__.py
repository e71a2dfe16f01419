"""What toolmend costs, measured: `scripts/bench` and `scripts/soak`.

    body_capture.py      the streams: prose, native calls, markup of each dialect, in each API; cut into chunks
    clock.py       interleaved rounds, best of them; CPU time of a thread or of another process
    table.py       figures with their targets, as text, Markdown, JSON
    in_process.py  the stream callable alone          end_to_end.py  real mitmdump processes, real TLS
    process_tuning.py      long streams, many, a slow client   startup.py     the start of mitmdump
    load.py        what plays the providers           client.py      what plays the clients: raw sockets, processes of their own
    proxies.py     the mitmdump processes that are compared
    growth.py      slopes and their errors
    scenarios.py   what a soak plays                                    soak.py  half an hour of it: does anything grow?

Rule of this folder: nothing is told that was not compared in the same run, turn by turn, with the least there is: a callable
that returns what it gets, or a mitmdump without scripts. Absolute figures belong to one machine on one day; ratios travel.
"""
