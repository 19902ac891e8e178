/** What Bash scripts find, and when scripts are off or wait. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createScriptsFixture } from './script-fixture.ts';

const fixture = createScriptsFixture();
after(() => fixture.close());

describe('a Bash script', () => {
  it('finds scalar variables in its environment', async () => {
    const { stdout, stderr } = await fixture.run(
      'printf "%s|" "$region" "$count" "$nothing"; env | grep -c "^region="; bash -c \'echo "$count"\'',
      {
        scalars: [
          { name: 'region', type: 'TEXT', value: 'a "b" $HOME `id` é' },
          { name: 'count', type: 'NUMBER', value: 5.5 },
          { name: 'nothing', type: 'NUMBER', value: null },
        ],
      },
    );
    assert.equal(stdout, 'a "b" $HOME `id` é|5.5||1\n5.5');
    assert.equal(stderr, '');
  });

  it('is told which variables it does not get', async () => {
    const { stdout, stderr } = await fixture.run('echo "$PATH"; echo "$kept"', {
      scalars: [
        { name: 'a b', type: 'TEXT', value: 'x' },
        { name: 'PATH', type: 'TEXT', value: '/evil' },
        { name: 'LD_PRELOAD', type: 'TEXT', value: '/evil.so' },
        { name: 'long', type: 'TEXT', value: 'x'.repeat(200_000) },
        { name: 'zero', type: 'TEXT', value: 'a\0b' },
        { name: 'kept', type: 'TEXT', value: 'x=y\nz' },
      ],
    });
    assert.match(stdout, /^\/usr\/local\/sbin:.*\nx=y\nz$/);
    assert.deepEqual(stderr.split('\n'), [
      'the variable "a b" is not in the script’s environment: its name is not one of a shell variable',
      'the variable "PATH" is not in the script’s environment: the shell needs this name itself',
      'the variable "LD_PRELOAD" is not in the script’s environment: the shell needs this name itself',
      'the variable "long" is not in the script’s environment: its value has 200000 bytes, and the limit is 131000',
      'the variable "zero" is not in the script’s environment: its value has a NUL character',
    ]);
  });

  it('ends as its exit status says, and keeps both streams apart', async () => {
    const end = await fixture.run('echo out; echo err >&2; printf "no newline"; exit 7');
    assert.deepEqual(end, {
      succeeded: false,
      message: 'the script ended with code 7',
      stdout: 'out\nno newline',
      stderr: 'err',
      requests: [],
    });
    assert.equal((await fixture.run('')).succeeded, true);
    assert.equal((await fixture.run('set -e\r\nfalse\r\necho not here\r\n')).stdout, '');
  });

  it('drops a very long line, and text that is not UTF-8 does not end it', async () => {
    const wide = createScriptsFixture({ outputKilobytes: 1_024 });
    const { stdout } = await wide.run(
      'head -c 70000 /dev/zero | tr "\\0" y; echo; head -c 270000 /dev/zero | tr "\\0" x; echo; printf "\\377\\376 odd\\n"; head -c 3 /dev/zero',
    );
    await wide.close();
    const [long = '', dropped, odd, zeros] = stdout.split('\n');
    assert.match(long, /^y{70000}$/);
    assert.equal(dropped, '(a line of 270000 characters was dropped: print at most 262144 in a line)');
    assert.deepEqual([odd, zeros], ['\uFFFD\uFFFD odd', '\0\0\0']);
  });

  it('waits for a free place, and leaves the queue when its run is killed', async () => {
    const kill = new AbortController();
    const long = [1, 2].map(() => fixture.run('sleep 600', { kill: kill.signal }));
    const waitingKill = new AbortController();
    const given = fixture.run('echo never', { kill: waitingKill.signal });
    const next = fixture.run('echo next');
    const later = fixture.run('echo later');
    await delay(100);
    waitingKill.abort(new Error('killed while waiting'));
    await assert.rejects(given, /killed while waiting/);
    kill.abort();
    for (const { succeeded } of await Promise.all(long)) assert.equal(succeeded, false);
    assert.deepEqual([(await next).stdout, (await later).stdout], ['next', 'later']);
    assert.deepEqual(
      (await Promise.all([fixture.run('echo 1'), fixture.run('echo 2'), fixture.run('echo 3')])).map(
        ({ stdout }) => stdout,
      ),
      ['1', '2', '3'],
    );
  });

  it('is off where the agent’s setting says so, and where the sandbox cannot be built', async (t) => {
    const off = createScriptsFixture({}, { isOn: false });
    t.after(() => off.close());
    await assert.rejects(off.run('echo 1'), /bash-script is off on this agent: HEADGATE_AGENT_SCRIPTS/);
    // A disk of no size stands for a kernel that refuses.
    const broken = createScriptsFixture({ diskMegabytes: -1 });
    t.after(() => broken.close());
    const end = await broken.run('echo 1');
    assert.match(end.message ?? '', /^the script could not be started: sandbox: disk: Invalid argument$/);
    assert.deepEqual([end.stdout, end.stderr], ['', '']);
  });
});
