/** Requests to the interfaces of Git hosts, and of LFS objects, with the guard of all other requests. */
import { PassThrough, Readable } from 'node:stream';
import { listSecretForms, showCredential } from './credential.ts';
import { awaitAnswer, type OutgoingRules, readHeaders, startRequest } from './guarded-request.ts';
import { type GuardedAnswer, type GuardedFetch, RemoteFailed, type Remotes } from './remote.ts';
import { cleanText, toRemoteFailure } from './remote-words.ts';

export function createGuardedFetch(rules: OutgoingRules): Pick<Remotes, 'fetch' | 'fetchText'> {
  async function fetch(address: string, options: GuardedFetch): Promise<GuardedAnswer> {
    const timeout = AbortSignal.timeout(options.timeoutMilliseconds);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
    const explain = (failure: unknown, isAnswered: boolean): unknown => {
      if (options.signal?.aborted) return options.signal.reason;
      if (!timeout.aborted) return new RemoteFailed(toRemoteFailure(failure, address, isAnswered));
      const seconds = options.timeoutMilliseconds / 1_000;
      return new RemoteFailed({
        kind: 'timeout',
        reason: `${showHost(address)} took longer than ${seconds} s.`,
      });
    };
    try {
      const request = await startRequest(rules, {
        url: requireUrl(address),
        method: options.method ?? 'GET',
        headers: withLength(options),
        credential: options.credential && showCredential(options.credential),
        isNamedByHost: options.isNamedByHost ?? false,
        signal,
      });
      const answered = awaitAnswer(request);
      if (options.body instanceof Readable) {
        const { body } = options;
        body.on('error', (failure) => request.destroy(failure));
        body.pipe(request);
      } else request.end(options.body);
      const answer = await answered;
      const body = boundBody(answer, options.mostBytes, showHost(address), (failure) =>
        explain(failure, true),
      );
      return { status: answer.statusCode ?? 0, headers: readHeaders(answer), body };
    } catch (failure) {
      throw explain(failure, false);
    }
  }

  return {
    fetch,
    async fetchText(address, options) {
      const { status, headers, body } = await fetch(address, options);
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk as Buffer);
      return { status, headers, body: Buffer.concat(chunks).toString('utf8') };
    },
  };
}

/** A host's text for a message: short, and without the credential. */
export function cleanHostText(text: string, credential: GuardedFetch['credential']): string {
  return cleanText(text, listSecretForms(credential));
}

function requireUrl(address: string): URL {
  if (!URL.canParse(address) || !/^https?:/i.test(address))
    throw new RemoteFailed({
      kind: 'address-refused',
      reason: 'The address must be an absolute http or https URL.',
    });
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url;
}

function showHost(address: string): string {
  return URL.canParse(address) ? new URL(address).host : 'The host';
}

function withLength({ headers = {}, body }: GuardedFetch): Record<string, string> {
  if (body === undefined || body instanceof Readable) return { ...headers };
  return { ...headers, 'content-length': String(Buffer.byteLength(body)) };
}

function boundBody(
  answer: Readable,
  mostBytes: number,
  host: string,
  explain: (failure: unknown) => unknown,
): Readable {
  const body = new PassThrough();
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostBytes) {
      const reason = `${host} sent more than ${mostBytes} bytes.`;
      body.destroy(new RemoteFailed({ kind: 'too-large', reason }));
      answer.destroy();
    } else if (!body.write(chunk)) {
      answer.pause();
    }
  });
  body.on('drain', () => answer.resume());
  answer.on('end', () => body.end());
  answer.on('error', (failure) => body.destroy(explain(failure) as Error));
  answer.on('close', () => {
    if (!body.writableEnded && !body.destroyed) body.destroy(explain(new Error('closed')) as Error);
  });
  body.on('close', () => answer.destroy());
  // Who leaves the body unread must not end the process by its failure.
  body.on('error', () => undefined);
  return body;
}
