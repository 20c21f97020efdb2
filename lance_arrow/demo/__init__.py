"""The main use case on real data: a CSV of flights becomes Lance files, queried through `pyarrow.dataset` and DuckDB.

Input: `flights.csv.bz2` and `airlines.csv` beside this file. `README.md` documents their source, `make_data.py` created
them. Output: a `DemoReport` of rows and read reports; `lance-arrow demo` prints it. Open `flights.py` first, then
`ingest.py`.
"""
