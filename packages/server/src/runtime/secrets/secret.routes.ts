/**
 * Passes a value from the caller into a vault of an agent. contract/secret.ts has the formats and says
 * where the plain value exists.
 */
import {
  type BodyOf,
  getAgentCertificate,
  type SecretPlace,
  sealingAlgorithmsOf,
  writeSecretValue,
} from '@headgate/contract';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, LongCall, Services } from '../../kernel/endpoint/endpoint.ts';
import type { Problem } from '../../kernel/http/problems.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { CertificateAuthority } from '../../kernel/security/certificate-authority.ts';
import type { Secret } from '../../kernel/security/sealed.ts';
import { waitForEnd } from '../../kernel/work/awaited-end.ts';
import { enqueueWork } from '../../kernel/work/work.ts';
import { checkSealedValue, digestSealedValue, sealValue, verifyReceipt } from './sealing.ts';
import {
  type AgentKeys,
  agentKeys,
  insertSecretWrite,
  presentKeys,
  readSecretWrite,
  type SecretWrite,
  type SecretWriteRow,
} from './secret.store.ts';
import { getPlace, takeValue } from './secret.value.ts';

export interface SecretServices extends Services {
  authority: CertificateAuthority;
  wakes: Wakes;
  /** How long a request waits for the agent. */
  secretWaitSeconds: number;
  stopping: AbortSignal;
}

export function secretRoutes({ read, long }: Endpoints, services: SecretServices): void {
  read(getAgentCertificate, async ({ params, rows }) => {
    const { name, keys } = presentKeys(
      await rows(agentKeys, { agent_id: toUuid(params.agentId) }),
      params.agentId,
    );
    const [key] = keys;
    if (key === undefined) throw problem('agent-not-connected', { name });
    return {
      body: {
        certificate: key.certificate,
        issuerChain: await services.authority.findChain(key.authorityId),
        kid: key.keyId,
        notAfter: key.notAfter.toISOString(),
        algorithms: [...sealingAlgorithmsOf[key.keyType]],
      },
    };
  });

  long(writeSecretValue, async (call) => {
    const { name, begun } = await beginOrFind(call);
    if ('answer' in begun) return begun.answer;
    const { workId } = begun.pending;
    const outcome = await waitForWrite(services, call.scope.accountId, workId);
    if (outcome === undefined) throw problem('agent-timeout', { name, seconds: services.secretWaitSeconds });
    const answer = await createAnswer(
      outcome,
      call.body.secret.sealedValue === undefined ? 'server' : 'caller',
    );
    if ('refusal' in answer) {
      await call.awaited.giveUp(workId);
      throw answer.refusal;
    }
    return call.awaited.finish(workId, { body: answer.body });
  });

  /** A separate function, so that nothing holds the plain value while the request waits for the agent. */
  async function beginOrFind(call: LongCall<typeof writeSecretValue>) {
    const { params, query, body } = call;
    const value = takeValue(body.secret);
    const place = getPlace(query, body.secret);
    const agent = presentKeys(
      await call.rows(agentKeys, { agent_id: toUuid(params.agentId) }),
      params.agentId,
    );
    const until = new Date(call.now.getTime() + services.secretWaitSeconds * 1_000);
    const begun =
      (await call.awaited.findEarlier()) ??
      (await begin(call, { agent, place, value, sealedValue: body.secret.sealedValue, until }));
    return { name: agent.name, begun };
  }

  async function begin(call: LongCall<typeof writeSecretValue>, input: Given) {
    const write = await createSealedWrite(call, input);
    const { accountId, writeId, agentId, keyId, place, sealed, projectId } = write;
    return call.awaited.begin({ workId: writeId, until: input.until }, (tx) => {
      insertSecretWrite(tx, write, call.now);
      const work = {
        account_id: accountId,
        work_id: writeId,
        project_id: null,
        environment_name: null,
        agent_id: agentId,
        kind: 'secret-write' as const,
        name: place.name,
      };
      enqueueWork(tx, work, call.now, { keyId, claimableUntil: sealed.expiresAt });
      // Wake all waiting instances: only one of them has the key.
      tx.afterCommit(() => services.wakes.wake(agentId, 'all'));
      const subject = { type: 'secret-write', id: writeId, name: place.name };
      const after = { agentId, keyId, ...place, ...(projectId === null ? {} : { projectId }) };
      return [{ name: 'secret-write-requested', subject, after }];
    });
  }
}

interface Given {
  agent: AgentKeys;
  place: SecretPlace;
  value: Secret | undefined;
  sealedValue: BodyOf<typeof writeSecretValue>['secret']['sealedValue'];
  until: Date;
}

/** Throws `agent-not-connected` and `sealed-value-refused`. */
async function createSealedWrite(
  { params, query, scope, newId, now }: LongCall<typeof writeSecretValue>,
  { agent, place, value, sealedValue }: Given,
): Promise<SecretWrite> {
  const [key] = agent.keys;
  if (key === undefined) throw problem('agent-not-connected', { name: agent.name });
  const agentId = toUuid(params.agentId);
  const writeId = newId();
  const about = { agentId, place, now };
  const sealed =
    value === undefined
      ? checkSealedValue(sealedValue ?? '', { ...about, keys: agent.keys })
      : { ...(await sealValue(value, key, { ...about, jti: writeId })), keyId: key.keyId };
  const { accountId } = scope;
  return {
    accountId,
    writeId,
    agentId,
    keyId: sealed.keyId,
    place,
    sealed,
    sha256: digestSealedValue(sealed.jwe),
    projectId: query.projectId ?? null,
  };
}

/** Returns the write when it has ended; undefined if it has not ended within the waiting time. */
function waitForWrite(
  services: SecretServices,
  accountId: string,
  writeId: string,
): Promise<SecretWriteRow | undefined> {
  return waitForEnd(services, services.secretWaitSeconds, writeId, async () => {
    const row = await readSecretWrite(services.database.read, accountId, writeId);
    return row?.status === 'PENDING' ? { waitsFor: writeId } : { ended: row };
  });
}

type SecretAnswer = { resolver_ref: string; vaultSecretName: string; receipt: string };

/** `sealedBy`: who is at fault if the agent cannot use the sealed value. */
async function createAnswer(
  row: SecretWriteRow,
  sealedBy: 'caller' | 'server',
): Promise<{ body: SecretAnswer } | { refusal: Problem }> {
  const refused = (reason: string) => ({ refusal: problem('vault-refused', { reason }) });
  if (row.status === 'REFUSED') {
    const reason = row.message ?? 'the agent gave no reason';
    return sealedBy === 'caller'
      ? { refusal: problem('sealed-value-refused', { reason }) }
      : refused(`the agent cannot use the value that the server sealed for it: ${reason}.`);
  }
  const { receipt, certificate, key_id: keyId, key_type: keyType } = row;
  if (row.status === 'FAILED' || receipt === null) return refused(row.message ?? 'the agent gave no reason.');
  if (certificate === null || keyType === null)
    return refused('the agent’s certificate has expired, so its receipt cannot be verified.');
  const { agent_id: agentId, jti, sealed_sha256: sha256, place } = row;
  const checked = await verifyReceipt(
    receipt,
    { keyId, keyType, certificate },
    { agentId, jti, sha256, place },
  );
  if (checked === undefined)
    return refused('the receipt is not signed by the agent’s key, or is about another value.');
  return {
    body: { resolver_ref: checked.resolverRef, vaultSecretName: checked.vaultSecretName, receipt },
  };
}
