/**
 * An upload that is refused before it is read still gets its response, from 1 KB to 50 MB, with several
 * kinds of clients.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ProblemCode, ProblemDetail } from '@headgate/contract';
import { problems } from '@headgate/contract';
import { BlockingConnection } from '../../../testing/blocking-connection.ts';
import { buildMultipart, multipartBoundary, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const address = await server.listen();
const account = await server.account();
const project = await account.project();
const authorization = `Bearer ${await account.admin.token()}`;
assert.equal((await upload(account.admin, project, [{ name: 'a', content: 'a' }])).status, 201);

const folder = await mkdtemp(join(tmpdir(), 'headgate-refused-'));
after(() => rm(folder, { recursive: true }));

const kilobyte = 1_000;
const sizes = [1, 64, 800, 5_000, 50_000].map((size) => size * kilobyte);
const runs = 66;
const partBytes = 1_000_000;

/** A form of about this size; a bad one has a refused name in its middle. */
function form(bytes: number, isBad: boolean): Buffer {
  const each = Math.min(partBytes, Math.ceil(bytes / 3));
  const count = Math.ceil(bytes / each);
  const middle = isBad ? Math.floor(count / 2) : -1;
  const parts = Array.from({ length: count }, (_, index) => ({
    name: index === middle ? '../up' : `file${index}.txt`,
    content: Buffer.alloc(each, 'x'),
  }));
  return buildMultipart(parts);
}

interface Body {
  bytes: Buffer;
  file: string;
}

async function kept(name: string, bytes: Buffer): Promise<Body> {
  const file = join(folder, name);
  await writeFile(file, bytes);
  return { bytes, file };
}

const good = await Promise.all(sizes.map((size) => kept(`good-${size}`, form(size, false))));
const bad = await Promise.all(sizes.map((size) => kept(`bad-${size}`, form(size, true))));

interface Refusal {
  code: ProblemCode;
  method?: string;
  path?: string;
  /** An empty value removes the header. */
  headers?: Record<string, string>;
  bodies?: readonly Body[];
}

const refusals: readonly Refusal[] = [
  { code: 'token-required', headers: { authorization: '' } },
  { code: 'token-invalid', headers: { authorization: 'Bearer nonsense' } },
  { code: 'project-not-found', path: '/projects/01890000-0000-7000-8000-000000000000/artifacts' },
  { code: 'environment-not-found', headers: { environmentName: 'none' } },
  { code: 'path-not-found', path: '/nowhere' },
  { code: 'method-not-allowed', method: 'PUT' },
  { code: 'unsupported-media-type', headers: { 'content-type': 'text/plain' } },
  { code: 'unsupported-content-encoding', headers: { 'content-encoding': 'zstd' } },
  { code: 'invalid-request', headers: { versionName: '' } },
  { code: 'invalid-asset-name', bodies: bad },
  { code: 'version-exists' },
];

interface Job {
  code: ProblemCode;
  method: string;
  url: string;
  path: string;
  headers: Record<string, string>;
  body: Body;
}

/**
 * Mostly small uploads, as in practice. Every refusal is combined with every size except the two largest,
 * which are rare.
 */
function jobs(): Job[] {
  return Array.from({ length: runs }, (_, run) => {
    const sizeIndex = run % 33 === 32 ? 4 : run % 10 === 9 ? 3 : run % 3;
    const {
      code,
      method = 'POST',
      path,
      headers,
      bodies = good,
    } = refusals[run % refusals.length] as Refusal;
    const all = {
      authorization,
      environmentName: 'dev',
      versionName: 'v1',
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
      ...headers,
    };
    const below = `/dpc/v1${path ?? `${project.path}/artifacts`}`;
    return {
      code,
      method,
      path: below,
      url: address + below,
      headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
      body: bodies[sizeIndex] as Body,
    };
  });
}

/** Checks what a client saw of each upload: status and problem code, or its failure. */
function requireAll(client: string, seen: readonly string[]): void {
  const expected = jobs().map(({ code }) => `${problems[code].status} ${code}`);
  const wrong = expected
    .map((want, index) => ({ want, saw: seen[index], bytes: jobs()[index]?.body.bytes.length }))
    .filter(({ want, saw }) => want !== saw);
  assert.deepEqual(wrong, [], `${client}: ${wrong.length} of ${runs} did not see their answer`);
}

function shownBy(status: number, text: string): string {
  return `${status} ${(JSON.parse(text) as ProblemDetail).code}`;
}

function isMissing(program: string): string | false {
  return spawnSync(program, ['--version']).error === undefined ? false : `${program} is not installed here`;
}

/**
 * Runs a program with this input and returns its standard output. The exit code does not matter: the output
 * has the result of each upload.
 */
async function output(program: string, args: string[], input: string): Promise<string> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const text = child.stdout.setEncoding('utf8').toArray();
  child.stdin.end(input);
  return ((await text) as string[]).join('');
}

test('fetch', async () => {
  const seen: string[] = [];
  for (const { method, url, headers, body } of jobs()) {
    const answered = fetch(url, { method, headers, body: body.bytes as Buffer<ArrayBuffer> });
    seen.push(
      await answered.then(
        async (answer) => shownBy(answer.status, await answer.text()),
        (failure: Error) => `${failure.message}: ${failure.cause}`,
      ),
    );
  }
  requireAll('fetch', seen);
});

test('curl', { skip: isMissing('curl') }, async () => {
  const config = jobs().map(({ method, url, headers, body }) =>
    [
      `url = "${url}"`,
      `request = "${method}"`,
      ...Object.entries(headers).map(([name, value]) => `header = "${name}: ${value}"`),
      `data-binary = "@${body.file}"`,
      'silent',
      'write-out = "\\n%{http_code} %{exitcode} %{errormsg}\\n"',
    ].join('\n'),
  );
  const lines = (await output('curl', ['--config', '-'], config.join('\nnext\n'))).split('\n');
  const seen = Array.from({ length: runs }, (_, run) => {
    const [text = '', end = ''] = lines.slice(run * 2, run * 2 + 2);
    const [status, exitCode] = end.split(' ');
    return exitCode === '0' ? shownBy(Number(status), text) : end;
  });
  requireAll('curl', seen);
});

const pythonProgram = `
import json, sys, urllib.error, urllib.request
for job in json.load(sys.stdin):
    with open(job["file"], "rb") as file:
        body = file.read()
    request = urllib.request.Request(job["url"], body, job["headers"], method=job["method"])
    try:
        urllib.request.urlopen(request)
        print("succeeded")
    except urllib.error.HTTPError as answer:
        print(answer.code, json.load(answer)["code"])
    except OSError as failure:
        print(failure)
`;

test('urllib of Python', { skip: isMissing('python3') }, async () => {
  const described = jobs().map(({ method, url, headers, body }) => ({
    method,
    url,
    headers,
    file: body.file,
  }));
  const seen = await output('python3', ['-c', pythonProgram], JSON.stringify(described));
  requireAll('urllib', seen.trimEnd().split('\n'));
});

test('raw connections that send the next request on the same connection', async () => {
  const seen: string[] = [];
  let connection = await BlockingConnection.open(address);
  for (const { method, path, headers, body } of jobs()) {
    const answered = connection.exchange(method, path, headers, body.bytes);
    const saw = await answered.then(
      ({ status, text }) => shownBy(status, text),
      (failure: Error) => failure.message,
    );
    seen.push(saw);
    if (saw.includes('connection')) connection = await BlockingConnection.open(address);
    else assert.equal((await connection.exchange('GET', '/livez', {})).status, 200);
  }
  connection.close();
  requireAll('a raw connection', seen);
});
