/** The tables `agent_certificate` and `secret_write`. */
import type { SecretPlace } from '@headgate/contract';
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { IssuedKey, KeyType } from '../../kernel/security/certificate-authority.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { connectedSeconds } from '../../workspace/agents/index.ts';
import { type CallingAgent, secretRefreshed } from '../agent-link/index.ts';
import type { Sealed, SealingKey } from './sealing.ts';

interface AgentKeyRow {
  name: string;
  /** Null when the agent has no certificate that counts. */
  key_id: string | null;
  key_type: KeyType;
  authority_id: string;
  certificate: string;
  not_after: Date;
}

/**
 * An agent with the certificates of the instances that are there and that its secret has not been refreshed
 * since, the newest first. Parameter: the agent.
 */
export const agentKeys = guardedRead<AgentKeyRow>(`
  select a.name, c.key_id, c.key_type, c.authority_id, c.certificate, c.not_after
  from agent a
  left join (
    agent_certificate c
    join agent_instance i on i.account_id = c.account_id and i.agent_id = c.agent_id and i.instance_id = c.instance_id
      and not i.stopping and i.last_seen_at > $8::timestamptz - interval '${connectedSeconds} seconds'
  ) on c.account_id = a.account_id and c.agent_id = a.agent_id and c.not_after > $8
    and c.secret_generation = a.secret_generation
  where a.account_id = $1 and a.agent_id = $9
  order by c.issued_at desc, c.key_id
  limit 50`);

export interface AgentKeys {
  name: string;
  keys: (SealingKey & { authorityId: string; notAfter: Date })[];
}

/** Throws `agent-not-found`. */
export function presentKeys(rows: readonly AgentKeyRow[], agentId: string): AgentKeys {
  const [first] = rows;
  if (first === undefined) throw problem('agent-not-found', { id: agentId });
  const keys = rows.flatMap(({ key_id, key_type, authority_id, certificate, not_after }) =>
    key_id === null
      ? []
      : [
          {
            keyId: key_id,
            keyType: key_type,
            certificate,
            authorityId: authority_id,
            notAfter: not_after,
          },
        ],
  );
  return { name: first.name, keys };
}

const deleteEnded = statement(
  'delete from agent_certificate where account_id = $1 and agent_id = $2 and not_after < $3',
);
const insertCertificate = statement<{ key_id: string }>(`
  insert into agent_certificate (account_id, agent_id, key_id, instance_id, authority_id, certificate, key_type, issued_at, not_after,
    secret_generation)
  select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
  from agent where account_id = $1 and agent_id = $2 and secret_generation = $10
  returning key_id`);

/** Throws `token-invalid` when the secret that the agent's token was given for is not its secret any more. */
export async function keepCertificate(
  tx: Transaction,
  holder: Pick<CallingAgent, 'accountId' | 'agentId' | 'generation'> & { instanceId: string },
  issued: IssuedKey,
  now: Date,
): Promise<void> {
  const { accountId, agentId, instanceId, generation } = holder;
  const { keyId, authorityId, certificate, keyType, notAfter } = issued;
  tx.send(deleteEnded, [accountId, agentId, now]);
  const [kept] = await tx.query(insertCertificate, [
    ...[accountId, agentId, keyId, instanceId, authorityId],
    ...[certificate, keyType, now, notAfter, generation],
  ]);
  if (kept === undefined) throw secretRefreshed();
}

const insertWrite = statement(`
  insert into secret_write (account_id, write_id, agent_id, key_id, jti, provider, vault_name, name, secret_key, type, sealed_value,
    sealed_sha256, status, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'PENDING', $13)`);

export interface SecretWrite {
  accountId: string;
  writeId: string;
  agentId: string;
  keyId: string;
  place: SecretPlace;
  sealed: Sealed;
  sha256: string;
}

export function insertSecretWrite(tx: Transaction, write: SecretWrite, now: Date): void {
  const { provider, vaultName, name, key, type } = write.place;
  tx.onConstraint('secret_write_jti_once', () => problem('sealed-value-used'));
  tx.send(insertWrite, [
    ...[write.accountId, write.writeId, write.agentId, write.keyId, write.sealed.jti],
    ...[provider ?? null, vaultName ?? null, name, key ?? null, type],
    ...[write.sealed.jwe, write.sha256, now],
  ]);
}

export interface SecretWriteRow {
  agent_id: string;
  jti: string;
  place: SecretPlace;
  sealed_sha256: string;
  /** REFUSED: the agent could not open the value, or it lacks members of its type. */
  status: 'PENDING' | 'WRITTEN' | 'FAILED' | 'REFUSED';
  message: string | null;
  receipt: string | null;
  key_id: string;
  /** Null when the certificate has ended and was removed. */
  key_type: KeyType | null;
  certificate: string | null;
}

const selectWrite = statement<SecretWriteRow>(`
  select w.agent_id, w.jti, w.sealed_sha256, w.status, w.message, w.receipt, w.key_id, c.key_type, c.certificate,
    json_strip_nulls(json_build_object('provider', w.provider, 'vaultName', w.vault_name, 'name', w.name, 'key', w.secret_key,
      'type', w.type)) as place
  from secret_write w
  left join agent_certificate c on c.account_id = w.account_id and c.agent_id = w.agent_id and c.key_id = w.key_id
  where w.account_id = $1 and w.write_id = $2`);

export async function readSecretWrite(
  read: Read,
  accountId: string,
  writeId: string,
): Promise<SecretWriteRow | undefined> {
  const [row] = await read(selectWrite, [accountId, writeId]);
  return row;
}

const endWrites = statement(`
  update secret_write set status = $3, message = ($5::text[])[array_position($2::uuid[], write_id)],
    receipt = ($4::text[])[array_position($2::uuid[], write_id)], sealed_value = null
  where account_id = $1 and write_id = any ($2::uuid[]) and status = 'PENDING'`);

/** The sealed value goes with the end of its work. */
export function endSecretWrites(
  tx: Transaction,
  accountId: string,
  status: 'WRITTEN' | 'FAILED' | 'REFUSED',
  ends: readonly { id: string; receipt: string | null; message: string | null }[],
): void {
  const of = <Key extends 'id' | 'receipt' | 'message'>(member: Key) => ends.map((end) => end[member]);
  tx.send(endWrites, [accountId, of('id'), status, of('receipt') as string[], of('message') as string[]]);
}

export const secretWriteBatch = 1_000;
const deleteOld = statement<{ removed: number }>(
  `
  with removed as (
    delete from secret_write where ctid = any (array(
      select ctid from secret_write where created_at < $1 and status <> 'PENDING' limit ${secretWriteBatch} for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
  { alone: true },
);

/** As long as an Idempotency-Key may ask for it, and longer than any sealed value is good for. */
const keptHours = 48;

/** Removes writes that nobody asks for any more, a batch at a time; answers how many. */
export async function removeOldSecretWrites(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteOld, [new Date(now.getTime() - keptHours * 3_600_000)]);
  return row?.removed ?? 0;
}
