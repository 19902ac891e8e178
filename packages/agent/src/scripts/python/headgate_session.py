"""What scripts know as `session`: the project's warehouse, as far as Snowpark's session is SQL."""

import decimal
import importlib.machinery
import importlib.util
import math
import re
import sys
import types


class Row(tuple):
    """A row of a result: by position, by name, and as an attribute. Names do not depend on their case."""

    def __new__(cls, *values, **named):
        row = super().__new__(cls, named.values() if named else values)
        row._names = list(named) if named else None
        return row

    @classmethod
    def _of(cls, names, values):
        row = super().__new__(cls, values)
        row._names = names
        return row

    def _position(self, name):
        names = self._names or []
        if name in names:
            return names.index(name)
        wanted = name.strip('"').lower()
        found = [index for index, each in enumerate(names) if each.lower() == wanted]
        return found[0] if found else None

    def __getitem__(self, key):
        if not isinstance(key, str):
            return super().__getitem__(key)
        position = self._position(key)
        if position is None:
            raise KeyError('the row has no column "%s": it has %s' % (key, ", ".join(self._names or [])))
        return super().__getitem__(position)

    def __getattr__(self, name):
        position = None if name.startswith("__") or name == "_names" else self._position(name)
        if position is None:
            raise AttributeError('the row has no column "%s"' % name)
        return super().__getitem__(position)

    def __contains__(self, value):
        return super().__contains__(value)

    def asDict(self, recursive=False):
        return dict(zip(self._names or [], self))

    as_dict = asDict

    def get_values(self):
        return list(self)

    def __repr__(self):
        if not self._names:
            return "Row(%s)" % ", ".join(map(repr, self))
        return "Row(%s)" % ", ".join("%s=%r" % pair for pair in zip(self._names, self))


def unsupported(owner, name):
    return AttributeError(
        "%s.%s is not available on this agent: write it as SQL, as in session.sql(text).collect()" % (owner, name)
    )


class DataFrame:
    """The result of a query, which runs when its rows are needed."""

    def __init__(self, session, query):
        self._session = session
        self._query = query

    def _run(self):
        return self._session._run(self._query)

    def collect(self, **_):
        names, rows = self._run()
        return [Row._of(names, row) for row in rows]

    def to_local_iterator(self, **_):
        return iter(self.collect())

    def first(self, n=None, **_):
        rows = self.collect() if n is None else self.collect()[:n]
        return (rows[0] if rows else None) if n is None else rows

    def take(self, n=None, **_):
        return self.first(n)

    def limit(self, n, offset=0):
        return DataFrame(
            self._session, "SELECT * FROM (\n%s\n) AS q LIMIT %d OFFSET %d" % (bare(self._query), int(n), int(offset))
        )

    def count(self, **_):
        names, rows = self._session._run("SELECT count(*) FROM (\n%s\n) AS q" % bare(self._query))
        return rows[0][0]

    @property
    def columns(self):
        return self._run()[0]

    def to_pandas(self, **_):
        import pandas

        names, rows = self._run()
        return pandas.DataFrame([list(row) for row in rows], columns=names)

    toPandas = to_pandas

    def show(self, n=10, max_width=50):
        names, rows = self._run()
        table = [names] + [["NULL" if cell is None else str(cell)[:max_width] for cell in row] for row in rows[:n]]
        widths = [max(len(line[index]) for line in table) for index in range(len(names))]
        ruler = "-" * (sum(widths) + 3 * len(widths) + 1)
        lines = ["|" + "|".join(" %s " % cell.ljust(width) for cell, width in zip(line, widths)) + "|" for line in table]
        print("\n".join([ruler, lines[0], ruler, *lines[1:], ruler]))

    def __iter__(self):
        return iter(self.collect())

    def __getattr__(self, name):
        raise unsupported("DataFrame", name)


def bare(query):
    return query.rstrip().rstrip(";")


def render(value):
    """A value as SQL, for the parameters `?` of a statement."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, decimal.Decimal)) and math.isfinite(value):
        return str(value)
    return "'%s'" % str(value).replace("'", "''")


def bind(query, parameters):
    """Replaces each `?`, or `%s`, outside of quotes and comments by a parameter."""
    if not parameters:
        return query
    left = list(parameters)

    def replace(match):
        if match.group(0) not in ("?", "%s"):
            return match.group(0)
        if not left:
            raise ValueError("the statement has more placeholders than the %d parameters" % len(parameters))
        return render(left.pop(0))

    parts = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\?|%s"
    bound = re.sub(parts, replace, query, flags=re.S)
    if left:
        raise ValueError("the statement has fewer placeholders than the %d parameters" % len(parameters))
    return bound


class Session:
    """The project's warehouse. Statements run in the order in which their rows are asked for."""

    def __init__(self, channel):
        self._channel = channel

    def sql(self, query, params=None):
        return DataFrame(self, bind(query, params))

    def table(self, name):
        name = ".".join(name) if isinstance(name, (list, tuple)) else name
        return DataFrame(self, "SELECT * FROM %s" % name)

    def close(self):
        """The connection belongs to the run."""

    @property
    def connection(self):
        return Connection(self)

    def _run(self, query):
        answer = self._channel.ask({"type": "sql", "sql": query})
        return answer["columns"], answer["rows"]

    def __getattr__(self, name):
        raise unsupported("session", name)


def split_statements(text):
    """The statements between `;` outside of quotes and comments."""
    parts = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$|--[^\n]*|/\*.*?\*/|;|[^;'\"$/-]+|."
    statement = ""
    for part in re.findall(parts, text + ";", flags=re.S):
        if part != ";":
            statement += part
            continue
        if re.sub(r"--[^\n]*|/\*.*?\*/", "", statement, flags=re.S).strip():
            yield statement.strip()
        statement = ""


class Connection:
    """`session.connection`."""

    def __init__(self, session):
        self._session = session

    def cursor(self, *_):
        return Cursor(self._session)

    def execute_string(self, text, **_):
        return list(self.execute_stream([text]))

    def execute_stream(self, stream, **_):
        for statement in split_statements("".join(stream)):
            yield Cursor(self._session).execute(statement)

    def close(self):
        """The connection belongs to the run."""

    def __getattr__(self, name):
        raise unsupported("session.connection", name)


class Cursor:
    """A cursor of Python's database interface over the project's warehouse."""

    arraysize = 1

    def __init__(self, session):
        self._session = session
        self._rows = []
        self.query = None
        self.description = None
        self.rowcount = -1

    def execute(self, query, parameters=None):
        self.query = bind(query, parameters)
        names, rows = self._session._run(self.query)
        self._rows = [tuple(row) for row in rows]
        self.description = [(name, None, None, None, None, None, None) for name in names]
        self.rowcount = len(rows)
        return self

    def executemany(self, query, rows):
        for parameters in rows:
            self.execute(query, parameters)
        return self

    def fetchone(self):
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size=None):
        size = self.arraysize if size is None else size
        taken, self._rows = self._rows[:size], self._rows[size:]
        return taken

    def fetchall(self):
        taken, self._rows = self._rows, []
        return taken

    def __iter__(self):
        return iter(self.fetchall())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._rows = []


def active_session(session):
    """`snowflake.snowpark` as far as scripts name it, unless it is installed."""
    if importlib.util.find_spec("snowflake") is not None:
        return
    package = types.ModuleType("snowflake")
    package.__path__ = []
    snowpark = types.ModuleType("snowflake.snowpark")
    snowpark.__path__ = []
    snowpark.Session, snowpark.Row, snowpark.DataFrame = Session, Row, DataFrame
    snowpark_context = types.ModuleType("snowflake.snowpark.context")
    snowpark_context.get_active_session = lambda: session
    package.snowpark = snowpark
    snowpark.context = snowpark_context
    for module in (package, snowpark, snowpark_context):
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None, is_package=True)
        sys.modules[module.__name__] = module
