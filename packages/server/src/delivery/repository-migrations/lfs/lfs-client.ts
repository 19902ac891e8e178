/**
 * A client of the batch API of Git LFS (git-lfs docs/api/batch.md), basic transfers only.
 *
 * It exists because the addresses of objects come from the hosts: they must pass the egress guard, which the
 * program git-lfs cannot do (docs/adr/0066). The headers that a host gives for an object go to the address
 * that it gives with them; the credential goes to its own origin only.
 */

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { trimEnd } from '@headgate/pipelines';
import type { Credential, Remotes } from '../../git-remotes/index.ts';
import { MigrationFailed, type Side, toMigrationFailed } from '../git/migration-failure.ts';
import type { LfsPointer } from './lfs-pointer.ts';

export interface LfsHost extends Side {
  remotes: Remotes;
  cloneUrl: string;
  credential: Credential | undefined;
  signal: AbortSignal;
}

interface Action {
  href: string;
  header: Readonly<Record<string, string>>;
}

/** What a host says of one object. */
export interface LfsAnswer extends LfsPointer {
  /** The host signed the request of this object itself. */
  isAuthenticated: boolean;
  actions: Readonly<Partial<Record<'download' | 'upload' | 'verify', Action>>>;
  /** Why the host cannot do it. */
  error: { code: number; message: string } | undefined;
}

const mediaType = 'application/vnd.git-lfs+json';
const batchMilliseconds = 120_000;
const mostTransferMilliseconds = 3_600_000;
/** A host that is slower holds a migration, and with it the turn of another one, for hours. */
const leastBytesPerMillisecond = 16;
const mostAnswerBytes = 4 * 1024 * 1024;
export const computeTransferMilliseconds = (size: number): number =>
  Math.min(mostTransferMilliseconds, batchMilliseconds + Math.ceil(size / leastBytesPerMillisecond));

/** Names that would change what is sent, or to whom. */
const refusedHeader =
  /^(host|content-length|transfer-encoding|connection|expect|upgrade|te|trailer|proxy-.*|keep-alive)$/i;

/** git-lfs docs/api/server-discovery.md. */
export function findLfsEndpoint(cloneUrl: string): string {
  const url = trimEnd(cloneUrl, '/');
  return `${url.endsWith('.git') ? url : `${url}.git`}/info/lfs`;
}

export async function askBatch(
  host: LfsHost,
  operation: 'download' | 'upload',
  objects: readonly LfsPointer[],
): Promise<LfsAnswer[]> {
  const body = JSON.stringify({
    operation,
    transfers: ['basic'],
    hash_algo: 'sha256',
    objects: objects.map(({ oid, size }) => ({ oid, size })),
  });
  const url = `${findLfsEndpoint(host.cloneUrl)}/objects/batch`;
  const answer = await host.remotes
    .fetchText(url, {
      method: 'POST',
      headers: { accept: mediaType, 'content-type': mediaType },
      body,
      credential: host.credential,
      mostBytes: mostAnswerBytes,
      timeoutMilliseconds: batchMilliseconds,
      signal: host.signal,
    })
    .catch((failure: unknown) => {
      throw toMigrationFailed(host, failure);
    });
  if (answer.status !== 200) throw explainBatch(host, answer);
  return readAnswers(host, answer.body, objects);
}

function explainBatch(
  { side, provider }: Side,
  {
    status,
    headers,
    body,
  }: { status: number; headers: Readonly<Record<string, string | undefined>>; body: string },
): MigrationFailed {
  if (status === 404 || status === 501)
    return new MigrationFailed(
      'lfs-refused',
      `The ${side} has files in Git LFS, but its LFS service answered ${status}. Turn on Git LFS for the repository at the ${side}.`,
    );
  const { code, detail, remedy } = provider.explainFailure({ status, headers, text: body.slice(0, 1_000) });
  return new MigrationFailed(code, `Git LFS of the ${side}: ${detail} ${remedy}`, status >= 500);
}

function readAnswers(host: Side, text: string, objects: readonly LfsPointer[]): LfsAnswer[] {
  const listed = readMember(parseJson(text), 'objects');
  const answers = Array.isArray(listed) ? listed.map(readAnswer) : [];
  const byOid = new Map(answers.map((answer) => [answer.oid, answer]));
  return objects.map(
    (object) =>
      byOid.get(object.oid) ?? {
        ...object,
        isAuthenticated: false,
        actions: {},
        error: { code: 500, message: `the LFS service of the ${host.side} did not answer for it` },
      },
  );
}

function readAnswer(value: unknown): LfsAnswer {
  const error = readMember(value, 'error');
  const actions = readMember(value, 'actions');
  const read = (name: string): { [key: string]: Action } => {
    const action = readMember(actions, name);
    const href = readMember(action, 'href');
    return typeof href === 'string'
      ? { [name]: { href, header: readHeaders(readMember(action, 'header')) } }
      : {};
  };
  return {
    oid: String(readMember(value, 'oid')),
    size: Number(readMember(value, 'size')),
    isAuthenticated: readMember(value, 'authenticated') === true,
    actions: { ...read('download'), ...read('upload'), ...read('verify') },
    error:
      error === undefined || error === null
        ? undefined
        : {
            code: Number(readMember(error, 'code')),
            message: String(readMember(error, 'message')).slice(0, 200),
          },
  };
}

function readHeaders(input: unknown): Record<string, string> {
  if (typeof input !== 'object' || input === null) return {};
  const allowed = Object.entries(input).filter(
    ([name, value]) =>
      typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !refusedHeader.test(name),
  );
  return Object.fromEntries(allowed.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readMember(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? (of as Record<string, unknown>)[name] : undefined;
}

const needsCredential = ({ isAuthenticated }: LfsAnswer, { header }: Action) =>
  !isAuthenticated && header.authorization === undefined;

/** A host may name addresses of its own origin, which the operator may have set. Others pass the guard. */
const isElsewhere = ({ cloneUrl }: LfsHost, { href }: Action) =>
  !URL.canParse(href) || new URL(href).origin !== new URL(cloneUrl).origin;

/**
 * Downloads one object into a file, and checks its size and its SHA-256.
 *
 * @returns undefined if it has them; else why not, as the end of a sentence
 */
export async function downloadObject(
  host: LfsHost,
  answer: LfsAnswer,
  file: string,
  onBytes: (bytes: number) => void,
): Promise<string | undefined> {
  const action = answer.actions.download;
  if (action === undefined) return answer.error?.message ?? 'the host names no address for it';
  const response = await host.remotes.fetch(action.href, {
    headers: action.header,
    credential: needsCredential(answer, action) ? host.credential : undefined,
    isNamedByHost: isElsewhere(host, action),
    mostBytes: answer.size,
    timeoutMilliseconds: computeTransferMilliseconds(answer.size),
    signal: host.signal,
  });
  if (response.status !== 200) {
    response.body.destroy();
    return `the host answered ${response.status}`;
  }
  const digest = createHash('sha256');
  let size = 0;
  const check = new Transform({
    transform(chunk: Buffer, _, done) {
      digest.update(chunk);
      size += chunk.length;
      onBytes(chunk.length);
      done(null, chunk);
    },
  });
  // A name that exists is not overwritten: the folder belongs to the user of git.
  await pipeline(response.body, check, createWriteStream(file, { flags: 'wx', mode: 0o600 }), {
    signal: host.signal,
  });
  if (size !== answer.size) return `the host sent ${size} bytes in place of ${answer.size}`;
  return digest.digest('hex') === answer.oid
    ? undefined
    : 'the host sent other content (its SHA-256 differs)';
}

/** Uploads one object and asks the host to verify it. Returns why it failed, or undefined. */
export async function uploadObject(
  host: LfsHost,
  answer: LfsAnswer,
  file: string,
  onBytes: (bytes: number) => void,
): Promise<string | undefined> {
  const { upload, verify } = answer.actions;
  if (upload === undefined) return undefined;
  const body = Readable.from(readFile(file, onBytes));
  const sent = await host.remotes
    .fetchText(upload.href, {
      method: 'PUT',
      headers: {
        'content-type': 'application/octet-stream',
        ...upload.header,
        'content-length': String(answer.size),
      },
      body,
      credential: needsCredential(answer, upload) ? host.credential : undefined,
      isNamedByHost: isElsewhere(host, upload),
      mostBytes: mostAnswerBytes,
      timeoutMilliseconds: computeTransferMilliseconds(answer.size),
      signal: host.signal,
    })
    .finally(() => body.destroy());
  if (sent.status < 200 || sent.status > 299) {
    requireSpace(host, sent);
    return `the host answered ${sent.status}`;
  }
  if (verify === undefined) return undefined;
  const verified = await host.remotes.fetchText(verify.href, {
    method: 'POST',
    headers: { accept: mediaType, 'content-type': mediaType, ...verify.header },
    body: JSON.stringify({ oid: answer.oid, size: answer.size }),
    credential: needsCredential(answer, verify) ? host.credential : undefined,
    isNamedByHost: isElsewhere(host, verify),
    mostBytes: mostAnswerBytes,
    timeoutMilliseconds: batchMilliseconds,
    signal: host.signal,
  });
  return verified.status === 200 ? undefined : `the host did not verify it (${verified.status})`;
}

/** The other objects would be refused too. @throws MigrationFailed `quota-exceeded` */
function requireSpace({ side, provider }: LfsHost, { status, body }: { status: number; body: string }): void {
  const { code, detail } = provider.explainFailure({ status, text: body.slice(0, 1_000) });
  if (code !== 'quota-exceeded') return;
  throw new MigrationFailed(
    code,
    `Git LFS of the ${side}: ${detail} It answered ${status}. Raise its storage limit, and start again: the objects that it has are not sent again.`,
  );
}

/** Counts what the request takes. A listener of the stream would let it flow before the host is connected. */
async function* readFile(file: string, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(file)) {
    onBytes((chunk as Buffer).length);
    yield chunk as Buffer;
  }
}

export async function removeFile(file: string): Promise<void> {
  await rm(file, { force: true });
}
