import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';

const module = JSON.stringify(new URL('inherited-descriptors.ts', import.meta.url).href);
const child = `spawnSync('bash', ['-c', 'cat <&77; cat <&88'], { encoding: 'utf8' }).stdout`;
const program = (call: string) => `
  import { spawnSync } from 'node:child_process';
  const { closeInheritedDescriptors } = await import(${module});
  const closed = ${call};
  console.log(JSON.stringify([closed, ${child}]));`;

test('a program passes on no descriptor of whoever started it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-descriptors-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'secret');
  writeFileSync(file, 'secret');
  const run = (call: string) => {
    const started = spawnSync(
      'bash',
      [
        '-c',
        'exec 77<"$0" 88<"$0"; exec "$@"',
        file,
        process.execPath,
        '--input-type=module',
        '-e',
        program(call),
      ],
      { encoding: 'utf8' },
    );
    return JSON.parse(started.stdout || JSON.stringify(started.stderr)) as [number[], string];
  };
  assert.deepEqual(run('[]'), [[], 'secretsecret'], 'Node.js passes them on');
  if (process.platform !== 'linux') return;
  const [closed, read] = run('closeInheritedDescriptors()');
  assert.ok(closed.includes(77) && closed.includes(88), String(closed));
  assert.equal(read, '');
});

test('leaves Node.js the certificates that it is reading', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-certificates-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'authorities.pem');
  // Large enough to be read for longer than a program needs to start.
  writeFileSync(file, `${rootCertificates.join('\n')}\n`.repeat(40));
  const source = `
    import 'node:https';
    const { closeInheritedDescriptors } = await import(${module});
    closeInheritedDescriptors();
    const { getCACertificates } = await import('node:tls');
    console.log(getCACertificates('extra').length > 0);`;
  const started = spawnSync(process.execPath, ['--input-type=module', '-e', source], {
    encoding: 'utf8',
    env: { ...process.env, NODE_EXTRA_CA_CERTS: file },
  });
  assert.deepEqual([started.stdout, started.stderr], ['true\n', '']);
});
