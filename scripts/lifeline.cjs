// Preloaded into every process that the bootstrap starts. File descriptor 3 is a socket whose other end only the
// bootstrap has: when it closes, the bootstrap is gone (kill -9 included), and this process ends as if it had been
// told to by SIGTERM. CommonJS, because npm runs with it too and the first Node 18 has no --import.
const { Socket } = require('node:net');
const { isMainThread } = require('node:worker_threads');

const ENDING_MAY_TAKE_MS = 60_000;

// Threads are preloaded, too. One that had the socket as well would close it for all when it ends.
if (isMainThread) hold();

function hold() {
  const lifeline = new Socket({ fd: 3, readable: true, writable: false });
  lifeline.on('error', () => {});
  lifeline.on('close', () => {
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), ENDING_MAY_TAKE_MS).unref();
  });
  lifeline.resume();
  lifeline.unref();
}
