import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFormParser, type FormLimits, type FormPart } from './form-parser.ts';

const boundary = '-a-boundary';
const limits: FormLimits = { parts: 20, partBytes: 400 };

interface Part {
  name: string;
  content: string;
}

const buildHeader = (name: string) => `content-disposition: form-data; name="${name}"`;
const buildForm = (parts: readonly Part[]) =>
  renderText(
    parts.map(({ name, content }) => `--${boundary}\r\n${buildHeader(name)}\r\n\r\n${content}\r\n`).join(''),
  );
const renderText = (parts: string) => Buffer.from(`${parts}--${boundary}--\r\n`, 'latin1');

async function parse(chunks: readonly Buffer[], input = limits): Promise<Part[]> {
  const form = createFormParser(boundary, input);
  const parts: FormPart[] = [];
  for (const chunk of chunks) parts.push(...(await form.write(chunk)));
  parts.push(...(await form.end()));
  return parts.map(({ name, content }) => ({ name, content: content.toString('latin1') }));
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length));
}

// Made of the bytes of delimiters, so that near-delimiters are frequent.
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
const names = fc.constantFrom('x', '', 'a b/ü.txt', '-', `--${boundary}`);
const parts = fc
  .array(fc.record({ name: names, content: contents }, { noNullPrototype: true }), { maxLength: 6 })
  .map((some) => some.map(({ name, content }) => ({ name: latin1OfUtf8(name), content })));
const latin1OfUtf8 = (text: string) => Buffer.from(text).toString('latin1');
const decoded = (parts: readonly Part[]) =>
  parts.map(({ name, content }) => ({ name: Buffer.from(name, 'latin1').toString(), content }));

test('a form is read the same for any chunks', async () => {
  await fc.assert(
    fc.asyncProperty(parts, fc.array(fc.nat(), { maxLength: 12 }), async (inputs, places) => {
      assert.deepEqual(await parse(cut(buildForm(inputs), places)), decoded(inputs));
    }),
    { numRuns: 2_000 },
  );
});

test('a form is read byte by byte', async () => {
  const inputs = [
    { name: 'a', content: `\r\n--${boundary.slice(0, 5)}\r\r\n--` },
    { name: 'c', content: '' },
  ];
  const form = buildForm(inputs);
  assert.deepEqual(await parse(Array.from(form, (_, index) => form.subarray(index, index + 1))), inputs);
});

test('a chunk may be larger than the buffers of the parser', async () => {
  const inputs = ['a', 'b', 'c'].map((name) => ({ name, content: name.repeat(200_000) }));
  const whole = { parts: 3, partBytes: 200_000 };
  for (const places of [[], [199_990], [65_536, 131_072, 196_608]])
    assert.deepEqual(await parse(cut(buildForm(inputs), places), whole), inputs);
});

test('a truncated form is refused at any length', async () => {
  const form = buildForm([
    { name: 'a', content: 'some content' },
    { name: 'c', content: 'more' },
  ]);
  const end = form.length - '\r\n'.length;
  for (let length = 0; length < end; length++)
    await assert.rejects(parse([form.subarray(0, length)]), { code: 'invalid-upload' }, `${length} bytes`);
  assert.equal((await parse([form.subarray(0, end)])).length, 2);
});

test('an invalid form is refused or read, but never hangs', async () => {
  const junk = fc.constantFrom(...['\r\n', '\r\n\r\n', '--', '\r\n--', `\r\n--${boundary}`, ':', '\0', 'x']);
  const damages = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 30 }), junk), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      parts,
      damages,
      fc.array(fc.nat(), { maxLength: 6 }),
      async (inputs, damaged, places) => {
        const broken = damaged.reduce((form, [at, removed, added]) => {
          const from = at % (form.length + 1);
          return Buffer.concat([form.subarray(0, from), Buffer.from(added), form.subarray(from + removed)]);
        }, buildForm(inputs));
        await parse(cut(broken, places)).catch((failure) => {
          if (failure.code !== 'invalid-upload') throw failure;
        });
      },
    ),
    { numRuns: 2_000 },
  );
});

test('bytes after the closing boundary are ignored', async () => {
  const form = buildForm([{ name: 'a', content: 'b' }]);
  const more = [
    buildForm([{ name: 'hidden', content: 'c' }]),
    Buffer.from(`--${boundary}\r\n--${boundary}\r\n--${boundary}`),
    Buffer.from(`\r\n--${boundary}\r\n--${boundary}\r\n\r\n`),
  ];
  for (const epilogue of more)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { maxLength: 6 }), async (places) => {
        const chunks = cut(Buffer.concat([form, epilogue]), places);
        assert.deepEqual(await parse(chunks), [{ name: 'a', content: 'b' }]);
      }),
    );
});

test('unwanted parts have no content and do not count for the limits', async () => {
  const isUnwanted = (name: string) => name.startsWith('git');
  const unwanted = Array.from({ length: limits.parts + 1 }, () => ({ name: 'git', content: 'x' }));
  const inputs = [
    ...unwanted,
    { name: 'git', content: 'x'.repeat(limits.partBytes + 1) },
    { name: 'a', content: 'c' },
  ];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { maxLength: 12 }), async (places) => {
      const read = await parse(cut(buildForm(inputs), places), { ...limits, isUnwanted });
      assert.deepEqual(
        read.map(({ content }) => content),
        [...unwanted.map(() => ''), '', 'c'],
      );
    }),
  );
});

test('a body that is not a form or exceeds a limit is refused', async () => {
  const refused = (code: string, body: Buffer) => assert.rejects(parse([body]), { code });
  const part = (header: string) => renderText(`--${boundary}\r\n${header}\r\n\r\nc\r\n`);
  await refused('invalid-upload', renderText(`a preamble\r\n`));
  await refused('invalid-upload', renderText(`--${boundary}x\r\n${buildHeader('a')}\r\n\r\nc\r\n`));
  await refused('invalid-upload', renderText(`--${boundary}\r\n${buildHeader('a')}\r\n`));
  await refused('invalid-upload', Buffer.from(`--${boundary}\r\n${'a'.repeat(20_000)}`));
  await refused('invalid-upload', part('a'.repeat(20_000)));
  await refused('invalid-upload', part(`${buildHeader('a')}\r\na: ${'a'.repeat(20_000)}`));
  await refused('invalid-upload', part(`${buildHeader('a')}\r\na: ${'a'.repeat(200_000)}`));
  await refused('invalid-upload', part('a: b'));
  await refused('invalid-upload', part(`a\r\n${buildHeader('a')}`));
  await refused('invalid-upload', part(`${buildHeader('a')}\r\n${buildHeader('b')}`));
  const many = (count: number) =>
    buildForm(Array.from({ length: count }, () => ({ name: 'a', content: '' })));
  assert.equal((await parse([many(limits.parts)])).length, limits.parts);
  await refused('body-too-large', many(limits.parts + 1));
  const large = (length: number) => buildForm([{ name: 'a', content: 'x'.repeat(length) }]);
  assert.equal((await parse([large(limits.partBytes)])).length, 1);
  await refused('body-too-large', large(limits.partBytes + 1));
});
