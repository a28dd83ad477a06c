"""Columns of a query, or of a table in memory, as numpy arrays and as a DataFrame."""

import numpy


def _pandas():
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("tables are DataFrames of pandas, which is not installed. on Debian: apt-get install python3-pandas; "
                          "arrays() does without") from missing
    return pandas


def arrays(columns):
    """A dict from column to numpy array; where a row has no value, a masked array."""
    made = {}
    for name, values, missing in columns:
        column = values if isinstance(values, numpy.ndarray) else numpy.array(values, dtype=object)
        made[name] = column if missing is None else numpy.ma.array(column, mask=missing)
    return made


def frame(columns, nullable=()):
    """The same as a DataFrame. Integers that may be missing are of pandas' Int64: those that are, and those of `nullable`."""
    pandas = _pandas()
    made = {}
    for name, values, missing in columns:
        if not isinstance(values, numpy.ndarray):
            column = pandas.Series(values, dtype=object)
            made[name] = column if missing is None else column.mask(missing, None)
        elif values.dtype == numpy.int64 and (missing is not None or name in nullable):
            made[name] = pandas.arrays.IntegerArray(values, numpy.zeros(len(values), bool) if missing is None else missing)
        elif missing is not None:
            values[missing] = numpy.nan
            made[name] = values
        else:
            made[name] = values
    return pandas.DataFrame(made, copy=False)


def frame_of_rows(names, rows):
    pandas = _pandas()
    made = pandas.DataFrame(list(rows), columns=names)
    if "amount" in made:
        made["amount"] = made["amount"].astype("Int64")
    return made
