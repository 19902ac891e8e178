import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createFolders, toSafeName } from './folders.ts';

describe('names on disk', () => {
  it('are the environment’s name if that is safe', () => {
    assert.equal(toSafeName('prod-eu_1'), 'prod-eu_1');
  });

  it('never collide, leave their folder or get too long', () => {
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
    const safe = names.map(toSafeName);
    assert.equal(new Set(safe).size, names.length);
    for (const name of safe) assert.match(name, /^[a-z0-9][a-z0-9_.-]{0,80}$/);
  });

  it('refuse an invalid project id', () => {
    assert.throws(() => createFolders('/x').projectArtifacts('../y'), /project id .* is not valid/);
  });
});

// In another process, because an endless loop in this one could not be stopped.
it('the agent exits and names the setting if its folder cannot be created', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL('../main.ts', import.meta.url))],
    {
      encoding: 'utf8',
      timeout: 120_000,
      env: {
        HEADGATE_SERVER_URL: 'http://127.0.0.1:1',
        HEADGATE_AGENT_CLIENT_ID: 'any',
        HEADGATE_AGENT_CLIENT_SECRET: 'any',
        HEADGATE_AGENT_ALLOW_ROOT: 'yes',
        HEADGATE_AGENT_DIR: '/proc/nope',
      },
    },
  );
  assert.equal(status, 1, stdout + stderr);
  assert.match(stdout, /HEADGATE_AGENT_DIR: the folder \/proc\/nope cannot be used/);
});
