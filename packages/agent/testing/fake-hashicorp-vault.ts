/** KV version 2 of HashiCorp Vault, as far as the agent uses it: X-Vault-Token, versions, check-and-set. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

interface Kept {
  versions: (Record<string, unknown> | null)[];
}

export async function startFakeHashicorpVault(token: string) {
  const secrets = new Map<string, Kept>();
  /** The statuses of the next requests, in order; 0 sends no answer. */
  const failures: number[] = [];
  /** Called between the read and the write of a client. */
  let beforeWrite: (() => void) | undefined;
  const seen: { namespace: string | undefined }[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const say = (status: number, body?: object) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body === undefined ? '' : JSON.stringify(body));
    };
    const failure = failures.shift();
    if (failure === 0) return;
    if (failure !== undefined) return say(failure, { errors: [`it holds ${Buffer.concat(chunks)}`] });
    if (request.headers['x-vault-token'] !== token) return say(403, { errors: ['permission denied'] });
    seen.push({ namespace: request.headers['x-vault-namespace'] as string | undefined });
    const match = /^\/v1\/team\/kv\/(data|metadata)\/(.+)$/.exec(decodeURIComponent(request.url ?? ''));
    if (match === null) return say(404, { errors: [] });
    const [, kind, name = ''] = match;
    const secret = secrets.get(name);
    const version = secret?.versions.length ?? 0;
    if (kind === 'metadata' && request.method === 'DELETE') {
      secrets.delete(name);
      return say(204);
    }
    if (request.method === 'GET') {
      const data = secret?.versions.at(-1);
      if (secret === undefined) return say(404, { errors: [] });
      return say(data === null ? 404 : 200, { data: { data, metadata: { version } } });
    }
    beforeWrite?.();
    beforeWrite = undefined;
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const now = secrets.get(name)?.versions ?? [];
    if (body.options?.cas !== undefined && body.options.cas !== now.length) {
      return say(400, {
        errors: ['check-and-set parameter did not match the current version'],
      });
    }
    secrets.set(name, { versions: [...now, body.data] });
    return say(200, { data: { version: now.length + 1 } });
  }

  const { origin, close } = await listenOnLoopback((request, response) => void answer(request, response));
  return {
    address: origin,
    secrets,
    failures,
    seen,
    onceBeforeWrite(run: () => void) {
      beforeWrite = run;
    },
    close,
  };
}
