/** The names of an upload's parts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArtifactDetails } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { buildMultipart, multipartBoundary, type Part, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({
  config: { upload: { parts: 5, partBytes: 2_000, requestBytes: 8_000 } },
});
type Details = { assets: string[]; details: ArtifactDetails };

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  const path = `${made.path}/artifacts/details?environmentName=dev`;
  const details = () => account.admin.get<Details>(path);
  return { admin: account.admin, project: made, details };
}
const buildPart = (name: string, content: string | Buffer = 'x'): Part => ({ name, content });

const hostile: [string, RegExp][] = [
  ['/etc/passwd', /absolute/],
  ['C:/windows', /absolute/],
  ['../up', /"\.\."/],
  ['a/../../b', /"\.\."/],
  ['a/..', /"\.\."/],
  ['..', /"\.\."/],
  ['a\\\\b', /backslash/],
  ['..\\\\..\\\\b', /backslash/],
  ['a\tb', /control/],
  ['a\u0001b', /control/],
  ['a\u007fb', /control/],
  ['a\u0085b', /control/],
  ['', /empty/],
  ['a//b', /empty/],
  ['a/', /empty/],
  ['x'.repeat(1_025), /1024 bytes/],
  ['é'.repeat(513), /1024 bytes/],
  ['x'.repeat(5_000), /1024 bytes/],
  ['a\0b', /control/],
  ['\0', /control/],
  ['a/./b', /"\."/],
  ['.git/../up', /"\.\."/],
];

test('an upload with a name that is dangerous to unpack is refused', async () => {
  const { admin, project: made, details } = await createProject();
  for (const [name, reason] of hostile) {
    const answer = await upload(admin, made, [buildPart('good'), buildPart(name), buildPart('also good')]);
    const { detail } = requireProblem(answer, 400, 'invalid-asset-name');
    assert.match(detail, reason, JSON.stringify(name));
  }
  requireProblem(await details(), 404, 'artifact-not-found');
  assert.equal(
    (await upload(admin, made, [buildPart('x'.repeat(1_024)), buildPart('...'), buildPart('a b/ü.txt')]))
      .status,
    201,
  );
});

test('a part without a readable name is refused, not dropped', async () => {
  const { admin, project: made, details } = await createProject();
  const headers = [
    'content-disposition: form-data',
    'content-disposition: form-data; filename="a.txt"',
    'content-disposition: attachment; name="a.txt"',
    'content-type: text/plain',
    'content-disposition: form-data; name="a.txt"\r\ncontent-disposition: form-data; name="b.txt"',
    'content-disposition: form-data; name="a\nb"',
    'content-disposition: form-data; filename="x; name=a.txt"',
    "content-disposition: form-data; name*=utf-8''a.txt",
  ];
  for (const header of headers) {
    const body = Buffer.from(
      `--${multipartBoundary}\r\n${header}\r\n\r\nx\r\n--${multipartBoundary}\r\ncontent-disposition: form-data; name="ok"\r\n\r\nx\r\n--${multipartBoundary}--\r\n`,
    );
    const answer = await upload(admin, made, body);
    assert.equal(answer.status, 400, `${JSON.stringify(header)}: ${answer.text}`);
  }
  requireProblem(await details(), 404, 'artifact-not-found');
});

test('a name that is not UTF-8 is refused', async () => {
  const { admin, project: made } = await createProject();
  const body = buildMultipart([buildPart('a\u00ffb')]).toString('latin1');
  const answer = await upload(admin, made, Buffer.from(body.replace('\u00c3\u00bf', '\u00ff'), 'latin1'));
  assert.match(requireProblem(answer, 400, 'invalid-upload').detail, /part 1 are not UTF-8/);
});

test('a name inside the value of another parameter is ignored', async () => {
  const { admin, project: made, details } = await createProject();
  const header = 'content-disposition: form-data; filename="x; name=\\"evil\\"; name=worse"; name="good.txt"';
  const body = `--${multipartBoundary}\r\n${header}\r\n\r\nx\r\n--${multipartBoundary}--\r\n`;
  assert.equal((await upload(admin, made, Buffer.from(body))).status, 201);
  assert.deepEqual((await details()).body.assets, ['good.txt']);
});

test('two parts with the same name are refused, in any Unicode form', async () => {
  const { admin, project: made } = await createProject();
  const twins = [
    ['a.txt', 'a.txt'],
    ['caf\u00e9.txt', 'cafe\u0301.txt'],
    ['\uac00', '\u1100\u1161'],
  ];
  for (const [one = '', other = ''] of twins) {
    const { detail } = requireProblem(
      await upload(admin, made, [buildPart(one), buildPart(other)]),
      400,
      'invalid-asset-name',
    );
    assert.match(detail, /same name/);
  }
});

test('a part with the name of a folder is refused', async () => {
  const { admin, project: made } = await createProject();
  const cases = [
    ['a', 'a/b'],
    ['a/b', 'a'],
    ['a', 'a.txt', 'a-b', 'a/b/c'],
    ['caf\u00e9/b', 'cafe\u0301'],
  ];
  for (const names of cases) {
    const answer = await upload(
      admin,
      made,
      names.map((name) => buildPart(name)),
    );
    const { detail } = requireProblem(answer, 400, 'invalid-asset-name');
    assert.match(detail, /^The part named "[^"]+\/[^"]+" cannot be stored: the part "[^"/]+" is a file/);
  }
  const sound = await upload(
    admin,
    made,
    ['a.b', 'a b/c', 'ab', 'd/e', 'd-'].map((name) => buildPart(name)),
  );
  assert.equal(sound.status, 201, sound.text);
});
