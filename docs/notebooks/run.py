#!/usr/bin/python3
"""Runs the notebooks: docs/notebooks/run.py [--write] [NOTEBOOK...]

Every cell, in a kernel of the system's python3 with PYTHONPATH as it is. --write keeps what they show. Needs python3-nbclient and python3-ipykernel.
"""

import argparse
import pathlib
import sys
import tempfile

import nbclient
import nbformat

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for path in options.notebooks or sorted(HERE.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        try:
            with tempfile.TemporaryDirectory(prefix="strack_notebook_") as folder:
                nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
        except nbclient.exceptions.CellExecutionError as wrong:
            print(f"{path.name}: FAILED\n{wrong}")
            return 1
        print(f"{path.name}: ok, {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells")
        if options.write:
            for cell in notebook.cells:  # when, and under which number, is not of interest
                cell.metadata = {}
                if cell.cell_type == "code":
                    cell.execution_count = None
                    for output in cell.outputs:
                        output.pop("execution_count", None)
                        if output.output_type == "execute_result":
                            output.execution_count = None
            notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
            nbformat.write(notebook, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
