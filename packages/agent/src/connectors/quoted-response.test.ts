/** The words of a server in the message of a failure. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeStatus } from './endpoint-call.ts';

const token = 'secret'.repeat(100);
const conceal = (text: string) => text.replaceAll(token, '***');

function quote(text: string): string {
  return describeStatus(
    { method: 'GET', authenticatesBy: 'BEARER' },
    { url: 'https://api.example.com/a?b=1', status: 500, text },
    conceal,
  );
}

test('a response is quoted in one line, up to 300 characters', () => {
  assert.match(quote('not\n now'), /^GET https:\/\/api\.example\.com\/a answered 500 \(.*\): not now$/);
  assert.match(quote('a'.repeat(400)), /: a{300}…$/);
});

test('a token that the server sends back is masked, also where the text is cut', () => {
  for (const blanks of [0, 1_000, 65_500]) {
    const said = quote(`${' '.repeat(blanks)}${token} is not valid`);
    assert.doesNotMatch(said, /secret/, `after ${blanks} blanks`);
  }
});
