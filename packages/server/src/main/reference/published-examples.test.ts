/**
 * The examples of the reference match the server's responses: each is sent to a server with a fixed clock,
 * and the response is compared with the published one, except identifiers and secrets. `npm run generate`
 * records them.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Operation, operations, type PublishedExample } from '@headgate/contract';
import type { Answer } from '../../../testing/client.ts';
import { examples } from '../../../testing/guards.ts';
import { createPlace, type Example, type Place } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const file = fileURLToPath(import.meta.resolve('@headgate/contract/examples.json'));
const startsAt = new Date('2026-11-21T09:30:00.000Z');
const server = await startTestServer({ startsAt });
const shown = operations.filter((operation) => operation.surface === 'dpc');

const uuidForm = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const standInTime = startsAt.getTime().toString(16).padStart(12, '0');

/** An identifier in the server's form that is the same in each run. */
function standIn(seed: string): string {
  const digits = createHash('sha256').update(seed).digest('hex');
  return `${standInTime.slice(0, 8)}-${standInTime.slice(8)}-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6, 18)}`;
}

const standInTag = '0a1b2c3d4e5f';

/** Replaces what differs between runs: identifiers, numbered in order of appearance, and secrets. */
function steady(operation: Operation, place: Place) {
  const known = new Map([
    [place.project.projectId, standIn('project')],
    [place.agent.agentId, standIn('agent')],
    [place.account.admin.actorId, standIn('caller')],
  ]);
  const id = (found: string): string => {
    const input = known.get(found) ?? standIn(`${operation.id} ${known.size}`);
    known.set(found, input);
    return input;
  };
  /** Ids of Git objects that hold the time or the caller. */
  const objects = new Map<string, string>();
  const objectId = (found: string): string => {
    const input = createHash('sha1').update(`${operation.id} ${objects.size}`).digest('hex');
    if (!objects.has(found)) objects.set(found, input);
    return objects.get(found) ?? input;
  };
  return <Value>(value: Value): Value =>
    JSON.parse(
      JSON.stringify(value)
        .replaceAll(uuidForm, id)
        .replaceAll(/\b[0-9a-f]{40}\b/g, objectId)
        .replaceAll(
          /("(?:ETag|version)":"\\")(\d+-)?[\w-]+/g,
          (_, before: string, version = '') => before + version + standInTag,
        )
        // Of what was seen: it holds ids and times.
        .replaceAll(/("digest":")[0-9a-f]{64}/g, `$1${'0a1b2c3d'.repeat(8)}`)
        .replaceAll('a SUPER_ADMIN', 'first credential')
        .replaceAll(/hgp_[\w-]{43}/g, `hgp_${'x'.repeat(43)}`)
        .replaceAll(/hg_[0-9a-f]{24}/g, 'hg_39619998a6fbe84c802505f9')
        .replaceAll(/("certificate":|"issuerChain":\[)"[^"]+"/g, '$1"-----BEGIN CERTIFICATE-----…"')
        .replaceAll(/("kid":)"[^"]+"/g, '$1"kbR5UGDhCGv9MqpwzmK7CMFVvqN7FYmOVgBTaiz9p_c"')
        .replaceAll(/("receipt":)"[^"]+"/g, '$1"(a compact JWS)"')
        .replaceAll(/((?:state|code_challenge)=)[\w-]{43}/g, '$1(43-characters)')
        .replaceAll(/(sign-in\/(?:links|invitations)\/)[\w-]{43}/g, '$1(43-characters)')
        .replaceAll(/whsec_[\w+/]{43}=/g, 'whsec_(the key in base64, shown only now)')
        .replaceAll(/("clientSecret":)"[^"]+"/g, '$1"(43 characters, shown only now)"'),
    ) as Value;
}

/** The values of the path's parameters. */
function paramsOf(operation: Operation, path: string): Record<string, string> {
  const form = operation.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
  const match = new RegExp(`^${form}$`).exec(path) ?? assert.fail(`${path} is not of ${operation.id}`);
  const entries = Object.entries(match.groups ?? {});
  return Object.fromEntries(entries.map(([name, value]) => [name, decodeURIComponent(value)]));
}

const filled = <Part extends object>(name: string, part: Part) =>
  Object.keys(part).length === 0 ? {} : { [name]: part };

function requestOf(operation: Operation, { path, body, parts, headers = {} }: Example) {
  const { pathname, searchParams } = new URL(`/v1${path}`, 'http://x');
  const { 'content-type': _, authorization: __, ...shownHeaders } = headers;
  return {
    ...filled('params', paramsOf(operation, pathname)),
    ...filled('query', Object.fromEntries(searchParams)),
    ...filled('headers', shownHeaders),
    ...(parts === undefined
      ? body !== undefined && { body }
      : { parts: Object.fromEntries(parts.map(({ name, content }) => [name, String(content)])) }),
  };
}

function answerOf({ success }: Operation, answer: Answer): PublishedExample['answer'] {
  const headers = (success.headers ?? []).map((name) => [name, answer.headers[name.toLowerCase()] ?? '']);
  return {
    status: answer.status,
    ...filled('headers', Object.fromEntries(headers) as Record<string, string>),
    ...(success.body === undefined ? {} : { body: answer.body }),
  };
}

async function execute(operation: Operation): Promise<PublishedExample> {
  const place = await createPlace(await server.account(), { published: true, now: startsAt });
  const example =
    (await examples[operation.id]?.(place)) ??
    assert.fail(`no examples of a slice have a request for ${operation.id}`);
  const { path, body, headers = {} } = example;
  const answer = await place.account.admin.send(operation.method, path, { body, headers });
  assert.equal(answer.status, operation.success.status, `${operation.id}: ${answer.text}`);
  const found = { request: requestOf(operation, example), answer: answerOf(operation, answer) };
  return steady(operation, place)(found);
}

// Set by `npm run generate` to record the examples.
const recording = process.execArgv.includes('--test-update-snapshots');

if (recording) {
  test('the examples are recorded', async () => {
    const found: Record<string, PublishedExample> = {};
    for (const operation of shown) found[operation.id] = await execute(operation);
    await writeFile(file, `${JSON.stringify(found, null, 2)}\n`);
  });
} else {
  const stored = JSON.parse(await readFile(file, 'utf8')) as Record<string, PublishedExample>;

  for (const operation of shown) {
    test(`the published example of ${operation.id} matches the server's response`, async () => {
      const published = stored[operation.id] ?? assert.fail('it is missing: run `npm run generate`');
      assert.deepEqual(
        await execute(operation),
        published,
        'if this change is intended, run `npm run generate`',
      );
    });
  }

  test('every published example belongs to an operation', () => {
    assert.deepEqual(
      Object.keys(stored),
      shown.map((operation) => operation.id),
    );
  });
}
