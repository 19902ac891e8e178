import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listedGitResourceLimit } from '@headgate/contract';
import { createGitFiles, isGitFile } from './git-files.ts';

test('.git and everything in it are git files', () => {
  for (const name of ['.git/config', '.git', 'sub/.git', 'sub/.GIT/hooks/x'])
    assert.ok(isGitFile(name), name);
  for (const name of ['.gitignore', 'a.git/b', '.github/x', 'git/x']) assert.ok(!isGitFile(name), name);
});

test('the first files are listed, and the others are counted', () => {
  const gitFiles = createGitFiles();
  for (let count = 0; count < listedGitResourceLimit + 5; count++) gitFiles.add(`.git/${count}`);
  const ignored = gitFiles.listIgnored();
  assert.equal(ignored.length, listedGitResourceLimit + 1);
  assert.deepEqual(ignored.at(-1), { name: '.git/', reason: '5 more files in .git/ were ignored.' });
});
