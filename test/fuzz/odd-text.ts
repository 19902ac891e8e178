/** Unusual text for URLs and headers. */

export const oddText: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udfff',
  '\ufeff',
  '\u202e\u2066reversed',
  'e\u0301',
  'İ',
  'ß',
  '𝔘𝔫𝔦',
  '👩‍👩‍👧‍👦',
  '\u200b',
  '\r\nx-injected: 1',
  '\u0001\u001f\u007f\u0085\u2028',
  "'; drop table project; --",
  '#{7*7}{{7*7}}<%= 7 %>',
  '<script>alert(1)</script>',
  '../../../etc/passwd',
  '%00%ff%',
  'null',
  'undefined',
  'NaN',
  'true',
  '-1',
  '0',
  '1e309',
  '99999999999999999999',
  '0x10',
  '1.5',
  '__proto__',
  'constructor',
  'toString',
  '00000000-0000-0000-0000-000000000000',
  'x'.repeat(256),
  '𝔘'.repeat(256),
  'x'.repeat(2_100),
  '0000-00-00T00:00:00.000Z',
  '9999-12-31T23:59:60.000Z',
  '2024-02-30T00:00:00Z',
  '2024-01-01T00:00:00+99:99',
];

/** A path segment as in a request line, including forms that no encoder writes. */
export const oddSegments: readonly string[] = [
  ...oddText.filter((text) => text !== '').map(encoded),
  '',
  '.',
  '..',
  '%2e%2e',
  '%2F',
  'a%2Fb',
  '%',
  '%zz',
  '%ff',
  '%c0%80',
  '%ed%a0%80',
  '%25%30%30',
  ';a=b',
  'a+b',
  '*',
  '{{project}}',
  '{{foreign.project}}',
  '{{foreign.execution}}',
  '{{foreign.credential}}',
  'x'.repeat(5_000),
];

export const oddHeaders: readonly (readonly [string, string])[] = [
  ['if-match', '*'],
  ['if-match', '"stale"'],
  ['if-match', 'W/"1"'],
  ['if-match', ''],
  ['if-match', '"a", "b", '],
  ['if-match', 'x'.repeat(1_001)],
  ['if-match', '"\xe9"'],
  ['accept', 'text/html'],
  ['accept', ''],
  ['accept', 'application/json;q=0'],
  ['accept', 'a/b, */*;q=0.1'],
  ['accept', 'x'.repeat(4_000)],
  ['accept-encoding', 'br;q=1, gzip;q=0'],
  ['accept-language', 'x'.repeat(1_000)],
  ['idempotency-key', ''],
  ['idempotency-key', ' '],
  ['idempotency-key', 'x'.repeat(256)],
  ['idempotency-key', '\xe9\xff'],
  ['authorization', ''],
  ['authorization', 'Bearer'],
  ['authorization', 'Bearer a.b.c'],
  ['authorization', 'Basic eDp5'],
  ['authorization', `Bearer ${'x'.repeat(6_000)}`],
  ['authorization', 'Bearer eyJhbGciOiJub25lIn0.e30.'],
  ['content-encoding', 'gzip'],
  ['account-id', '{{foreign.account}}'],
  ['x-request-id', 'mine'],
  ['x-forwarded-for', '\xff'],
  ['x-http-method-override', 'DELETE'],
  ['range', 'bytes=0-1'],
  ['if-none-match', '*'],
  ['if-modified-since', 'yesterday'],
  ['origin', 'null'],
  ['host', 'elsewhere.example'],
  ['environmentname', ''],
  ['environmentname', '-'],
  ['environmentname', '\xe9'],
  ['environmentname', 'x'.repeat(256)],
  ['environmentname', 'd%65v'],
  ['environmentname', 'a+b%00'],
  ['environmentname', '%zz'],
  ['versionname', ' \t'],
  ['versionname', '%e9'.repeat(100)],
  ['versionname', 'x'.repeat(256)],
  ['branch', 'x'.repeat(300)],
  ['traceparent', '00-0-0-00'],
];

/** Percent-encodes text, except `{{…}}`. Invalid Unicode becomes the bytes that it would have in UTF-8. */
export function encoded(text: string): string {
  const parts = text.split(/(\{\{[\w.]+\}\})/);
  return parts.map((part, index) => (index % 2 === 1 ? part : percentEncoded(part))).join('');
}

function percentEncoded(text: string): string {
  return [...text]
    .map((character) => {
      if (character.isWellFormed()) return encodeURIComponent(character);
      const unit = character.charCodeAt(0);
      const bytes = [0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)];
      return bytes.map((byte) => `%${byte.toString(16)}`).join('');
    })
    .join('');
}
