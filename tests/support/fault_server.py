"""Servers on loopback that do what servers do: cut, stall, lie about lengths, refuse, redirect, send something else."""

import socketserver
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """How one request is answered; without any of it, as a good server does, ranges and all."""

    status: int | None = None
    body: bytes | None = None  # in place of the file
    cut_after: int | None = None  # bytes of this answer's body; then the connection ends
    stall_after: int | None = None  # bytes; then nothing, for stall_s
    stall_s: float = 30.0
    announced: int | None = None  # in place of the true Content-Length
    chunked: bool = False
    until_closed: bool = False  # neither a length nor chunks
    ranges: bool = True
    first_byte: int | None = None  # of the range that is sent, whichever was asked for
    whole_as_range: bool = False  # the range that was asked for is announced, and the whole file sent
    total: int | None = None  # that Content-Range states, in place of the true one
    etag: str | None = '"1"'
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Request:
    """The path and the headers of a request, and how many bytes of a body were sent."""

    path: str
    range: str | None
    agent: str
    status: int = 0
    sent: int = 0


class FaultServer(ThreadingHTTPServer):
    """Serves ``files`` by path; the answers scripted for a path are used up in order, then it is a good server."""

    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.script: dict[str, list[Answer]] = {}
        self.always: dict[str, Answer] = {}
        self.requests: list[Request] = []
        self.closing = threading.Event()

    def serve(self, path: str, body: bytes, *answers: Answer, always: Answer | None = None) -> str:
        """The address of a file."""
        self.files[path] = body
        self.script[path] = list(answers)
        self.always[path] = always or Answer()
        return self.address(path)

    def address(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_address[1]}{path}"

    def handle_error(self, request, client_address):
        """A client that hangs up is no error here."""


class _Handler(BaseHTTPRequestHandler):
    server: FaultServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.close_connection = True
        path = urlsplit(self.path).path  # of a proxy's request too
        request = Request(self.path, self.headers["Range"], self.headers["User-Agent"])
        self.server.requests.append(request)
        script = self.server.script.get(path)
        answer = script.pop(0) if script else self.server.always.get(path, Answer(status=404))
        self.answer(answer, self.server.files.get(path, b""), request)

    def answer(self, answer: Answer, whole: bytes, request: Request):
        body = whole
        if answer.body is not None:
            body = answer.body
        status = answer.status or 200
        start = 0
        if status == 200 and request.range and answer.ranges:
            start = int(request.range.removeprefix("bytes=").removesuffix("-"))
            if answer.first_byte is not None:
                start = answer.first_byte
            status = 206 if start < len(body) else 416
        request.status = status
        self.send_response(status)
        self.describe(answer, len(body), start, status)
        self.end_headers()
        sent_from = 0 if answer.whole_as_range else start
        self.send_body(answer, b"" if status == 416 else body[sent_from:], request)

    def describe(self, answer: Answer, total: int, start: int, status: int):
        headers = {"Connection": "close", "Content-Type": "application/octet-stream"}
        if answer.chunked:
            headers["Transfer-Encoding"] = "chunked"
        elif not (answer.until_closed or answer.whole_as_range):
            headers["Content-Length"] = str(total - start if answer.announced is None else answer.announced)
        if status == 206:
            headers["Content-Range"] = f"bytes {start}-{total - 1}/{answer.total or total}"
        if status == 416:
            headers |= {"Content-Length": "0", "Content-Range": f"bytes */{total}"}
        if answer.etag:
            headers["ETag"] = answer.etag
        for name, value in (headers | answer.headers).items():
            self.send_header(name, value)

    def send_body(self, answer: Answer, body: bytes, request: Request):
        stop = next((n for n in (answer.cut_after, answer.stall_after) if n is not None), len(body))
        self.send(answer, body[:stop], request)
        if answer.stall_after is not None:
            self.server.closing.wait(answer.stall_s)
            self.send(answer, body[stop:], request)
        if answer.chunked and answer.cut_after is None:
            self.wfile.write(b"0\r\n\r\n")

    def send(self, answer: Answer, piece: bytes, request: Request):
        if piece:
            request.sent += len(piece)  # before the client has it, and reads the sum
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if answer.chunked else piece)


class FtpServer(socketserver.ThreadingTCPServer):
    """Serves one file to whoever logs in; each of ``cuts`` ends one transfer after as many bytes."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, path: str, body: bytes, *cuts: int):
        super().__init__(("127.0.0.1", 0), _FtpHandler)
        self.path = path
        self.body = body
        self.cuts = list(cuts)

    @property
    def address(self) -> str:
        return f"ftp://127.0.0.1:{self.server_address[1]}{self.path}"


class _FtpHandler(socketserver.StreamRequestHandler):
    server: FtpServer

    def handle(self):
        self.say("220 ready")
        with socketserver.TCPServer(("127.0.0.1", 0), None) as self.passive:
            while line := self.rfile.readline().decode().strip():
                word, _, rest = line.partition(" ")
                self.say(getattr(self, f"on_{word.lower()}", lambda _: "502 unknown")(rest))

    def say(self, line: str):
        self.wfile.write(f"{line}\r\n".encode())

    def on_user(self, _):
        return "230 welcome"

    def on_type(self, _):
        return "200 binary"

    def on_cwd(self, _):
        return "250 there"

    def on_pasv(self, _):
        port = self.passive.server_address[1]
        return f"227 Entering Passive Mode (127,0,0,1,{port >> 8},{port & 255})"

    def on_retr(self, path):
        if path != self.server.path.rpartition("/")[2]:
            return "550 no such file\x1b[2J"
        self.say(f"150 here it comes ({len(self.server.body)} bytes)")
        cut = self.server.cuts.pop(0) if self.server.cuts else None
        connection, _ = self.passive.socket.accept()
        with connection:
            connection.sendall(self.server.body[:cut])
        return "226 done" if cut is None else "426 cut"
