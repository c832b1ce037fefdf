// Runs the engine of Perfetto's page, WebAssembly for a worker of a browser, in node: bytes of its protocol go in by
// the standard input and come out by the standard output.
//
//     node trace_processor.js FOLDER_OF_ENGINE_BUNDLE
const fs = require("fs");
const path = require("path");

const folder = process.argv[2];
const read = (name) => fs.readFileSync(path.join(folder, path.basename(String(name))));

// What the engine uses of a worker.
class FileRequest {
  open(method, name) {
    this.name = name;
  }
  send() {
    this.response = new Uint8Array(read(this.name));
  }
}
const worker = {location: {href: "file:///"}};
const print = (...words) => process.stderr.write(words.join(" ") + "\n");
const console = {log: print, warn: print, error: print};
const port = {
  postMessage(bytes) {
    for (let written = 0; written < bytes.length;) written += fs.writeSync(1, bytes, written);
  },
};

// The engine was not built for node and must not recognise node: `process` is one more parameter, without a value.
new Function("self", "WorkerGlobalScope", "XMLHttpRequest", "console", "process",
             read("engine_bundle.js").toString())(worker, Object, FileRequest, console);
worker.onmessage({data: port});
process.stdin.on("data", (bytes) => port.onmessage({data: new Uint8Array(bytes)}));
