/** The tables `agent_certificate` and `secret_write`. */
import type { SecretPlace } from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { IssuedKey, KeyType } from '../../kernel/security/certificate-authority.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';
import { connectedSeconds } from '../../workspace/agents/index.ts';
import { type CallingAgent, secretRefreshed } from '../agent-link/index.ts';
import type { Sealed, SealingKey } from './sealing.ts';

const agentKeyRow = {
  name: 'text',
  /** Null if the agent has no valid certificate. */
  key_id: 'text?',
  key_type: typed<KeyType>('text'),
  authority_id: 'uuid',
  certificate: 'text',
  not_after: 'timestamptz',
} satisfies ColumnTypes;
type AgentKeyRow = RowOf<typeof agentKeyRow>;

/**
 * An agent with the certificates of its connected instances, newest first. Certificates issued before the
 * secret was refreshed do not count.
 */
export const agentKeys = guardedRead(
  { parameters: { agent_id: 'uuid' }, row: agentKeyRow },
  `
  select a.name, c.key_id, c.key_type, c.authority_id, c.certificate, c.not_after
  from agent a
  left join (
    agent_certificate c
    join agent_instance i on i.account_id = c.account_id and i.agent_id = c.agent_id and i.instance_id = c.instance_id
      and not i.stopping and i.last_seen_at > $now::timestamptz - interval '${connectedSeconds} seconds'
  ) on c.account_id = a.account_id and c.agent_id = a.agent_id and c.not_after > $now
    and c.secret_generation = a.secret_generation
  where a.account_id = $account_id and a.agent_id = $agent_id
  order by c.issued_at desc, c.key_id
  limit 50`,
);

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
  { parameters: { account_id: 'uuid', agent_id: 'uuid', now: 'timestamptz' } },
  'delete from agent_certificate where account_id = $account_id and agent_id = $agent_id and not_after < $now',
);
const insertCertificate = statement(
  {
    parameters: {
      account_id: 'uuid',
      agent_id: 'uuid',
      key_id: 'text',
      instance_id: 'uuid',
      authority_id: 'uuid',
      certificate: 'text',
      key_type: 'text',
      issued_at: 'timestamptz',
      not_after: 'timestamptz',
      secret_generation: 'integer',
    },
    row: { key_id: 'text' },
  },
  `
  insert into agent_certificate (account_id, agent_id, key_id, instance_id, authority_id, certificate, key_type, issued_at, not_after,
    secret_generation)
  select $account_id, $agent_id, $key_id, $instance_id, $authority_id, $certificate, $key_type, $issued_at,
    $not_after, $secret_generation
  from agent where account_id = $account_id and agent_id = $agent_id and secret_generation = $secret_generation
  returning key_id`,
);

/**
 * Stores a certificate. Throws `token-invalid` if the token was issued for an earlier secret of the agent.
 */
export async function keepCertificate(
  tx: Transaction,
  holder: Pick<CallingAgent, 'accountId' | 'agentId' | 'generation'> & { instanceId: string },
  issued: IssuedKey,
  now: Date,
): Promise<void> {
  const { accountId, agentId, instanceId, generation } = holder;
  const { keyId, authorityId, certificate, keyType, notAfter } = issued;
  tx.send(deleteEnded, { account_id: accountId, agent_id: agentId, now });
  const [retained] = await tx.query(insertCertificate, {
    account_id: accountId,
    agent_id: agentId,
    key_id: keyId,
    instance_id: instanceId,
    authority_id: authorityId,
    certificate,
    key_type: keyType,
    issued_at: now,
    not_after: notAfter,
    secret_generation: generation,
  });
  if (retained === undefined) throw secretRefreshed();
}

const insertWrite = statement(
  {
    parameters: {
      account_id: 'uuid',
      write_id: 'uuid',
      agent_id: 'uuid',
      key_id: 'text',
      jti: 'text',
      provider: 'text?',
      vault_name: 'text?',
      name: 'text',
      secret_key: 'text?',
      type: 'text',
      sealed_value: 'text',
      sealed_sha256: 'text',
      created_at: 'timestamptz',
      project_id: 'uuid?',
    },
  },
  `
  insert into secret_write (account_id, write_id, agent_id, key_id, jti, provider, vault_name, name, secret_key, type, sealed_value,
    sealed_sha256, status, created_at, project_id)
  values ($account_id, $write_id, $agent_id, $key_id, $jti, $provider, $vault_name, $name, $secret_key, $type,
    $sealed_value, $sealed_sha256, 'PENDING', $created_at, $project_id)`,
);

export interface SecretWrite {
  accountId: string;
  writeId: string;
  agentId: string;
  keyId: string;
  place: SecretPlace;
  sealed: Sealed;
  sha256: string;
  /** The project that gets the name once it is written. */
  projectId: string | null;
}

export function insertSecretWrite(tx: Transaction, write: SecretWrite, now: Date): void {
  const { provider, vaultName, name, key, type } = write.place;
  tx.onConstraint('secret_write_jti_once', () => problem('sealed-value-used'));
  tx.onConstraint('secret_write_for_project', () =>
    problem('unknown-project', { id: write.projectId ?? '' }),
  );
  tx.send(insertWrite, {
    account_id: write.accountId,
    write_id: write.writeId,
    agent_id: write.agentId,
    key_id: write.keyId,
    jti: write.sealed.jti,
    provider: provider ?? null,
    vault_name: vaultName ?? null,
    name,
    secret_key: key ?? null,
    type,
    sealed_value: write.sealed.jwe,
    sealed_sha256: write.sha256,
    created_at: now,
    project_id: write.projectId,
  });
}

const secretWriteRow = {
  agent_id: 'uuid',
  jti: 'text',
  place: typed<SecretPlace>('json'),
  sealed_sha256: 'text',
  /** REFUSED: the agent could not open the value, or the value lacks members of its type. */
  status: typed<'PENDING' | 'WRITTEN' | 'FAILED' | 'REFUSED'>('text'),
  message: 'text?',
  receipt: 'text?',
  key_id: 'text',
  /** Null if the certificate has expired and was deleted. */
  key_type: typed<KeyType | null>('text'),
  certificate: 'text?',
} satisfies ColumnTypes;
export type SecretWriteRow = RowOf<typeof secretWriteRow>;

const selectWrite = statement(
  { parameters: { account_id: 'uuid', write_id: 'uuid' }, row: secretWriteRow },
  `
  select w.agent_id, w.jti, w.sealed_sha256, w.status, w.message, w.receipt, w.key_id, c.key_type, c.certificate,
    json_strip_nulls(json_build_object('provider', w.provider, 'vaultName', w.vault_name, 'name', w.name, 'key', w.secret_key,
      'type', w.type)) as place
  from secret_write w
  left join agent_certificate c on c.account_id = w.account_id and c.agent_id = w.agent_id and c.key_id = w.key_id
  where w.account_id = $account_id and w.write_id = $write_id`,
);

export async function readSecretWrite(
  read: Read,
  accountId: string,
  writeId: string,
): Promise<SecretWriteRow | undefined> {
  const [row] = await read(selectWrite, { account_id: accountId, write_id: writeId });
  return row;
}

const endWrites = statement(
  {
    parameters: {
      account_id: 'uuid',
      write_ids: 'uuid[]',
      status: 'text',
      receipts: 'text[]',
      messages: 'text[]',
    },
  },
  `
  update secret_write set status = $status, message = ($messages::text[])[array_position($write_ids::uuid[], write_id)],
    receipt = ($receipts::text[])[array_position($write_ids::uuid[], write_id)], sealed_value = null
  where account_id = $account_id and write_id = any ($write_ids::uuid[]) and status = 'PENDING'`,
);

const grantWritten = statement(
  {
    parameters: {
      account_id: 'uuid',
      write_ids: 'uuid[]',
      event_ids: 'uuid[]',
      now: 'timestamptz',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
  },
  `
  with written as (
    select w.write_id, w.project_id, w.agent_id, w.name from secret_write w
    join project p on p.account_id = w.account_id and p.project_id = w.project_id
    where w.account_id = $account_id and w.write_id = any ($write_ids::uuid[])
    for key share of p
  ), granted as (
    insert into vault_grant (account_id, project_id, agent_id, name, is_prefix)
    select distinct $account_id::uuid, project_id, agent_id, name, false from written
    on conflict do nothing
    returning project_id, agent_id, name
  ), numbered as (
    select *, row_number() over () as number from granted
  )
  ${insertIntoEvent}
  select $account_id, $now, ($event_ids::uuid[])[number], 'vault-names-granted', $actor_id, $actor_kind, $request_id,
    project_id, null, 'project', project_id::text, null, null,
    jsonb_build_object('names', jsonb_build_array(name), 'agentId', agent_id)
  from numbered`,
);

/** Grants the written names to the projects for which they were written. */
export function grantWrittenNames(
  { tx, accountId, source, now, newId }: WorkMoment,
  writeIds: readonly string[],
): void {
  tx.send(grantWritten, {
    account_id: accountId,
    write_ids: [...writeIds],
    event_ids: writeIds.map(() => newId()),
    now,
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
}

/** Ends writes and deletes their sealed values. */
export function endSecretWrites(
  tx: Transaction,
  accountId: string,
  status: 'WRITTEN' | 'FAILED' | 'REFUSED',
  ends: readonly { id: string; receipt: string | null; message: string | null }[],
): void {
  const of = <Key extends 'id' | 'receipt' | 'message'>(member: Key) => ends.map((end) => end[member]);
  tx.send(endWrites, {
    account_id: accountId,
    write_ids: of('id'),
    status,
    receipts: of('receipt') as string[],
    messages: of('message') as string[],
  });
}

export const secretWriteBatch = 1_000;
const deleteOld = statement(
  { parameters: { before: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with removed as (
    delete from secret_write where ctid = any (array(
      select ctid from secret_write where created_at < $before and status <> 'PENDING' limit ${secretWriteBatch}
        for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
);

/** Longer than an Idempotency-Key or any sealed value is valid. */
const keptHours = 48;

/** Deletes one batch of old writes; returns how many. */
export async function removeOldSecretWrites(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteOld, { before: new Date(now.getTime() - keptHours * 3_600_000) });
  return row?.removed ?? 0;
}
