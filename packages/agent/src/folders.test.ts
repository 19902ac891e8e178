import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agentFolders, safeName } from './folders.ts';

describe('names on disk', () => {
  it('are the environment’s own where that is safe', () => {
    assert.equal(safeName('prod-eu_1'), 'prod-eu_1');
  });

  it('never meet, leave their folder or grow too long', () => {
    const names = [
      'dev',
      'Dev',
      'DEV',
      'dev ',
      '..',
      '.',
      '../dev',
      'dev/x',
      'Übung',
      'a'.repeat(255),
      `${'a'.repeat(255)}b`,
      '~',
      '-x',
    ];
    const safe = names.map(safeName);
    assert.equal(new Set(safe).size, names.length);
    for (const name of safe) assert.match(name, /^[a-z0-9][a-z0-9_.-]{0,80}$/);
  });

  it('refuse an id of a project that is none', () => {
    assert.throws(() => agentFolders('/x').projectArtifacts('../y'), /cannot name a folder/);
  });
});
