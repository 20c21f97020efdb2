"""The main job on real input: flights in Lance files, queried through `pyarrow.dataset` and DuckDB.

In: `flights/*.lance` and `airlines.lance` beside this file (`README.md` says where they come from, `make_data.py` made
them). Out: a `DemoReport` of rows and a read receipt; `lance-arrow demo` prints it. Open `flights.py` first.
"""
