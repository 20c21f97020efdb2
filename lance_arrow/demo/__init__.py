"""The main job on real input: a CSV of flights becomes Lance files, queried through `pyarrow.dataset` and DuckDB.

In: `flights.csv.gz` and `airlines.csv` beside this file (`README.md` says where they come from, `make_data.py` made
them). Out: a `DemoReport` of rows and a read receipt; `lance-arrow demo` prints it. Open `flights.py` first, then
`ingest.py`.
"""
