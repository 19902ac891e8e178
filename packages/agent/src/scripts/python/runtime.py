"""Runs a python-script or python-pushdown component. Ships with the agent; needs Python 3.9 or later.

It runs inside of the sandbox as the script's own process. The agent checks every request, because a script can
write to descriptor 3 too.
"""

import sys

if sys.version_info < (3, 9):
    sys.exit("this Python is %d.%d: scripts need Python 3.9 or later" % sys.version_info[:2])

import ast
import importlib.metadata
import importlib.util
import json
import keyword
import linecache
import re
import traceback
import types

FOLDER = "/headgate"
# Isolated Python leaves out the folder of the program.
sys.path.insert(0, FOLDER)
from headgate_channel import AgentError, Channel
from headgate_context import Context
from headgate_session import Session, active_session

sys.path.remove(FOLDER)

SCRIPT = "<script>"
# Characters of a message. The agent shows fewer, but masks secrets before it cuts.
LIMIT = 20000


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


def limit(text, what):
    """A cut text might end with a part of a secret, which would not be masked."""
    return text if len(text) <= LIMIT else "(%s of %d characters, more than the %d that are shown)" % (what, len(text), LIMIT)


# Modules whose package has another name.
PACKAGES = {
    "bs4": "beautifulsoup4",
    "botocore": "boto3",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "jwt": "PyJWT",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "psycopg2": "psycopg2-binary",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}


def advise(packages):
    return 'install it on the agent\u2019s machine by "%s -m pip install %s", or set HEADGATE_AGENT_SCRIPT_PYTHON to a Python that has it' % (
        sys.executable,
        " ".join(packages),
    )


def describe(error):
    if isinstance(error, ModuleNotFoundError) and error.name:
        module = error.name.split(".")[0] if not error.name.startswith("snowflake.") else error.name
        return 'the Python module "%s" is not installed for %s on this agent: %s, or remove the import' % (
            module,
            sys.executable,
            advise([PACKAGES.get(module, module)]),
        )
    if isinstance(error, SyntaxError) and error.filename == SCRIPT:
        return "%s: %s" % (type(error).__name__, error.msg)
    text = error.args[0] if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str) else error
    return "%s: %s" % (type(error).__name__, limit(str(text), "a message")) if str(text) else type(error).__name__


def print_traceback(error):
    """Without the frames of this file."""
    shown = traceback.TracebackException.from_exception(error)
    shown.stack = traceback.StackSummary.from_list([frame for frame in shown.stack if not frame.filename.startswith(FOLDER + "/")])
    print("".join(shown.format()), end="", file=sys.stderr)


def report(channel, error):
    sys.stdout.flush()
    print_traceback(error)
    try:
        channel.tell({"type": "failed", "error": describe(error), "line": line_of(error)})
    except AgentError:
        pass
    return 1


def main():
    with open(FOLDER + "/script.py", encoding="utf-8") as file:
        source = file.read()
    with open(FOLDER + "/request.json", encoding="utf-8") as file:
        request = json.load(file)
    channel = Channel()
    scalars = {each["name"]: each for each in request["scalars"]}
    session = Session(channel)
    context = Context(channel, scalars, {each["name"]: each for each in request["grids"]})
    missing = missing_packages(request["packages"])
    if missing:
        names = ", ".join('"%s"' % name for name in missing)
        error = "the packages %s are not installed for %s on this agent: %s, or remove them from the list"
        channel.tell({"type": "failed", "error": error % (names, sys.executable, advise(missing)), "line": None})
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
            channel.tell({"type": "result", "text": limit(text, "a text")})
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stdout.flush()
        print(end.code, file=sys.stderr)
        channel.tell({"type": "failed", "error": limit(str(end.code), "a message"), "line": line_of(end)})
        return 1
    except BaseException as error:
        return report(channel, error)
    return 0


sys.exit(main())
