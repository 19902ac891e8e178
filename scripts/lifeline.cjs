// Preloaded into every process that the bootstrap starts. Only the bootstrap has the other end of the socket
// at file descriptor 3. When it closes, the bootstrap has ended, perhaps by kill -9; then this process sends
// itself SIGTERM. This is CommonJS because npm preloads it too and early versions of Node.js 18 have no
// --import.
const { Socket } = require('node:net');
const { isMainThread } = require('node:worker_threads');

const ENDING_MAY_TAKE_MS = 60_000;

// Worker threads preload this too. A thread with this socket would close it for the whole process when it
// ends.
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
