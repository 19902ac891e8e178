/** A server of the batch API of Git LFS (git-lfs docs/api/batch.md), basic transfers. It keeps objects in memory. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export interface LfsHost {
  port: number;
  /** By SHA-256. */
  objects: Map<string, Buffer>;
  requests: { method: string; url: string; headers: IncomingMessage['headers'] }[];
  /** Changes what a batch answers for an object. */
  alter: (answer: Record<string, unknown>, operation: string) => Record<string, unknown>;
  /** Where the objects of a batch are; by default at the host that was asked. */
  objectsUrl: ((request: IncomingMessage) => string) | undefined;
  /** Answers the request of an object instead. */
  serve: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  isOff: boolean;
  close(): Promise<void>;
}

interface Wanted {
  operation: string;
  objects: { oid: string; size: number }[];
}

export async function startLfsHost(): Promise<LfsHost> {
  const listening = await listenOnLoopback(async (request, response) => {
    const { url = '', method = '', headers } = request;
    host.requests.push({ method, url, headers });
    const body = await readAll(request);
    if (host.isOff) return send(response, 404, { message: 'LFS is off' });
    if (url.endsWith('/info/lfs/objects/batch'))
      return answerBatch(request, response, JSON.parse(body.toString()));
    if (host.serve !== undefined) return host.serve(request, response);
    const oid = /\/lfs-objects\/([0-9a-f]{64})$/.exec(url)?.[1] ?? '';
    if (headers['x-lfs-ticket'] !== `ticket-${oid}`) return send(response, 403, { message: 'no ticket' });
    if (method === 'GET') return sendObject(response, host.objects.get(oid));
    if (method === 'PUT') {
      if (createHash('sha256').update(body).digest('hex') !== oid)
        return send(response, 422, { message: 'wrong content' });
      host.objects.set(oid, body);
      return send(response, 200, {});
    }
    const { size } = JSON.parse(body.toString()) as { size: number };
    return send(response, host.objects.get(oid)?.length === size ? 200 : 404, {});
  });

  function answerBatch(
    request: IncomingMessage,
    response: ServerResponse,
    { operation, objects }: Wanted,
  ): void {
    const base = host.objectsUrl?.(request) ?? `http://${request.headers.host}`;
    const answers = objects.map(({ oid, size }) => {
      const action = { href: `${base}/lfs-objects/${oid}`, header: { 'X-Lfs-Ticket': `ticket-${oid}` } };
      const has = host.objects.has(oid);
      if (operation === 'download')
        return host.alter(
          has
            ? { oid, size, actions: { download: action } }
            : { oid, size, error: { code: 404, message: 'Object does not exist' } },
          operation,
        );
      const actions = { upload: action, verify: action };
      return host.alter(has ? { oid, size } : { oid, size, actions }, operation);
    });
    send(response, 200, { transfer: 'basic', objects: answers });
  }

  const host: LfsHost = {
    port: listening.port,
    objects: new Map(),
    requests: [],
    alter: (answer) => answer,
    objectsUrl: undefined,
    serve: undefined,
    isOff: false,
    close: listening.close,
  };
  return host;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/vnd.git-lfs+json' }).end(JSON.stringify(body));
}

function sendObject(response: ServerResponse, content: Buffer | undefined): void {
  if (content === undefined) send(response, 404, { message: 'Object does not exist' });
  else response.writeHead(200, { 'content-length': content.length }).end(content);
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
