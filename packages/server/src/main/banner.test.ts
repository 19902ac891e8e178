import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Secret } from '../kernel/security/sealed.ts';
import { type BannerAbout, banner } from './banner.ts';
import { loadConfig } from './config.ts';
import { writeCredentialFile } from './provisioning.ts';

const folder = mkdtempSync(join(tmpdir(), "headgate banner's-"));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'credential.json');
const secret = 'canary-of-the_credential-0123456789';
const about: BannerAbout = {
  credential: { clientId: 'hg_1', secret: new Secret(secret) },
  file,
  showsSecret: false,
  kept: ['log: here'],
};
const config = loadConfig({});

test('the secret is shown at the start that made it, once, and later only where it is kept', () => {
  const first = banner(config, { ...about, showsSecret: true });
  assert.equal(first.split(secret).length, 2);
  const later = banner(config, about);
  assert.ok(!later.includes(secret));
  for (const text of [first, later]) assert.ok(text.includes(file));
});

test('a secret that was given by a setting is not shown', () => {
  const text = banner(config, { ...about, file: undefined, showsSecret: true });
  assert.ok(!text.includes(secret));
  assert.match(text, /client_secret=\$HEADGATE_CLIENT_SECRET /);
});

test('a shell reads the secret of the lines to paste from its file, wherever that is', async () => {
  await writeCredentialFile(file, about.credential);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const [, inner = ''] = /-d client_secret=(\$\(.*?\)) \| sed/.exec(banner(config, about)) ?? [];
  assert.equal(execFileSync('bash', ['-c', `echo ${inner}`], { encoding: 'utf8' }).trim(), secret);
});
