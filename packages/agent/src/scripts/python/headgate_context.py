"""What scripts know as `context`: the variables of the pipeline."""

import math
import re

from headgate_session import Cursor, Row, Session


def cell_of(value):
    """A cell of a grid: text, number or None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)


class Context:
    """What the script knows as `context`."""

    def __init__(self, channel, scalars, grids):
        self._channel = channel
        self._scalars = scalars
        self._grids = grids

    def getVariable(self, name):
        if name in self._grids:
            return self.getGridVariable(name)
        return self._find(self._scalars, name, "scalar")["value"]

    def updateVariable(self, name, value):
        if name in self._grids:
            return self.updateGridVariable(name, value)
        variable = self._find(self._scalars, name, "scalar")
        if value is not None and not isinstance(value, str):
            number = variable["type"] == "NUMBER"
            value = str(int(value) if number and isinstance(value, bool) else value)
        self._channel.ask({"type": "update-scalar", "name": name, "value": value})
        variable["value"] = read_scalar(variable["type"], value)

    def getGridVariable(self, name):
        return [list(row) for row in self._find(self._grids, name, "grid")["rows"]]

    def updateGridVariable(self, name, rows):
        grid = self._find(self._grids, name, "grid")
        if isinstance(rows, (str, bytes, dict)) or not hasattr(rows, "__iter__"):
            raise TypeError('the grid variable "%s" takes a list of rows, such as [["a", 1], ["b", 2]]' % name)
        # A data frame of pandas.
        rows = list(rows.itertuples(index=False, name=None) if hasattr(rows, "itertuples") else rows)
        if any(isinstance(row, (dict, set)) for row in rows):
            raise TypeError('a row of the grid variable "%s" must be a list of cells in the order of its columns' % name)
        cells = [
            [cell_of(cell) for cell in row] if isinstance(row, (list, tuple, Row)) else [cell_of(row)] for row in rows
        ]
        self._channel.ask({"type": "update-grid", "name": name, "rows": cells})
        grid["rows"] = cells

    def cursor(self):
        return Cursor(Session(self._channel))

    # The spellings that other programs have.
    get_variable = getVariable
    update_variable = updateVariable
    getGrid = getGridVariable

    def _find(self, variables, name, kind):
        if name in variables:
            return variables[name]
        raise KeyError('there is no %s variable "%s": declare it in the pipeline or in the project' % (kind, name))


def read_scalar(kind, value):
    if value is None or kind != "NUMBER" or not isinstance(value, str):
        return "" if value is None and kind == "TEXT" else value
    if value.strip() == "":
        return None
    number = float(value)
    return int(number) if number.is_integer() and re.fullmatch(r"\s*[-+]?\d+\s*", value) else number
