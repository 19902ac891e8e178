"""Runs a python-script or python-pushdown component. Ships with the agent; needs Python 3.9 or later.

It runs inside of the sandbox as the script's own process, and asks the agent over descriptor 3, one JSON
object a line: the request, then its answer. The agent checks every request, because a script can write there
too.
"""

import sys

if sys.version_info < (3, 9):
    sys.exit("this Python is %d.%d: scripts need Python 3.9 or later" % sys.version_info[:2])

import ast
import decimal
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import keyword
import linecache
import math
import re
import threading
import traceback
import types

SCRIPT = "<script>"
CHANNEL = 3


class AgentError(Exception):
    """The agent refused a request; the message says what to do."""


class Channel:
    def __init__(self):
        self._lock = threading.Lock()
        try:
            self._input = open(CHANNEL, "rb", closefd=False)
            self._output = open(CHANNEL, "wb", buffering=0, closefd=False)
        except OSError:
            self._input = self._output = None

    def ask(self, request):
        with self._lock:
            self._send(request)
            try:
                line = self._input.readline()
            except OSError:
                line = b""
        if not line:
            raise AgentError("the agent does not answer: descriptor 3 was closed")
        answer = json.loads(line)
        if "error" in answer:
            raise AgentError(answer["error"])
        return answer.get("value")

    def tell(self, message):
        with self._lock:
            self._send(message)

    def _send(self, message):
        data = memoryview((json.dumps(message, allow_nan=False) + "\n").encode("utf-8", "replace"))
        try:
            while data:
                data = data[self._output.write(data) :]
        except (OSError, AttributeError):
            raise AgentError("the agent cannot be reached: descriptor 3 was closed") from None


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
        if isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__"):
            raise TypeError('the grid variable "%s" takes a list of rows, such as [["a", 1], ["b", 2]]' % name)
        if hasattr(rows, "itertuples"):
            rows = rows.itertuples(index=False, name=None)
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


def missing_packages(names):
    ours = {"snowflake-snowpark-python"}
    missing = []
    for text in names:
        name = re.split(r"[\s=<>!~\[;]", text.strip(), maxsplit=1)[0]
        if not name or name.lower() in ours:
            continue
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            module = name.replace("-", "_")
            if not re.fullmatch(r"\w+", module) or importlib.util.find_spec(module) is None:
                missing.append(name)
    return missing


class ScriptReturn(BaseException):
    """A `return` outside of functions, which ends the script."""

    def __init__(self, value=None):
        super().__init__()
        self.value = value


class ReturnsReplaced(ast.NodeTransformer):
    """Scripts may return as if they were the body of a function."""

    def visit_Return(self, node):
        name = ast.Name("__headgate_return__", ast.Load())
        call = ast.Call(name, [node.value] if node.value is not None else [], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Raise(call, None), node))

    def _leave(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _leave


def wants_main(tree):
    """Whether it defines main(session) as worksheets do, and does not call it itself."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            named = [*node.args.posonlyargs, *node.args.args]
            if len(named) - len(node.args.defaults) != 1 or named[0].arg not in ("session", "snowpark_session"):
                return False
            calls = (each for each in ast.walk(tree) if isinstance(each, ast.Call))
            return not any(isinstance(each.func, ast.Name) and each.func.id == "main" for each in calls)
    return False


def line_of(error):
    if isinstance(error, SyntaxError) and error.filename == SCRIPT:
        return error.lineno
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == SCRIPT]
    return lines[-1] if lines else None


def describe(error):
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            'the Python module "%s" is not installed for %s on this agent: install it, or remove the import'
            % (error.name.split(".")[0] if not error.name.startswith("snowflake.") else error.name, sys.executable)
        )
    if isinstance(error, SyntaxError) and error.filename == SCRIPT:
        return "%s: %s" % (type(error).__name__, error.msg)
    text = error.args[0] if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str) else error
    return "%s: %s" % (type(error).__name__, text) if str(text) else type(error).__name__


def print_traceback(error):
    """Without the frames of this file."""
    shown = traceback.TracebackException.from_exception(error)
    shown.stack = traceback.StackSummary.from_list([frame for frame in shown.stack if frame.filename != __file__])
    print("".join(shown.format()), end="", file=sys.stderr)


def report(channel, error):
    sys.stdout.flush()
    print_traceback(error)
    try:
        channel.tell({"type": "failed", "error": describe(error)[:8000], "line": line_of(error)})
    except AgentError:
        pass
    return 1


def main():
    with open("/headgate/script.py", encoding="utf-8") as file:
        source = file.read()
    with open("/headgate/request.json", encoding="utf-8") as file:
        request = json.load(file)
    channel = Channel()
    scalars = {each["name"]: each for each in request["scalars"]}
    session = Session(channel)
    context = Context(channel, scalars, {each["name"]: each for each in request["grids"]})
    missing = missing_packages(request["packages"])
    if missing:
        names = ", ".join('"%s"' % name for name in missing)
        error = "the packages %s are not installed for %s on this agent: install them, or remove them from the list"
        channel.tell({"type": "failed", "error": error % (names, sys.executable), "line": None})
        return 1
    active_session(session)
    module = types.ModuleType("__main__")
    values = {each["name"]: [list(row) for row in each["rows"]] for each in request["grids"]}
    values.update((name, each["value"]) for name, each in scalars.items())
    names = {name: value for name, value in values.items() if name.isidentifier() and not keyword.iskeyword(name)}
    module.__dict__.update(names)
    module.__dict__.update(
        context=context,
        session=session,
        __file__=SCRIPT,
        __builtins__=__builtins__,
        __headgate_return__=ScriptReturn,
    )
    sys.modules["__main__"] = module
    sys.argv = [SCRIPT]
    linecache.cache[SCRIPT] = (len(source), None, source.splitlines(True), SCRIPT)
    try:
        tree = ReturnsReplaced().visit(ast.parse(source, SCRIPT))
        result = None
        try:
            exec(compile(tree, SCRIPT, "exec"), module.__dict__)
            if wants_main(tree):
                result = module.main(session)
        except ScriptReturn as end:
            result = end.value
        if result is not None:
            text = result if isinstance(result, str) else repr(result)
            channel.tell({"type": "result", "text": text[:10000]})
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stdout.flush()
        print(end.code, file=sys.stderr)
        channel.tell({"type": "failed", "error": str(end.code)[:8000], "line": line_of(end)})
        return 1
    except BaseException as error:
        return report(channel, error)
    return 0


sys.exit(main())
