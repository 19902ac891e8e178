import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Secret } from '../kernel/security/sealed.ts';
import { type BannerAbout, renderBanner } from './banner.ts';
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
  signInLink: undefined,
  locations: ['log: here'],
};
const config = loadConfig({});

test('the secret is shown once, at the start that created it; later only its file is', () => {
  const first = renderBanner(config, { ...about, showsSecret: true });
  assert.equal(first.split(secret).length, 2);
  const later = renderBanner(config, about);
  assert.ok(!later.includes(secret));
  for (const text of [first, later]) assert.ok(text.includes(file));
});

test('a secret from a setting is not shown', () => {
  const text = renderBanner(config, { ...about, file: undefined, showsSecret: true });
  assert.ok(!text.includes(secret));
  assert.match(text, /client_secret=\$HEADGATE_CLIENT_SECRET /);
});

test('the lines to paste read the secret from its file, whatever its path', async () => {
  await writeCredentialFile(file, about.credential);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const [, inner = ''] = /-d client_secret=(\$\(.*?\)) \| sed/.exec(renderBanner(config, about)) ?? [];
  assert.equal(execFileSync('bash', ['-c', `echo ${inner}`], { encoding: 'utf8' }).trim(), secret);
});
