import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskSecrets, restoreSecrets } from './masking.ts';

const mask = (text: string) => maskSecrets(text).text;

test('what looks like a secret is masked', () => {
  const masked: [string, string][] = [
    ['password: "hunter22"', 'password: [secret 1]'],
    ['api_key=abcdef123 next', 'api_key=[secret 1] next'],
    ['"client_secret": "s3cr3t!", "x": 1', '"client_secret": [secret 1], "x": 1'],
    ['aws AKIAIOSFODNN7EXAMPLE.', 'aws [secret 1].'],
    ['ghp_abcdefghijklmnopqrstuvwxyz0123', '[secret 1]'],
    ['Authorization: Bearer abcdefghijklmnop', 'Authorization: Bearer [secret 1]'],
    ['postgres://ada:pa55@db.example.com/x', 'postgres://ada:[secret 1]@db.example.com/x'],
    ['-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest', '[secret 1]\nrest'],
    ['eyJhbGciOiJI.eyJzdWIiOiIx.sig', '[secret 1]'],
    ['token: a_b_c\nDB_PASSWORD = xyz9', 'token: [secret 1]\nDB_PASSWORD = [secret 2]'],
  ];
  for (const [text, expected] of masked) assert.equal(mask(text), expected);
});

test('names of secrets and other text stay as they are', () => {
  const texts = [
    'secretName: prod/reader',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a pipeline
    'password: ${secret("reader")}',
    'the password is kept in the vault',
    'https://example.com/a?b=c',
    'select token_count from usage',
    'componentType: tokens',
  ];
  for (const text of texts) assert.equal(mask(text), text);
});

test('a masked text is restored exactly, also one that has a mark itself', () => {
  for (const text of [
    'password: abc\nx [secret 9] y\ntoken=def',
    'a [secret 1] b',
    'nothing',
    'password: abc, password: abd',
  ])
    assert.equal(restoreSecrets(mask(text), text), text);
  assert.equal(
    restoreSecrets('new [secret 2] first [secret 1]', 'password: abc token: def'),
    'new def first abc',
  );
  assert.equal(restoreSecrets('[secret 2]', 'password: abc'), undefined);
});
