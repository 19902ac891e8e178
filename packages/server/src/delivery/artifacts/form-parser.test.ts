import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFormParser, type FormLimits } from './form-parser.ts';

const boundary = '-a-boundary';
const limits: FormLimits = { parts: 20, partBytes: 400 };

interface Part {
  header: string;
  content: string;
}

const formOf = (parts: readonly Part[]) =>
  Buffer.from(
    `${parts.map(({ header, content }) => `--${boundary}\r\n${header}\r\n\r\n${content}\r\n`).join('')}--${boundary}--\r\n`,
    'latin1',
  );

function parse(chunks: readonly Buffer[]): Part[] {
  const form = createFormParser(boundary, limits);
  const parts = chunks.flatMap((chunk) => form.write(chunk));
  form.end();
  return parts.map(({ header, content }) => ({
    header: header.toString('latin1'),
    content: content.toString('latin1'),
  }));
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length));
}

// Made of what delimiters are made of, so that nearly delimiters are everywhere.
const pieces = fc.constantFrom(
  '\r',
  '\n',
  '\r\n',
  '-',
  '--',
  '\r\n--',
  `\r\n--${boundary.slice(0, -1)}`,
  boundary,
  'x',
  '\u00ff',
);
const contents = fc
  .array(pieces, { maxLength: 12 })
  .map((some) => some.join(''))
  .filter((content) => !`\r\n${content}\r\n`.includes(`\r\n--${boundary}`));
const headers = fc.constantFrom(
  'a: b',
  'content-disposition: form-data; name="x"\r\ncontent-type: y',
  '-',
  '\u00ff',
);
const parts = fc.array(fc.record({ header: headers, content: contents }, { noNullPrototype: true }), {
  maxLength: 6,
});

test('a form is read the same however its bytes arrive', () => {
  fc.assert(
    fc.property(parts, fc.array(fc.nat(), { maxLength: 12 }), (given, places) => {
      assert.deepEqual(parse(cut(formOf(given), places)), given);
    }),
    { numRuns: 2_000 },
  );
});

test('byte by byte, too', () => {
  const given = [
    { header: 'a: b', content: `\r\n--${boundary.slice(0, 5)}\r\r\n--` },
    { header: 'c: d', content: '' },
  ];
  const form = formOf(given);
  assert.deepEqual(parse(Array.from(form, (_, index) => form.subarray(index, index + 1))), given);
});

test('a form that is cut off anywhere has no end', () => {
  const form = formOf([
    { header: 'a: b', content: 'some content' },
    { header: 'c: d', content: 'more' },
  ]);
  const end = form.length - '\r\n'.length;
  for (let length = 0; length < end; length++)
    assert.throws(() => parse([form.subarray(0, length)]), { code: 'invalid-upload' }, `${length} bytes`);
  assert.equal(parse([form.subarray(0, end)]).length, 2);
});

test('parts that are not wanted come without content, and count for no limit', () => {
  const isUnwanted = (header: Buffer) => header.toString().startsWith('git');
  const unwanted = Array.from({ length: limits.parts + 1 }, () => ({ header: 'git: x', content: 'x' }));
  const given = [
    ...unwanted,
    { header: 'git: x', content: 'x'.repeat(limits.partBytes + 1) },
    { header: 'a: b', content: 'c' },
  ];
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 12 }), (places) => {
      const form = createFormParser(boundary, { ...limits, isUnwanted });
      const read = cut(formOf(given), places).flatMap((chunk) => form.write(chunk));
      form.end();
      const contents = read.map(({ content }) => content.toString());
      assert.deepEqual(contents, [...unwanted.map(() => ''), '', 'c']);
    }),
  );
});

test('what is no form, or is larger than allowed, is refused', () => {
  const text = (content: string) => Buffer.from(content, 'latin1');
  const refused = (code: string, body: Buffer) => assert.throws(() => parse([body]), { code });
  refused('invalid-upload', text(`a preamble\r\n--${boundary}--`));
  refused('invalid-upload', text(`--${boundary}x\r\na: b\r\n\r\nc\r\n--${boundary}--`));
  refused('invalid-upload', text(`--${boundary}\r\n${'a'.repeat(20_000)}`));
  refused('invalid-upload', formOf([{ header: 'a'.repeat(20_000), content: '' }]));
  const many = (count: number) =>
    formOf(Array.from({ length: count }, () => ({ header: 'a: b', content: '' })));
  assert.equal(parse([many(limits.parts)]).length, limits.parts);
  refused('body-too-large', many(limits.parts + 1));
  const named = 'content-disposition: form-data; name="a"';
  const large = (length: number) => formOf([{ header: named, content: 'x'.repeat(length) }]);
  assert.equal(parse([large(limits.partBytes)]).length, 1);
  refused('body-too-large', large(limits.partBytes + 1));
});
