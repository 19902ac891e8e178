/** Passes one request of git to the other host, and its answer back. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { awaitAnswer, type OutgoingRules, readHeaders, startRequest } from './guarded-request.ts';
import { cleanText, explainRedirect, explainStatus, toRemoteFailure } from './remote-words.ts';
import type { RelayedRequest, Session } from './session.ts';

/** What the host needs of git's headers. Not Authorization, which is the session's. */
const passedHeaders = ['accept', 'content-type', 'content-encoding', 'content-length', 'git-protocol'];
const mostTextBytes = 4_096;
const textMilliseconds = 5_000;

export async function passOn(
  rules: OutgoingRules,
  session: Session,
  expected: RelayedRequest,
  fromGit: IncomingMessage,
  toGit: ServerResponse,
): Promise<void> {
  const url = new URL(`${session.base}/${expected.path}`);
  const gone = new AbortController();
  const signal = AbortSignal.any([session.signal, gone.signal]);
  toGit.on('close', () => {
    if (!toGit.writableFinished) gone.abort();
  });
  signal.addEventListener('abort', () => toGit.destroy());
  let isAnswered = false;
  try {
    const request = await startRequest(rules, {
      url,
      method: expected.method,
      headers: pickHeaders(fromGit),
      credential: session.credential,
      signal,
    });
    const answered = awaitAnswer(request);
    fromGit.on('data', (chunk: Buffer) => session.count('sent', chunk.length));
    fromGit.pipe(request);
    const answer = await answered;
    isAnswered = true;
    if (await refuseAnswer(session, expected, url, answer, toGit)) {
      // The rest of a push has no reader any more.
      fromGit.unpipe(request).resume();
      request.destroy();
      return;
    }
    toGit.writeHead(200, { 'content-type': expected.answerType, 'cache-control': 'no-cache' });
    answer.on('data', (chunk: Buffer) => session.count('received', chunk.length));
    await pipeAnswer(answer, toGit);
  } catch (failure) {
    // Without an abort: when git has ended, or the session was closed, that is the reason.
    if (!signal.aborted) session.fail(toRemoteFailure(failure, url.href, isAnswered));
    refuse(toGit, session);
  }
}

function pickHeaders({ headers }: IncomingMessage): Record<string, string> {
  const picked: Record<string, string> = {
    // Git asks some hosts for another protocol by this name.
    'user-agent': 'git/headgate',
    // The bounds count what is unpacked.
    'accept-encoding': 'identity',
  };
  for (const name of passedHeaders) {
    const value = headers[name];
    if (typeof value === 'string') picked[name] = value;
  }
  return picked;
}

/** True if the answer is no Git; then git got a refusal, and the session has the reason. */
async function refuseAnswer(
  session: Session,
  expected: RelayedRequest,
  url: URL,
  answer: IncomingMessage,
  toGit: ServerResponse,
): Promise<boolean> {
  const status = answer.statusCode ?? 0;
  if (status === 200) {
    const [type = ''] = (answer.headers['content-type'] ?? '').split(';');
    const coding = answer.headers['content-encoding'] ?? 'identity';
    if (type.trim().toLowerCase() === expected.answerType && coding === 'identity') return false;
    session.fail({
      kind: 'not-git',
      status,
      reason: `${session.host} answers, but not with Git's smart HTTP protocol. Is the clone URL the address of a repository?`,
    });
  } else if (status >= 300 && status < 400) {
    session.fail(explainRedirect(url, status, answer.headers.location));
  } else {
    const text = cleanText(await readText(answer), session.credential?.secretForms ?? []);
    const hasCredential = session.credential !== undefined && session.credential.origin === url.origin;
    session.fail(explainStatus({ url, status, headers: readHeaders(answer), text, hasCredential }));
  }
  answer.destroy();
  refuse(toGit, session);
  return true;
}

function refuse(toGit: ServerResponse, session: Session): void {
  if (toGit.headersSent) toGit.destroy();
  else toGit.writeHead(502, { connection: 'close' }).end(`${session.failure?.reason ?? ''}\n`);
}

/** The beginning of an error's body. */
async function readText(answer: IncomingMessage): Promise<string> {
  const timer = setTimeout(() => answer.destroy(), textMilliseconds);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes >= mostTextBytes) break;
    }
  } catch {
    // What has arrived is better than nothing.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, mostTextBytes).toString('utf8');
}

function pipeAnswer(answer: IncomingMessage, toGit: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    answer.on('error', reject);
    answer.on('close', () => {
      if (!answer.complete) reject(new Error('closed'));
    });
    toGit.on('finish', resolve);
    toGit.on('close', resolve);
    answer.pipe(toGit);
  });
}
