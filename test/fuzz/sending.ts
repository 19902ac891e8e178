/** Sends requests over a real connection, with URL and headers unchanged. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';

export interface Wire {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
}

export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

const patienceMilliseconds = 60_000;

/** @throws when there is no response, or none in HTTP */
export type Send = (wire: Wire) => Promise<Received>;

export function sender(port: number): { send: Send; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send: Send = ({ method, url, headers, body }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Received>();
    const bytes = body === undefined ? undefined : bytesOf(body);
    const length: Record<string, string> =
      bytes === undefined ? {} : { 'content-length': String(bytes.length) };
    const sent = request(
      {
        agent,
        host: '127.0.0.1',
        port,
        method,
        path: url,
        headers: { ...headers, ...length },
        timeout: patienceMilliseconds,
      },
      (answer) => {
        const { statusCode: status = 0, headers } = answer;
        // A stream of a running execution does not end.
        if (headers['content-type']?.startsWith('text/event-stream')) {
          answer.destroy();
          resolve({ status, headers, text: '' });
          return;
        }
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8') }));
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
    sent.end(bytes);
    return promise;
  };
  return { send, close: () => agent.destroy() };
}

/** UTF-8, except for the marker of a byte that UTF-8 never has. */
function bytesOf(text: string): Buffer {
  const pieces = text.split('\udcff').map((piece) => Buffer.from(piece));
  return Buffer.concat(pieces.flatMap((piece, index) => (index === 0 ? [piece] : [Buffer.of(0xff), piece])));
}
