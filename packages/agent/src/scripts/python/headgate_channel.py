"""Requests to the agent over descriptor 3, one JSON object a line: the request, then its answer."""

import json
import threading

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
