import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSecretName } from '@headgate/pipelines';
import { hideSecrets, maskSecrets, restoreSecrets } from './masking.ts';

const key = 'the key of a task';
/** Without the checks of the marks. */
const mask = (text: string) => maskSecrets(text, key).text.replaceAll(/(\[secret \d+)-[0-9a-f]{8}\]/g, '$1]');
/** Puts the check of the marks of a file after the numbers of a text. */
const check = (text: string, file: string) => {
  const [, digest] = /\[secret \d+(-[0-9a-f]{8})\]/.exec(maskSecrets(file, key).text) ?? [];
  return text.replaceAll(/(\[secret \d+)\]/g, `$1${digest}]`);
};
const restore = (text: string, earlier: string) => restoreSecrets(text, { earlier, key });

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
    ['password: correct horse battery # x\nb: 1', 'password: [secret 1] # x\nb: 1'],
    ['db:\n  password: pa#ss,w;rd\n  size: 1', 'db:\n  password: [secret 1]\n  size: 1'],
    ['- secret: >-\n    one\n\n    two\n- size: 1', '- secret: >-\n[secret 1]\n- size: 1'],
    ['"token": "a\\"bcd", x', '"token": [secret 1], x'],
    ['- secret: |\n\n    one\n  \n    two\n\n- size: 1', '- secret: |\n[secret 1]\n\n- size: 1'],
    ['my.db-password: "abc" token_password=xyz9', 'my.db-password: [secret 1] token_password=[secret 2]'],
    ['x_https://ada:pa55@db/x', 'x_https://ada:[secret 1]@db/x'],
    ['id-eyJhbGciOiJI.eyJzdWIiOiIx.sig eyJshort', 'id-[secret 1] eyJshort'],
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

test('what is masked already is shown as it is', () => {
  const texts = ['password: [masked]', 'DB_PASSWORD=[masked], b', 'postgres://ada:[masked]@db/x', '[masked]'];
  for (const text of texts) {
    assert.equal(mask(text), text);
    assert.equal(hideSecrets(text), text);
  }
  assert.equal(mask('token: [masked]\npwd=abc123'), 'token: [masked]\npwd=[secret 1]');
  const once = hideSecrets('password: "hunter22"\npwd=abc123\napi_key: abc def');
  assert.equal(hideSecrets(once), once);
});

test('a masked text is restored exactly, also one that has a mark itself', () => {
  for (const text of [
    'password: abc\nx [secret 9] y\ntoken=def',
    'a [secret 1] b',
    'nothing',
    'password: abc, password: abd',
    'password: correct horse battery # staple\nkey: |\n  x\nclient_secret: |-\n  one\n  two\nnext: 1',
  ])
    assert.deepEqual(restore(maskSecrets(text, key).text, text), { text });
  const earlier = 'pwd=abc; token=def';
  assert.deepEqual(restore(check('token: [secret 2], pwd=[secret 1]', earlier), earlier), {
    text: 'token: def, pwd=abc',
  });
  const mark = check('[secret 2]', 'password: abc');
  assert.deepEqual(restore(`password: ${mark}`, 'password: abc'), { fault: 'unknown', mark });
  assert.deepEqual(restore('x', earlier), { text: 'x' });
});

test('a mark is not restored as another secret, and says nothing about its own without the key', () => {
  const earlier = 'password: abc\n';
  const shown = maskSecrets(earlier, key).text;
  const added = 'token: first\npassword: abc\n';
  for (const later of [added, 'password: xyz\n', 'no secret'])
    assert.ok('fault' in restore(shown, later), later);
  assert.ok('fault' in restoreSecrets(shown, { earlier, key: 'the key of another task' }));
  assert.ok('fault' in restore(mask(earlier), earlier), 'a mark without its check');
  assert.deepEqual(restore(`size: 1\n${shown}`, `# more\n${earlier}`), { text: `size: 1\n${earlier}` });
});

test('a mark cannot be moved to where its secret could be read', () => {
  const earlier = 'password: "hunter2"\nurl: postgres://ada:pa55;word@db/x';
  for (const text of [
    'note: [secret 1]',
    'password: "x[secret 1]" [secret 1]',
    'password: "[secret 1]"',
    'password=xyz[secret 1]',
    'token: [secret 2]\nb: [secret 2]',
  ]) {
    const restored = restore(check(text, earlier), earlier);
    assert.ok('fault' in restored && restored.fault === 'readable', text);
  }
});

test('a text that is not written back is masked without numbers; columns are judged by their names', () => {
  assert.equal(
    hideSecrets('see [secret 1-0a1b2c3d], password: abc123'),
    'see [secret 1-0a1b2c3d], password: [masked]',
  );
  for (const name of ['password', 'DB_PASSWORD', 'apiKey', 'user_token', 'password_hash', 'secret_2'])
    assert.ok(isSecretName(name), name);
  for (const name of ['tokens', 'token_count', 'secretary', 'city']) assert.ok(!isSecretName(name), name);
});
