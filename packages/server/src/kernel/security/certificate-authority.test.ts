/** Certificates of agents: their content, and which requests are refused. */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { createSealingAgent, makeCertificateRequest, makeKeys } from '../../../testing/sealing-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';
import { createCertificateAuthority } from './certificate-authority.ts';

const server = await startTestServer(patientRequests);

test('a certificate is bound to the agent and its instance, and signed by the authority', async () => {
  const agent = await createSealingAgent(await server.account());
  const certificate = new X509Certificate(agent.issued.certificate);
  const issuer = new X509Certificate(agent.issued.issuerChain[0] ?? '');
  assert.ok(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey));
  assert.ok(issuer.ca && issuer.verify(issuer.publicKey) && !certificate.ca);
  assert.equal(certificate.subject, `CN=${agent.agentId}`);
  assert.equal(
    certificate.subjectAltName,
    `URI:urn:headgate:agent:${agent.agentId}:instance:${agent.instanceId}`,
  );
  assert.ok(certificate.checkPrivateKey(agent.privateKey));
  assert.equal(createHash('sha256').update(certificate.raw).digest('base64url'), agent.issued.kid);
});

test('servers of one database share the authority, and its key is stored sealed', async () => {
  const { database, sealer, newId } = server.deps;
  const services = { database, sealer, clock: server.clock, newId };
  const holder = { agentId: 'a', instanceId: 'b' };
  const request = await makeCertificateRequest(makeKeys('ec'));
  const issued = await Promise.all(
    [1, 2, 3].map(() => createCertificateAuthority(services).issue(request, holder)),
  );
  assert.equal(new Set(issued.map(({ authorityId }) => authorityId)).size, 1);
  const rows = await server.database.query<{ sealed: Buffer }>(
    'select private_key_sealed as sealed from certificate_authority',
  );
  assert.equal(rows.length, 1);
});

test('a request not signed with its key, or with an unsupported key type, is refused', async () => {
  const agent = await (await server.account()).agent();
  const ask = (request: string) =>
    agent.client.post('/certificates', {
      instanceId: '01890000-0000-7000-8000-000000000000',
      request,
    });
  const [mine, other] = [makeKeys('ec'), makeKeys('ec')];
  const stolen = await makeCertificateRequest({ publicKey: other.publicKey, privateKey: mine.privateKey });
  const small = generateKeyPairSync('rsa', { modulusLength: 1_024 });
  for (const [request, reason] of [
    [stolen, /not signed with its own key/],
    [await makeCertificateRequest(small), /2048 to 4096 bits/],
    ['-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----', /PKCS#10/],
  ] as const) {
    const { detail } = requireProblem(await ask(request), 422, 'certificate-request-refused');
    assert.match(detail, reason);
  }
});

test('a new authority replaces one that has passed half its lifetime', async () => {
  const { database, sealer, newId } = server.deps;
  const authority = createCertificateAuthority({ database, sealer, clock: server.clock, newId });
  const request = await makeCertificateRequest(makeKeys('rsa'));
  const holder = { agentId: 'a', instanceId: 'b' };
  const before = await authority.issue(request, holder);
  server.clock.advance(1_826 * 86_400);
  const after = await authority.issue(request, holder);
  assert.notEqual(before.authorityId, after.authorityId);
  assert.equal((await authority.findChain(before.authorityId)).length, 1);
});
