/**
 * A caller seals a secret itself: the agent opens it into its vault, and it is nowhere else in plain text.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { createFileVault } from '../../packages/agent/src/vaults/file.ts';
import { CertificateRefused, sealSecret } from '../../packages/client/src/index.ts';
import { makeCertificate } from '../../packages/server/testing/certificate.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { checkout, ended, type Installation } from './harness/installation.ts';
import { filesHolding } from './harness/secrets.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

const canary = 'a canary that only the caller and the vault know, 51c9';
/** No other test on the shared installation writes this secret. */
const place = { name: 'orders', key: 'password', type: 'PASSWORD', vaultName: 'default' } as const;
const secret = { ...place, value: { password: canary } };

describe('a secret that the caller seals', () => {
  let headgate: Installation;
  let client: ApiClient;
  let agentId: string;
  let certificate: { certificate: string; issuerChain: string[] };
  before(async () => {
    headgate = await sharedInstallation();
    client = headgate.client();
    agentId = (await client.ask('GET', '/v1/agents')).results[0].agentId;
    certificate = await waitUntil('the agent’s certificate', 120, async () => {
      const { status, body } = await client.call('GET', `/v1/agents/${agentId}/certificate`);
      return status === 200 && body;
    });
  });

  const post = (sealedValue: string) => {
    const { vaultName, ...rest } = place;
    const path = `/v1/secrets/${agentId}/secret-value?vaultName=${vaultName}`;
    return client.call('POST', path, { body: { secret: { ...rest, sealedValue } } });
  };

  it('is in the agent’s vault, and the receipt says where', async () => {
    const [issuer = ''] = certificate.issuerChain;
    const sealed = await sealSecret(secret, { agentId, certificate, issuer });
    const { status, body } = await post(sealed);
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(body.resolver_ref, 'headgate-file://default/orders#password');
    assert.equal((await post(sealed)).body.code, 'sealed-value-used');
    // An agent works in its own folder.
    const { pid } = await headgate.process('agent');
    const folder = join(readlinkSync(`/proc/${pid}/cwd`), 'vaults');
    const vault = createFileVault({ name: 'default', folder, key: undefined });
    assert.equal((await vault.read(place, AbortSignal.timeout(120_000))).reveal(), canary);
    assert.deepEqual(filesHolding([canary], headgate.keptFolders()), []);
    assert.ok(!headgate.output.includes(canary));
  });

  it('is refused as an invalid request when it was changed', async () => {
    const [issuer = ''] = certificate.issuerChain;
    const sealed = await sealSecret(secret, { agentId, certificate, issuer });
    const parts = sealed.split('.');
    const changed = parts.with(
      3,
      (parts[3] ?? '').replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    );
    const { status, body } = await post(changed.join('.'));
    assert.deepEqual([status, body.code], [422, 'sealed-value-refused'], JSON.stringify(body));
    assert.match(body.detail, /cut or changed/);
  });

  it('can be sealed by the example of docs/agents.md', async () => {
    const guide = readFileSync(join(checkout, 'docs/agents.md'), 'utf8');
    const [, example = ''] = /```js\n(import .*?sealSecret.*?)```/s.exec(guide) ?? [];
    assert.notEqual(example, '');
    const authority = join(headgate.folder, 'authority.pem');
    writeFileSync(authority, certificate.issuerChain.at(-1) ?? '');
    const program = spawn(process.execPath, ['--input-type=module', '-e', example], {
      cwd: checkout,
      env: {
        BASE: headgate.url,
        TOKEN: client.tokens.at(-1) ?? '',
        AGENT_ID: agentId,
        AUTHORITY: authority,
        PASSWORD: canary,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [program.stdout, program.stderr]) stream.on('data', (text) => (output += text));
    assert.equal(await ended(program), 0, output);
    assert.match(output, /resolver_ref: 'headgate-file:\/\/default\/orders#password'/);
  });

  it('is not sealed to a certificate that another authority issued', async () => {
    const sealing = sealSecret(secret, { agentId, certificate, issuer: makeCertificate().cert });
    await assert.rejects(sealing, CertificateRefused);
  });
});
