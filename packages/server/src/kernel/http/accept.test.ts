import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptsJson, chooseEncoding, prefersHtml } from './accept.ts';

test('JSON is accepted by default, by name, and by a range that includes it', () => {
  const accepted = [
    undefined,
    '',
    '*/*',
    'application/json',
    'Application/JSON; charset=utf-8',
    'text/html, application/json;q=0.5',
    'application/*',
    'text/html, */*;q=0.1',
    'application/problem+json',
    'application/octet-stream',
    'application/json;q=nonsense',
  ];
  for (const accept of accepted) assert.ok(acceptsJson(accept), String(accept));
});

test('JSON is refused by weight 0 or if not listed; the most specific range decides', () => {
  const refused = [
    'text/html',
    'application/xml, image/*',
    'application/json;q=0',
    'application/json; q=0.000',
    'application/json;q=0, */*',
    'application/*;q=0, */*',
    '*/*;q=0',
    'application/problem+json;q=0',
    'application/jsonp',
  ];
  for (const accept of refused) assert.ok(!acceptsJson(accept), accept);
  assert.ok(acceptsJson('application/json, application/*;q=0'));
  assert.ok(acceptsJson('application/json;q=0.1, */*;q=0'));
});

test('a browser gets HTML, a program JSON', () => {
  assert.ok(prefersHtml('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'));
  for (const accept of [
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html;q=0.9',
    'text/*;q=0',
  ])
    assert.ok(!prefersHtml(accept), String(accept));
});

test('the encoding with the highest weight is chosen, or none', () => {
  const offered = ['br', 'gzip'] as const;
  const cases: [string, string | undefined][] = [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0.5, gzip', 'gzip'],
    ['gzip;q=0', undefined],
    ['deflate, zstd', undefined],
    ['', undefined],
  ];
  for (const [header, expected] of cases) assert.equal(chooseEncoding(header, offered), expected, header);
});
