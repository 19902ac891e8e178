/**
 * Texts that stopped the server for everybody, each as long as its bound allows. The time is that of the processor
 * in this process, so that a busy machine changes little; the limit is many times what linear code needs, and what
 * these texts took before were seconds to years.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilter } from '../access/directory/schema/scim-filter.ts';
import { readPartName } from '../delivery/artifacts/upload/part-name.ts';
import { cleanGitWords } from '../delivery/git/clean-words.ts';
import { parseCommit } from '../delivery/git/commit-text.ts';
import { github } from '../delivery/git-providers/github.ts';
import { cleanText } from '../delivery/git-remotes/remote-words.ts';
import { findLfsEndpoint } from '../delivery/repository-migrations/lfs/lfs-client.ts';
import { ruleBasedModel } from '../runtime/ai-tasks/model/rule-based.ts';
import { encodeJson } from '../runtime/ai-tasks/store/stored-text.ts';
import { hideSecrets, isSecretName, maskSecrets, restoreSecrets } from '../runtime/ai-tools/masking.ts';
import { replaceNames } from '../runtime/ai-tools/planning.ts';
import { trimFolder } from '../runtime/ai-tools/working-copy.ts';

const limitMs = 1_000;

/** The bounds of a message, a masked file, the text of a host's answer, and of what git writes. */
const message = 32_768;
const file = 1_048_576;
const answer = 1_048_576;
const gitWords = 65_536;
const filterBound = 8_000;

const fill = (unit: string, length: number, head = '', tail = '') =>
  head + unit.repeat(Math.floor((length - head.length - tail.length) / unit.length)) + tail;

function ask(instruction: string) {
  const request = { conversation: [{ role: 'user', text: instruction }], tools: [], onText() {} };
  return ruleBasedModel.ask(request as never);
}

function refuse(filter: string): void {
  assert.throws(() => parseFilter(filter), { code: 'invalid-filter' });
}

const commit = (author: string) => parseCommit('', Buffer.from(`tree 1\nauthor ${author}\n\nwords`));
const explain = (text: string) => github.explainFailure({ status: 500, headers: {}, text });

const shapes: [what: string, read: (text: string) => unknown, texts: string[]][] = [
  [
    'a message to the rule-based assistant',
    ask,
    [
      fill(' ', message, 'why'),
      fill('why did ', message),
      fill('list ', message),
      fill('why did x ', message, '', ' fail'),
      fill('\t', message, 'explain x', 'y'),
      fill(' ', message, 'run ', 'pipeline x'),
      fill('!', message, 'why did ', 'x fail'),
    ],
  ],
  [
    "a Git host's refusal",
    explain,
    [
      fill('<script', answer),
      fill('<style>', answer),
      fill('<', answer),
      fill('exceeds ', answer),
      fill('repository ', answer),
      fill('TF401019', answer),
      fill('a-', answer),
    ],
  ],
  [
    "a Git host's answer in words",
    (text) => cleanText(text, ['the secret']),
    [fill('<script', answer), fill('<style>', answer), fill('<', answer), fill('<script ', answer, '', '>')],
  ],
  [
    'what git writes',
    (text) => cleanGitWords(text, ['/repository']),
    [fill('a-', gitWords), fill('a+', gitWords)],
  ],
  [
    'a file with secrets',
    (text) => maskSecrets(text, 'key'),
    [
      fill('a.', file),
      fill('-', file),
      fill('a+', file),
      fill('-eyJ-------e', file),
      fill('token', file),
      fill(' ', file, 'token=', ','),
      fill('token:', file),
      fill('\n', file, 'token: |\n', 'x'),
      fill('token: |\n', file),
      fill('token: "\\', file),
      fill('-----BEGIN PRIVATE KEY', file),
      fill('-----BEGIN PRIVATE KEY-----', file),
    ],
  ],
  [
    'a message with secrets',
    hideSecrets,
    [fill('a.', message), fill('api_', message), fill("token='", message)],
  ],
  ['the name of a column', isSecretName, [fill('token1', message, '', 'x')]],
  ['JSON to store', encodeJson, [fill('\\', message), fill('\\u', message), fill('\0', message)]],
  [
    'a SCIM filter',
    refuse,
    [
      fill('\\"', filterBound, 'userName eq "a'),
      fill('"\\', filterBound, 'userName eq '),
      fill('\n', filterBound, 'userName eq "', '\\\n"'),
      fill('$ref"', filterBound - 5),
      fill(' ', filterBound, ']'),
    ],
  ],
  ['the author of a commit', commit, [fill('-0<', answer), fill(' ', answer), fill(' <', answer)]],
  [
    'SQL with expressions',
    (text) => replaceNames(text, { defaults: new Map(), charactersLeft: 1 }),
    [fill('${', 200_000)],
  ],
  ['a folder', trimFolder, [fill('/', file, 'a', 'a'), fill('./', file), fill('.', file)]],
  ['a clone URL', findLfsEndpoint, [fill('/', file, 'https://a', 'a')]],
  [
    'the header of a part',
    (text) => assert.throws(() => readPartName({ 'content-disposition': [text] }, 1)),
    [
      fill('\t', gitWords, 'form-data', 'x'),
      fill(';a="\\"', gitWords, 'form-data'),
      fill(';', gitWords, 'form-data', 'a=b'),
    ],
  ],
];

for (const [what, read, texts] of shapes)
  for (const text of texts)
    test(`${what} takes linear time: ${JSON.stringify(text.slice(0, 24))}…`, async () => {
      const before = process.cpuUsage();
      await read(text);
      const { user, system } = process.cpuUsage(before);
      assert.ok((user + system) / 1_000 < limitMs, `it took ${(user + system) / 1_000} ms`);
    });

test('many marks of secrets are restored in linear time', () => {
  const earlier = fill('pwd=abc\n', 400_000);
  const { text } = maskSecrets(earlier, 'key');
  const before = process.cpuUsage();
  assert.deepEqual(restoreSecrets(text, { earlier, key: 'key' }), { text: earlier });
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1_000 < limitMs);
});

test('a long secret that stands very often is refused', () => {
  const earlier = `pwd="${'x'.repeat(100_000)}"\n`;
  const { text } = maskSecrets(earlier, 'key');
  const restored = restoreSecrets(text.repeat(10_000), { earlier, key: 'key' });
  assert.equal('fault' in restored && restored.fault, 'too-often');
  assert.ok('text' in restoreSecrets(text.repeat(5), { earlier, key: 'key' }));
});
