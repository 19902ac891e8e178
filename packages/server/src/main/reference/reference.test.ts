/** The reference at /docs: complete, public, and without other origins. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { operations, problemsOf } from '@headgate/contract';
import MiniSearch from 'minisearch';
import { startTestServer } from '../../../testing/server.ts';
import { html } from '../../kernel/http/html.ts';

const server = await startTestServer({ settings: { HEADGATE_PUBLIC_URL: 'https://headgate.example' } });
const shown = operations.filter(({ surface }) => surface === 'dpc');

function get(path: string, headers: Record<string, string> = {}) {
  return server.transport({ method: 'GET', url: path, headers, body: undefined });
}

test('the server’s root redirects to the reference', async () => {
  const { status, headers } = await get('/');
  assert.deepEqual([status, headers.location], [302, 'docs']);
  assert.equal((await get(new URL(headers.location ?? '', 'http://host/').pathname)).status, 200);
});

const page = (await get('/docs')).text;
const areaPath = (tag: string) => `/docs/reference/${tag.toLowerCase().replaceAll(' ', '-')}`;
const tags = [...new Set(shown.map(({ tag }) => tag))];
const areaPages = new Map(
  await Promise.all(tags.map(async (tag) => [tag, (await get(areaPath(tag))).text] as const)),
);
const anchor = (id: string) => id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The visible text of an operation's section. */
function textOf({ id, tag }: { id: string; tag: string }): string {
  const [, section] = (areaPages.get(tag as (typeof tags)[number]) ?? '').split(
    `<section class="operation" id="${anchor(id)}"`,
  );
  const markup = section?.split('</section>', 1)[0] ?? assert.fail(`${id} has no section`);
  return markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

type Json = { properties?: Record<string, Json>; anyOf?: Json[]; items?: Json };

/** The member names of a schema, at any depth. */
function membersOf(schema: Json | undefined): string[] {
  if (schema === undefined) return [];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    name,
    ...membersOf(member),
  ]);
  return [...own, ...membersOf(schema.items), ...(schema.anyOf ?? []).flatMap(membersOf)];
}

test('it needs no token, and its policy allows nothing from other origins', async () => {
  const answer = await get('/docs');
  assert.equal(answer.status, 200);
  assert.match(answer.headers['content-type'] ?? '', /^text\/html\b/);
  const policy = answer.headers['content-security-policy'] ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal((await get('/docs/')).headers.location, '../docs');
});

test('the page and its files name no other origin, and the page has no inline script or style', async () => {
  for (const [, address = ''] of page.matchAll(/(?:href|src)="([^"]*)"/g)) {
    assert.match(address, /^(#|docs$|docs\/[a-z]|openapi\.json$|data:image\/svg)/);
  }
  assert.doesNotMatch(page, /<script(?! src="docs\/reference\.js")|<style|\sstyle=|\son\w+=/);
  for (const file of ['/docs/reference.css', '/docs/reference.js']) {
    const { status, text, headers } = await get(file);
    assert.equal(status, 200);
    assert.match(headers['content-type'] ?? '', /^text\/(css|javascript)\b/);
    assert.doesNotMatch(text, /https?:|@import|url\(|import\((?!'\.\/minisearch\.js'\))/);
  }
});

test('it has every operation with its request, permission, problems, members and example', () => {
  for (const operation of shown) {
    const text = textOf(operation);
    const { params, query, headers, body, success } = operation;
    const parts = [params, query, headers, body, success.body] as (Json | undefined)[];
    const expected = [
      operation.id,
      `${operation.method} /dpc${operation.path}`,
      operation.permission ?? '',
      ...problemsOf(operation).filter((code) => operation.problems.includes(code)),
      ...operation.events,
      ...parts.flatMap(membersOf),
      'curl "$BASE/dpc/v1/',
      `Response ${success.status}`,
    ];
    for (const each of expected) assert.ok(text.includes(each), `${operation.id}: ${each}`);
    assert.doesNotMatch(text, /undefined|\[object/, operation.id);
  }
});

test('the start page names every operation, and its page is small', () => {
  for (const { id, tag } of shown)
    assert.ok(page.includes(`href="${areaPath(tag).slice(1)}#${anchor(id)}"`), id);
  for (const [tag, text] of areaPages) {
    assert.ok(text.length < 600_000, `${tag}: ${text.length} characters`);
    const ids = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length, tag);
  }
});

test('the search finds operations and sections of guides', async () => {
  const { options, index } = JSON.parse((await get('/docs/search.json')).text);
  const search = MiniSearch.loadJS(index, options);
  const find = (words: string) =>
    search.search(words, { boost: { title: 4 }, prefix: true, combineWith: 'AND' }).map(({ path }) => path);
  assert.equal(find('create variable')[0], 'reference/variables#create-variable');
  assert.equal(find('createVariable')[0], 'reference/variables#create-variable');
  assert.ok(find('cron expression').some((path) => path.startsWith('schedules')));
  assert.match((await get('/docs/minisearch.js')).text, /export \{[^}]*MiniSearch/);
});

test('the examples use this server’s public URL', () => {
  assert.match(page, /BASE=https:\/\/headgate\.example\n/);
  assert.match(
    textOf({ id: 'createVariable', tag: 'Variables' }),
    /Location: https:\/\/headgate\.example\/dpc\/v1\/projects\//,
  );
});

test('it is sent again only after a change, and compressed', async () => {
  const { etag = '' } = (await get('/docs')).headers;
  const again = await get('/docs', { 'if-none-match': `"other", W/${etag}` });
  assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag]);
  const address = await server.listen();
  const answer = await fetch(`${address}/docs`, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(answer.headers.get('content-encoding'), 'gzip');
  assert.notEqual(answer.headers.get('etag'), etag);
  assert.equal(await answer.text(), page);
  assert.ok(gzipSync(page).length < 40_000, `${gzipSync(page).length} bytes`);
});

test('values in markup are escaped, unless they are markup', () => {
  const name = `<b>"x" & 'y'</b>`;
  assert.equal(
    html`<i>${name}${[html`<br>`, 1]}${undefined}</i>`.text,
    '<i>&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/b&gt;<br>1</i>',
  );
});
