"""How fast stores are, and what follows from it for requests.

answers ─► `PaceMeter` of a filesystem ─► `Pace` ─► size and number of requests

| Module | Open it for |
|---|---|
| `pace` | latency of a store and bandwidth of a connection, learned from answers |
| `policy` | all numbers that say how far files are read, and which of them follow from the pace |
| `waves` | ranges of many files of a store, as many at once as the pace makes useful |

Modules here know nothing of files and rows. `waves` imports obstore: only filesystems of obstore import it.
"""
