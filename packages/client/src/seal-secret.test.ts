/**
 * Sealing by a caller, against certificates of authorities that the test plays. What an agent makes of it:
 * test/acceptance/sealed-by-caller.test.ts.
 */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';

/**
 * What of Node's own is asked for by the package and all that it imports; so nothing of it is imported
 * before.
 */
const nodeModules: string[] = [];
const hooks = registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    if (found.url.startsWith('node:')) nodeModules.push(`${specifier} of ${context.parentURL}`);
    return found;
  },
});
const { CertificateRefused, sealSecret } = await import('./index.ts');
hooks.deregister();
const { certificateHolder } = await import('@headgate/contract');
const { compactDecrypt, decodeProtectedHeader } = await import('jose');
const x509 = await import('@peculiar/x509');

const day = 86_400_000;
const now = new Date('2031-05-06T07:08:09Z');
const agentId = 'd9b0a1f2-0000-4000-8000-000000000001';
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const rsa = {
  name: 'RSA-OAEP',
  hash: 'SHA-256',
  modulusLength: 2_048,
  publicExponent: new Uint8Array([1, 0, 1]),
} as const;
const { KeyUsageFlags } = x509;

async function authority({ name = 'Headgate certificate authority', ca = true, days = 10 } = {}) {
  const keys = await crypto.subtle.generateKey(ecdsa, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    notBefore: new Date(now.getTime() - 10 * day),
    notAfter: new Date(now.getTime() + days * day),
    keys,
    signingAlgorithm: ecdsa,
    extensions: [new x509.BasicConstraintsExtension(ca, undefined, true)],
  });
  return { certificate, key: keys.privateKey, pem: certificate.toString('pem') };
}
const issuer = await authority();

interface Given {
  type?: 'ec' | 'rsa';
  holder?: string;
  from?: number;
  days?: number;
  usage?: number;
  by?: Awaited<ReturnType<typeof authority>>;
}

/**
 * A certificate of the agent, as the server issues it, and the private key that opens what is sealed to it.
 */
async function issued({
  type = 'ec',
  holder = agentId,
  from = -1,
  days = 1,
  usage,
  by = issuer,
}: Given = {}) {
  const keys =
    type === 'rsa'
      ? await crypto.subtle.generateKey(rsa, true, ['encrypt', 'decrypt'])
      : await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits']);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [holder] }],
    issuer: by.certificate.subjectName,
    notBefore: new Date(now.getTime() + from * day),
    notAfter: new Date(now.getTime() + days * day),
    publicKey: keys.publicKey,
    signingKey: by.key,
    signingAlgorithm: ecdsa,
    extensions: [
      new x509.KeyUsagesExtension(
        usage ?? (type === 'rsa' ? KeyUsageFlags.keyEncipherment : KeyUsageFlags.keyAgreement),
      ),
      new x509.SubjectAlternativeNameExtension([{ type: 'url', value: certificateHolder(holder, 'i1') }]),
    ],
  });
  return { certificate: certificate.toString('pem'), privateKey: keys.privateKey, parsed: certificate };
}

const password = {
  name: 'orders-api',
  type: 'PASSWORD',
  value: { password: 'x1', other: 'left out' },
} as const;
const seal = (certificate: string, others: { issuer?: string; agentId?: string; now?: Date } = {}) =>
  sealSecret(password, { agentId, certificate: { certificate }, issuer: issuer.pem, now, ...others });
const refused = (reason: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CertificateRefused, String(error));
  assert.match(error.message, reason);
  return true;
};

for (const type of ['ec', 'rsa'] as const) {
  test(`the holder of the certificate’s key can open the sealed value, which contains only the value (${type})`, async () => {
    const { certificate, privateKey, parsed } = await issued({ type });
    const secret = { ...password, key: 'password', vaultName: 'main', provider: 'AWS' } as const;
    const sealed = await sealSecret(secret, {
      agentId,
      certificate: { certificate },
      issuer: issuer.pem,
      now,
    });
    const { plaintext } = await compactDecrypt(sealed, privateKey);
    assert.equal(new TextDecoder().decode(plaintext), '{"password":"x1"}');
    const { jti, epk: _, ...header } = decodeProtectedHeader(sealed) as Record<string, unknown>;
    const thumbprint = await parsed.getThumbprint('SHA-256');
    assert.deepEqual(header, {
      ...{ typ: 'headgate-secret+jwe', enc: 'A256GCM', alg: type === 'ec' ? 'ECDH-ES' : 'RSA-OAEP-256' },
      ...{ kid: Buffer.from(thumbprint).toString('base64url'), agent: agentId },
      ...{ name: 'orders-api', key: 'password', type: 'PASSWORD', vaultName: 'main', provider: 'AWS' },
      exp: now.getTime() / 1_000 + 300,
    });
    assert.notEqual(jti, decodeProtectedHeader(await seal(certificate)).jti);
  });
}

test('a certificate of another issuer is refused, even if the issuer has the same name', async () => {
  for (const name of ['Headgate certificate authority', 'another']) {
    const { certificate } = await issued({ by: await authority({ name }) });
    await assert.rejects(seal(certificate), refused(/not signed by a trusted issuer/));
  }
});

test('one of several trusted issuers is enough, so that an authority can be replaced', async () => {
  const younger = await authority();
  const { certificate } = await issued({ by: younger });
  await seal(certificate, { issuer: `${issuer.pem}\n${younger.pem}` });
});

test('an expired or not yet valid certificate, or one of an expired issuer, is refused', async () => {
  await assert.rejects(seal((await issued({ days: -0.5 })).certificate), refused(/certificate expired/));
  await assert.rejects(seal((await issued({ from: 0.5 })).certificate), refused(/is not valid before/));
  const outcome = await authority({ days: -1 });
  const { certificate } = await issued({ by: outcome });
  await assert.rejects(seal(certificate, { issuer: outcome.pem }), refused(/issuer expired/));
});

test('a certificate of another agent is refused', async () => {
  const { certificate } = await issued({ holder: `${agentId}0` });
  await assert.rejects(seal(certificate), refused(/does not belong to the agent/));
});

test('a certificate signed by another agent’s certificate is refused', async () => {
  const other = await authority({ ca: false });
  const { certificate } = await issued({ by: other });
  await assert.rejects(seal(certificate, { issuer: other.pem }), refused(/not a certificate authority/));
});

test('a key for signing only is refused, and so is an unreadable certificate', async () => {
  const { certificate } = await issued({ usage: KeyUsageFlags.digitalSignature });
  await assert.rejects(seal(certificate), refused(/cannot be used for sealing/));
  await assert.rejects(seal('-----'), refused(/the certificate is not an X\.509 certificate/));
  await assert.rejects(seal((await issued()).certificate, { issuer: 'x' }), refused(/the issuer/));
});

test('a value that lacks a member is refused', async () => {
  const { certificate } = await issued();
  const secret = { name: 'a', type: 'OAUTH_CLIENT_CRED', value: { clientId: 'x' } } as const;
  await assert.rejects(
    sealSecret(secret, { agentId, certificate: { certificate }, issuer: issuer.pem, now }),
    /lacks clientSecret/,
  );
});

test('it needs only WebCrypto and nothing of Node', () => {
  assert.deepEqual(nodeModules, []);
});
