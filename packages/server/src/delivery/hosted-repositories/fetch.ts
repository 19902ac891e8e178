/** Clones and fetches, by `git upload-pack`. */
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyRequest } from 'fastify';
import { decodeContent } from '../../kernel/http/content-encoding.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Log } from '../../kernel/log.ts';
import type { Git, GitProcess, GitRepository } from '../git/index.ts';
import { flushPacket, formatLine } from './packet-lines.ts';

interface FetchServices {
  git: Git;
  log: Log;
  /** Without bytes in either direction for this long a fetch ends: it holds a place. */
  idleMilliseconds?: number;
}

interface FetchAbout {
  accountId: string;
  repository: GitRepository;
  signal?: AbortSignal;
}

/** Wants and haves of a repository with a million commits take less. */
const mostRequestBytes = 64 * 1_048_576;
const mostRefsBytes = 16 * 1_048_576;
const longestMilliseconds = 3_600_000;
const usualIdleMilliseconds = 60_000;

/** The protocol version that the client asks for; others are not passed on. */
function readProtocol(request: FastifyRequest): Record<string, string> {
  const version = /(?:^|:)version=([012])(?:$|:)/.exec(String(request.headers['git-protocol'] ?? ''))?.[1];
  return version === undefined ? {} : { GIT_PROTOCOL: `version=${version}` };
}

/** The first answer of protocol 2 says what git can do, and is the same for every repository. */
const capabilities = new WeakMap<Git, Buffer>();

export async function answerFetchRefs(
  { git }: FetchServices,
  request: FastifyRequest,
  { accountId, repository }: FetchAbout,
): Promise<Buffer> {
  const environment = readProtocol(request);
  const { folder } = repository;
  const isSecond = environment.GIT_PROTOCOL === 'version=2';
  const known = isSecond ? capabilities.get(git) : undefined;
  if (known !== undefined) return known;
  const { code, stdout, stderr } = await git.run(
    ['upload-pack', '--stateless-rpc', '--advertise-refs', '--strict', folder],
    { folder, accountId, environment, mostOutputBytes: mostRefsBytes },
  );
  if (code !== 0) throw problem('git-failed', { command: 'upload-pack', words: stderr });
  if (isSecond) {
    capabilities.set(git, stdout);
    return stdout;
  }
  return Buffer.concat([formatLine('# service=git-upload-pack'), flushPacket, stdout]);
}

/** The answer as a stream; the process ends with it. */
export async function answerFetch(
  { git, log, idleMilliseconds = usualIdleMilliseconds }: FetchServices,
  request: FastifyRequest,
  { accountId, repository, signal }: FetchAbout,
): Promise<Readable> {
  const { folder } = repository;
  const started = await git.spawn(['upload-pack', '--stateless-rpc', '--strict', folder], {
    folder,
    accountId,
    kind: 'long',
    environment: readProtocol(request),
    timeoutMilliseconds: longestMilliseconds,
    signal,
  });
  const { moved, wasIdle } = watchIdle(started, idleMilliseconds);
  pipeline(limitBytes(decodeContent(request.raw), moved), started.stdin).catch(() => started.kill());
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const output = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      begin();
      moved();
      done(null, chunk);
    },
  });
  pipeline(started.stdout, output).catch(() => started.kill());
  started.ended
    .then(({ code, stderr }) => {
      if (code !== 0 && signal?.aborted !== true)
        log.info({ requestId: request.id, code, words: stderr.slice(0, 500) }, 'git upload-pack failed');
    })
    .catch((failure: unknown) => {
      log.info({ requestId: request.id, err: failure }, 'git upload-pack was ended');
      output.destroy();
    });
  // A request that git cannot read gets no answer from it.
  const end = await Promise.race([begun, started.ended]);
  if (end !== undefined && wasIdle()) throw problem('request-timeout');
  if (end !== undefined && end.code !== 0) throw problem('invalid-push', { reason: end.stderr });
  return output;
}

/** Ends the process when `moved` was not called for too long. */
function watchIdle(started: GitProcess, idleMilliseconds: number) {
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    started.kill();
  }, idleMilliseconds);
  started.ended.finally(() => clearTimeout(timer)).catch(() => undefined);
  return { moved: () => void timer.refresh(), wasIdle: () => isOver };
}

async function* limitBytes(
  source: AsyncGenerator<Buffer, void, undefined>,
  moved: () => void,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    moved();
    if (bytes > mostRequestBytes)
      throw problem('body-too-large', { limit: `a fetch may ask with at most ${mostRequestBytes} bytes` });
    yield chunk;
  }
}
