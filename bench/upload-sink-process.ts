/**
 * The minimum work for an upload: a socket that reads the announced number of bytes and responds. A separate
 * process.
 */
import { createServer } from 'node:net';

const answer = 'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n';
const endOfHead = '\r\n\r\n';

const server = createServer((socket) => {
  socket.setNoDelay(true);
  let missing = 0;
  socket.on('data', (bytes) => {
    if (missing === 0) {
      const headEnd = bytes.indexOf(endOfHead);
      const length = /\ncontent-length: *(\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1];
      missing = headEnd + endOfHead.length + Number(length);
    }
    missing -= bytes.length;
    if (missing <= 0) {
      missing = 0;
      socket.write(answer);
    }
  });
  socket.on('error', () => socket.destroy());
});
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
process.on('disconnect', () => process.exit(0));
