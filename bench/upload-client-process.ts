/**
 * The process that uploads: it creates the form first, sends it over one connection, and returns the time.
 */
import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export interface UploadOrder {
  port: number;
  path: string;
  token: string;
  versionName: string;
  files: number;
  fileBytes: number;
  /** Another text creates other files. */
  content: string;
  /** Only the first file differs. */
  changed?: string;
}

export type UploadReply = { milliseconds: number } | { failure: string };

const boundary = 'boundary-of-the-benchmark';
const head = /^HTTP\/1\.1 (\d+)[\s\S]*?\ncontent-length: *(\d+)[\s\S]*?\r\n\r\n/i;
const pause = 'x'.repeat(64);

/** Random text, so that it does not compress and is not stored yet. */
function textOf(seed: string, bytes: number): Buffer {
  const line = createHash('sha512').update(seed).digest('base64');
  const text = Buffer.alloc(bytes, `${line}\n`);
  text.write(`${seed} ${pause}\n`);
  return text;
}

function requestOf({ path, token, versionName, files, fileBytes, content, changed }: UploadOrder): Buffer[] {
  const parts = Array.from({ length: files }, (_, index) => {
    const seed = index === 0 && changed !== undefined ? changed : content;
    const name = `scripts/group-${index % 40}/file-${String(index).padStart(5, '0')}.sql`;
    return [
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${name}"\r\nContent-Type: text/plain\r\n\r\n`,
      ),
      textOf(`${seed} ${index}`, fileBytes),
      Buffer.from('\r\n'),
    ];
  }).flat();
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    'environmentName: bench',
    `versionName: ${versionName}`,
    `Content-Type: multipart/form-data; boundary=${boundary}`,
    `Content-Length: ${length}`,
  ];
  const whole = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), ...parts]);
  // File by file, like a client, not in one piece.
  const pieces: Buffer[] = [];
  for (let at = 0; at < whole.length; at += pieceBytes) pieces.push(whole.subarray(at, at + pieceBytes));
  return pieces;
}
const pieceBytes = 65_536;

async function upload(order: UploadOrder): Promise<number> {
  const pieces = requestOf(order);
  const socket = await openSocket(order.port);
  const answered = answerOf(socket);
  const began = performance.now();
  for (const piece of pieces) {
    if (!socket.write(piece))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), answered]);
  }
  const status = await answered;
  const milliseconds = performance.now() - began;
  socket.destroy();
  if (status !== 201) throw new Error(`The upload returned ${status}.`);
  return milliseconds;
}

function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket));
  });
}

function answerOf(socket: Socket): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
    const found = head.exec(received);
    if (found !== null && received.length >= found[0].length + Number(found[2])) resolve(Number(found[1]));
  });
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('The connection was closed before the answer.')));
  promise.catch(() => undefined);
  return promise;
}

process.on('message', (order: UploadOrder) => {
  upload(order).then(
    (milliseconds) => process.send?.({ milliseconds } satisfies UploadReply),
    (failure: unknown) => process.send?.({ failure: String(failure) } satisfies UploadReply),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
