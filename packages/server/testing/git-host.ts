/**
 * A Git host on loopback: `git http-backend` behind a small HTTP server, which checks tokens, records what it
 * was sent, and misbehaves on request.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export interface HostRequest {
  method: string;
  url: string;
  /** As received. */
  authorization: string | undefined;
  headers: Record<string, string>;
}

export interface HostBehaviour {
  /** Answers 404 to all. */
  isHidden?: boolean;
  /** Answers this instead of Git. */
  answer?: { status: number; headers?: Record<string, string>; body?: string };
  /** Answers by a redirect to this address, followed by the path of the request. */
  redirectTo?: string;
  /** Never answers. */
  hangs?: boolean;
  /** Closes the connection after so many bytes of an answer's body that are of a pack. */
  cutAfterBytes?: number;
  /** Answers slowly: the time before each chunk. */
  chunkMilliseconds?: number;
}

export interface HostedOnHost {
  /** The bare repository. */
  folder: string;
  cloneUrl: string;
  /** May be changed at any time. */
  behaviour: HostBehaviour;
  /** Runs git in the bare repository, and returns what it prints. */
  git(...args: string[]): string;
}

export interface GitHost {
  /** Without a slash at the end. */
  url: string;
  port: number;
  requests: HostRequest[];
  /** Creates a bare repository at /{name}. Who has a token of `writers` may push. Empty: public. */
  addRepository(name: string, access?: { readers?: string[]; writers?: string[] }): HostedOnHost;
  close(): Promise<void>;
}

/** Nothing waits for the disk, and no process starts beside those that a test is about. */
const settings: readonly (readonly [name: string, value: string])[] = [
  ['core.fsync', 'none'],
  ['http.receivepack', 'true'],
  ['receive.autogc', 'false'],
  ['fastimport.unpackLimit', '1'],
];

/** The environment of git in tests: no configuration of the machine. */
export const gitEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  HOME: tmpdir(),
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  LC_ALL: 'C',
  GIT_CONFIG_COUNT: `${settings.length}`,
  ...Object.fromEntries(
    settings.flatMap(([name, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, name],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
};

/** Runs git for the arrangement of a test. */
export function runGit(folder: string, args: readonly string[], input?: string | Buffer): string {
  return execFileSync('git', args, {
    cwd: folder,
    env: gitEnvironment,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(input === undefined ? {} : { input }),
  });
}

export interface CommittedFiles {
  branch?: string;
  message?: string;
  files: Record<string, string | Buffer>;
}

/** Commits files on a branch of a bare repository, which keeps its other files. Returns the commit's id. */
export function commitFiles(
  folder: string,
  { branch = 'main', message = 'change', files }: CommittedFiles,
): string {
  const stream: (string | Buffer)[] = [
    `commit refs/heads/${branch}\nmark :1\ncommitter Ada <ada@example.com> 1700000000 +0000\ndata ${Buffer.byteLength(message)}\n${message}\n`,
  ];
  const exists = runGit(folder, ['for-each-ref', `refs/heads/${branch}`]) !== '';
  if (exists) stream.push(`from refs/heads/${branch}^0\n`);
  for (const [path, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    stream.push(`M 100644 inline ${JSON.stringify(path)}\ndata ${bytes.length}\n`, bytes, '\n');
  }
  stream.push('get-mark :1\n');
  return runGit(
    folder,
    ['fast-import', '--quiet'],
    Buffer.concat(stream.map((part) => Buffer.from(part))),
  ).trim();
}

export async function startGitHost(): Promise<GitHost> {
  const root = mkdtempSync(join(tmpdir(), 'git-host-'));
  const repositories = new Map<string, { hosted: HostedOnHost; readers: string[]; writers: string[] }>();
  const requests: HostRequest[] = [];

  const listening = await listenOnLoopback((request, response) => {
    request.on('error', () => undefined);
    const { method = '', url = '', headers } = request;
    const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    requests.push({ method, url, authorization: headers.authorization, headers: flat });
    const [, name = '', rest = ''] =
      /^\/(.+?)(\/(?:info\/refs|git-upload-pack|git-receive-pack).*)$/.exec(url) ?? [];
    const found = repositories.get(name);
    if (found === undefined || found.hosted.behaviour.isHidden) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Repository not found.');
      return;
    }
    const { hosted, readers, writers } = found;
    const { answer, redirectTo, hangs } = hosted.behaviour;
    if (hangs) return;
    if (answer !== undefined) {
      response.writeHead(answer.status, answer.headers).end(answer.body);
      return;
    }
    if (redirectTo !== undefined) {
      response.writeHead(301, { location: `${redirectTo}${rest}` }).end();
      return;
    }
    const token = readToken(headers.authorization);
    const isWrite = url.includes('git-receive-pack');
    const isKnown = token !== undefined && (readers.includes(token) || writers.includes(token));
    const isPublic = readers.length === 0 && writers.length === 0;
    if (!isKnown && !isPublic) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('Authentication required.');
      return;
    }
    if (isWrite && !isPublic && !writers.includes(token ?? '')) {
      response.writeHead(403).end('You are not allowed to push code to this project.');
      return;
    }
    serveGit(root, request, response, hosted.behaviour);
  });

  const url = `http://127.0.0.1:${listening.port}`;
  return {
    url,
    port: listening.port,
    requests,
    addRepository(name, { readers = [], writers = [] } = {}) {
      const folder = join(root, name);
      runGit(root, ['init', '--quiet', '--bare', '--initial-branch=main', folder]);
      const hosted: HostedOnHost = {
        folder,
        cloneUrl: `${url}/${name}`,
        behaviour: {},
        git: (...args) => runGit(folder, args),
      };
      repositories.set(name, { hosted, readers, writers });
      return hosted;
    },
    async close() {
      await listening.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function readToken(authorization: string | undefined): string | undefined {
  const [, kind = '', value = ''] = /^(\w+) (.+)$/.exec(authorization ?? '') ?? [];
  if (kind === 'Bearer') return value;
  if (kind !== 'Basic') return undefined;
  return Buffer.from(value, 'base64')
    .toString()
    .replace(/^[^:]*:/, '');
}

function serveGit(
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: HostBehaviour,
): void {
  const program = ['git', 'http-backend'];
  serveCgi({ program, environment: { GIT_PROJECT_ROOT: root } }, request, response, behaviour);
}

export interface CgiProgram {
  program: readonly string[];
  environment: Readonly<Record<string, string>>;
}

/** CGI (RFC 3875), as far as git http-backend and programs in front of it need it. */
export function serveCgi(
  { program: [name = '', ...args], environment }: CgiProgram,
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: HostBehaviour = {},
): void {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const backend = spawn(name, args, {
    env: {
      ...gitEnvironment,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(path),
      QUERY_STRING: query,
      REQUEST_METHOD: request.method ?? '',
      REQUEST_URI: request.url ?? '',
      REMOTE_ADDR: '127.0.0.1',
      SERVER_PORT: '80',
      REMOTE_USER: 'ada',
      ...environment,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      ...(request.headers['content-length'] === undefined
        ? {}
        : { CONTENT_LENGTH: request.headers['content-length'] }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  backend.stdin.on('error', () => undefined);
  request.pipe(backend.stdin);
  response.on('close', () => backend.kill());
  passAnswer(backend.stdout, response, path.endsWith('/info/refs') ? {} : behaviour);
}

async function passAnswer(
  output: NodeJS.ReadableStream,
  response: ServerResponse,
  { cutAfterBytes, chunkMilliseconds }: HostBehaviour,
): Promise<void> {
  let head = Buffer.alloc(0);
  let passed = 0;
  for await (const chunk of output) {
    let body = chunk as Buffer;
    if (!response.headersSent) {
      head = Buffer.concat([head, body]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) continue;
      const lines = head.subarray(0, end).toString().split('\r\n');
      const headers = Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
      const { Status: status = '200', ...others } = headers;
      response.writeHead(Number.parseInt(status, 10), others);
      body = head.subarray(end + 4);
    }
    if (chunkMilliseconds !== undefined)
      await new Promise((resolve) => setTimeout(resolve, chunkMilliseconds));
    if (cutAfterBytes !== undefined && passed + body.length > cutAfterBytes) {
      response.write(body.subarray(0, cutAfterBytes - passed), () => response.destroy());
      return;
    }
    passed += body.length;
    response.write(body);
  }
  if (response.headersSent) response.end();
  else response.writeHead(500).end();
}
