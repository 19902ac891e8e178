import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '@headgate/contract';
import fc from 'fast-check';
import { Masking } from './masking.ts';

function maskingOf(...values: string[]): Masking {
  const masking = new Masking();
  for (const value of values) masking.add(new Secret(value));
  return masking;
}

const value = 'it\'s "of/a+canary" \\ sécret, 8f21';

test('a value is masked in each usual encoding', () => {
  const masking = maskingOf(value);
  const bytes = Buffer.from(value);
  const written = [
    value,
    JSON.stringify(value),
    encodeURIComponent(value),
    encodeURI(value),
    new URLSearchParams({ value }).toString(),
    // As url_encode of DuckDB, quote_plus of Python, and programs with digits in lower case.
    encodeURIComponent(value).replaceAll("'", '%27'),
    encodeURIComponent(value).replaceAll("'", '%27').replaceAll('%20', '+'),
    encodeURIComponent(value)
      .replaceAll("'", '%27')
      .replaceAll(/%../g, (each) => each.toLowerCase()),
    encodeURIComponent(value).replaceAll(/%../g, (each) => each.toLowerCase()),
    `'${value.replaceAll("'", "''")}'`,
    `"${value.replaceAll('"', '""')}"`,
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ];
  for (const text of written) {
    const masked = masking.mask(`before ${text} after`);
    assert.match(masked, /^before ["']?(value=)?\*\*\*["']? after$/, text);
  }
});

test('a value is masked inside base64 at any alignment', () => {
  const masking = maskingOf(value);
  for (const before of ['', 'x', 'xy', 'xyz', 'user:']) {
    const masked = masking.mask(Buffer.from(`${before}${value}: after`).toString('base64'));
    assert.match(masked, /\*\*\*/);
    const left = masked.split('***').map((each) => Buffer.from(each, 'base64').toString('latin1'));
    for (const each of left)
      for (let at = 0; at + 3 <= value.length; at += 1)
        assert.ok(!each.includes(value.slice(at, at + 3)), `${each} holds a part`);
  }
});

test('adjacent and overlapping values are masked completely', () => {
  assert.equal(maskingOf('abcabc').mask('x abcabcabc y'), 'x *** y');
  assert.equal(maskingOf('first', 'stone').mask('firstone'), '***');
  assert.equal(maskingOf('first', 'stone').mask('first stone'), '*** ***');
  assert.equal(maskingOf('long value', 'value').mask('a long value, a value'), 'a ***, a ***');
});

test('each line and each member of a value is masked', () => {
  const key = '-----BEGIN KEY-----\nMIIabcdef\n-----END KEY-----\n';
  assert.equal(maskingOf(key).mask(`the key ${key.trim()}`), 'the key ***\n***\n***');
  assert.equal(maskingOf(key).mask('its line MIIabcdef'), 'its line ***');
  const members = JSON.stringify({ clientId: 'reader', nested: { clientSecret: 'pass"word' }, port: 5432 });
  assert.equal(maskingOf(members).mask('reader, pass"word, 5432, clientId'), '***, ***, 5432, clientId');
  assert.equal(maskingOf(members).mask(`all: ${members}`), 'all: ***');
});

test('any value in any context is masked', () => {
  const texts = fc.string({ unit: 'grapheme', maxLength: 30 });
  const values = fc
    .string({ unit: 'grapheme', minLength: 4, maxLength: 40 })
    .filter((value) => !value.includes('*'));
  fc.assert(
    fc.property(values, texts, texts, (secret, before, after) => {
      const masking = maskingOf(secret);
      const written = [
        secret,
        JSON.stringify(secret).slice(1, -1),
        encodeURIComponent(secret),
        secret.replaceAll("'", "''"),
        Buffer.from(secret).toString('hex'),
        Buffer.from(secret).toString('base64url'),
      ];
      for (const form of written) {
        const masked = masking.mask(`${before}${form}${after}`);
        assert.ok(masked.includes('***') && !masked.includes(secret), form);
      }
    }),
    { numRuns: 300 },
  );
});

test('a short value is masked as a whole word, an empty one not at all', () => {
  assert.equal(maskingOf('abc').mask('abc, "abc"; abcd Abc dabc'), '***, "***"; abcd Abc dabc');
  assert.equal(maskingOf('7').mask('7 of 70'), '*** of 70');
  assert.equal(maskingOf('').mask('nothing'), 'nothing');
});

test('fragments of four or more characters of a value are masked in errors', () => {
  const masking = maskingOf('s3cr3t-of-the-lake');
  const message = 'Parser Error: syntax error at or near "lake"\nLINE 1: ...cr3t-of-the-la...';
  assert.equal(masking.conceal(message), 'Parser Error: syntax error at or near "***"\nLINE 1: ...***...');
  assert.equal(masking.mask(message), message, 'only there');
});

test('a text computed from a value is not masked', () => {
  assert.equal(maskingOf('s3cr3t-of-the-lake').mask('S3CR3T-OF-THE-LAKE'), 'S3CR3T-OF-THE-LAKE');
});

test('texts without a value are unchanged', () => {
  assert.equal(new Masking().mask(value), value);
  assert.equal(new Masking().conceal(value), value);
  assert.equal(maskingOf(value).mask('nothing of the kind'), 'nothing of the kind');
});

test('a long secret of equal letters is searched in a long text at once', () => {
  const secret = `${'a'.repeat(30_000)}b${'a'.repeat(30_000)}`;
  const text = 'a'.repeat(1_000_000);
  assert.equal(maskingOf(secret).mask(text), text);
  assert.equal(maskingOf('aaaa').mask(text), '***');
  assert.throws(
    () => maskingOf(Array.from({ length: 3_000 }, (_, line) => `line ${line}`).join('\n')),
    /3001 lines or texts; at most 2000 can be masked: divide it/,
  );
});

test('many secrets with lines of every length are searched in a long text at once', () => {
  const masking = new Masking();
  for (let secret = 0; secret < 20; secret += 1) {
    const half = (length: number) => 'a'.repeat(length / 2 + 2);
    masking.add(new Secret(Array.from({ length: 350 }, (_, at) => half(at) + secret + half(at)).join('\n')));
  }
  const text = 'a'.repeat(1_000_000);
  const before = process.cpuUsage();
  assert.ok(masking.mask(text) === text);
  // It took 20 s when each form was searched by itself.
  const { user } = process.cpuUsage(before);
  assert.ok(user < 10_000_000, `${user} µs`);
});

test('a value that is added again takes no room; too many different ones are refused', () => {
  const linesOf = (name: string) => Array.from({ length: 1_900 }, (_, line) => `${name} ${line}`).join('\n');
  const masking = new Masking();
  for (let times = 0; times < 20; times += 1) masking.add(new Secret(linesOf('same')));
  for (const name of ['one', 'two', 'three', 'four']) masking.add(new Secret(linesOf(name)));
  assert.throws(() => masking.add(new Secret(linesOf('five'))), /more than 10000 lines or texts.*use fewer/);
  assert.equal(masking.mask('x same 7, four 1899'), 'x ***, ***');
});

test('of tokens that replace each other, the newest are masked', () => {
  const masking = maskingOf('the secret');
  for (let each = 0; each < 1_000; each += 1) masking.addToken(new Secret(`token-${each}-of-many`));
  for (let times = 0; times < 1_000; times += 1) masking.addToken(new Secret('token-999-of-many'));
  assert.equal(masking.mask('the secret token-999-of-many, token-950-of-many'), '*** ***, ***');
  assert.equal(masking.mask('token-800-of-many'), 'token-800-of-many');
});
