/** API credentials. Secrets are generated and stored as keyed digests. */
import { randomBytes } from 'node:crypto';
import type { AccountRole, Credential, ScopedRole } from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import type { RoleGrant } from './role.ts';

/** The digest purpose of secrets of clients: credentials and agents. */
export const clientSecretPurpose = 'client secret';

export interface NewCredential {
  credentialId: string;
  name: string;
  clientId: string;
  secret: Secret;
  accountRole: AccountRole;
  expiresAt?: Date | undefined;
}

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      credential_id: 'uuid',
      name: 'text',
      client_id: 'text',
      secret_digest: 'bytea',
      account_role: 'text',
      created_at: 'timestamptz',
      expires_at: 'timestamptz?',
    },
  },
  `
  insert into credential (account_id, credential_id, name, client_id, secret_digest, account_role, created_at, expires_at)
  values ($account_id, $credential_id, $name, $client_id, $secret_digest, $account_role, $created_at, $expires_at)`,
);

export function insertCredential(
  tx: Transaction,
  sealer: Sealer,
  accountId: string,
  made: NewCredential,
  now: Date,
): void {
  const digest = sealer.digest(made.secret.reveal(), clientSecretPurpose);
  const { credentialId, name, clientId, accountRole, expiresAt } = made;
  tx.send(insertOne, {
    account_id: accountId,
    credential_id: credentialId,
    name,
    client_id: clientId,
    secret_digest: digest,
    account_role: accountRole,
    created_at: now,
    expires_at: expiresAt ?? null,
  });
}

export function generateClientId(): string {
  return `hg_${randomBytes(12).toString('hex')}`;
}

/** A client of the token endpoint: a credential, a user by a personal credential, or an agent. */
export interface Client extends Scope {
  surface: 'dpc' | 'agent';
  secretDigest: Buffer;
  /** Digest of the previous secret, while a rotation overlaps. */
  previousSecretDigest: Buffer | null;
  active: boolean;
  /** Generation of an agent's secret; the agent's tokens contain it. */
  generation: number | undefined;
}

const clientRow = {
  account_id: 'uuid',
  actor_id: 'uuid',
  surface: typed<'dpc' | 'agent'>('text'),
  secret_digest: 'bytea',
  previous_secret_digest: 'bytea?',
  active: 'boolean',
  generation: 'integer?',
  user_credential_id: 'uuid?',
} satisfies ColumnTypes;

const selectClient = statement(
  { parameters: { client_id: 'text', now: 'timestamptz' }, row: clientRow },
  `
  select account_id, credential_id as actor_id, 'dpc' as surface, secret_digest,
    case when previous_secret_until > $now then previous_secret_digest end as previous_secret_digest,
    revoked_at is null and (expires_at is null or expires_at > $now) as active,
    null::integer as generation, null::uuid as user_credential_id
  from credential where client_id = $client_id
  union all
  select k.account_id, k.user_id, 'dpc', k.secret_digest, null,
    u.active and (k.expires_at is null or k.expires_at > $now), null, k.user_credential_id
  from user_credential k
  join directory_user u on u.account_id = k.account_id and u.user_id = k.user_id
  where k.client_id = $client_id
  union all
  select account_id, agent_id, 'agent', secret_digest, null, true, secret_generation, null from agent
    where client_id = $client_id`,
);

export async function findClientById(read: Read, clientId: string, now: Date): Promise<Client | undefined> {
  const [row] = await read(selectClient, { client_id: clientId, now });
  if (row === undefined) return undefined;
  return {
    accountId: row.account_id,
    actorId: row.actor_id,
    surface: row.surface,
    secretDigest: row.secret_digest,
    previousSecretDigest: row.previous_secret_digest,
    active: row.active,
    generation: row.generation ?? undefined,
    userCredentialId: row.user_credential_id ?? undefined,
  };
}

const updateSecret = statement(
  { parameters: { account_id: 'uuid', credential_id: 'uuid', secret_digest: 'bytea' } },
  `
  update credential set secret_digest = $secret_digest, revoked_at = null where account_id = $account_id
    and credential_id = $credential_id`,
);

/** Replaces the secret of a credential and reactivates the credential. */
export function setSecret(tx: Transaction, sealer: Sealer, scope: Scope, secret: Secret): void {
  tx.send(updateSecret, {
    account_id: scope.accountId,
    credential_id: scope.actorId,
    secret_digest: sealer.digest(secret.reveal(), clientSecretPurpose),
  });
}

/**
 * Whether this is the client's secret, or its previous one while a rotation overlaps. Always makes two
 * comparisons, so that the time reveals nothing.
 */
export function hasSecret(
  sealer: Sealer,
  client: Pick<Client, 'secretDigest' | 'previousSecretDigest'>,
  secret: Secret,
): boolean {
  const { secretDigest, previousSecretDigest } = client;
  const [isCurrent, isPrevious] = [secretDigest, previousSecretDigest ?? secretDigest].map((digest) =>
    sealer.matches(secret.reveal(), clientSecretPurpose, digest),
  );
  return isCurrent === true || isPrevious === true;
}

const updateLastUse = statement(
  { parameters: { account_id: 'uuid', credential_id: 'uuid', last_used_at: 'timestamptz' } },
  'update credential set last_used_at = $last_used_at where account_id = $account_id and credential_id = $credential_id',
);

const updateLastUseOfUser = statement(
  { parameters: { account_id: 'uuid', user_credential_id: 'uuid', last_used_at: 'timestamptz' } },
  `
  update user_credential set last_used_at = $last_used_at
  where account_id = $account_id and user_credential_id = $user_credential_id`,
);

export async function recordTokenUse(read: Read, scope: Scope, now: Date): Promise<void> {
  const { accountId, userCredentialId } = scope;
  if (userCredentialId !== undefined) {
    const used = { account_id: accountId, user_credential_id: userCredentialId, last_used_at: now };
    await read(updateLastUseOfUser, used);
  } else
    await read(updateLastUse, {
      account_id: scope.accountId,
      credential_id: scope.actorId,
      last_used_at: now,
    });
}

const credentialRow = {
  credential_id: 'uuid',
  name: 'text',
  client_id: 'text',
  account_role: typed<AccountRole>('text'),
  roles: typed<ScopedRole[]>('json'),
  created_at: 'timestamptz',
  expires_at: 'timestamptz?',
  last_used_at: 'timestamptz?',
} satisfies ColumnTypes;
type CredentialRow = RowOf<typeof credentialRow>;

export const credentialPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: credentialRow },
  {
    rows: `
    select c.credential_id, c.name, c.client_id, c.account_role, c.created_at, c.expires_at, c.last_used_at, coalesce((
      select json_agg(json_strip_nulls(json_build_object('projectId', g.project_id, 'environmentName', g.environment_name, 'role', g.role))
        order by g.project_id, g.environment_name, g.role)
      from role_grant g where g.account_id = c.account_id and g.credential_id = c.credential_id), '[]') as roles
    from credential c where c.account_id = $account_id and c.revoked_at is null
    order by c.created_at desc, c.credential_id desc limit $limit offset $offset`,
    total:
      'select count(*)::bigint as total from credential where account_id = $account_id and revoked_at is null',
  },
);

const insertGrants = statement(
  {
    parameters: {
      account_id: 'uuid',
      credential_id: 'uuid',
      grants: 'jsonb',
      added_by: 'uuid',
      added_at: 'timestamptz',
    },
  },
  `
  insert into role_grant (account_id, credential_id, project_id, environment_name, role, added_by, added_at)
  select distinct $account_id::uuid, $credential_id::uuid, g."projectId", g."environmentName", g.role, $added_by::uuid, $added_at::timestamptz
  from jsonb_to_recordset($grants) as g ("projectId" uuid, "environmentName" text, role text)`,
);

const selectDirectory = statement(
  { parameters: { account_id: 'uuid', now: 'timestamptz' }, row: { is_managed: 'boolean' } },
  `
  select exists (
    select from credential c where c.account_id = $account_id and c.account_role = 'DIRECTORY' and c.revoked_at is null
      and (c.expires_at is null or c.expires_at > $now)) as is_managed`,
);

/** Whether a directory may send the users of the account, by SCIM. */
export async function isDirectoryManaged(tx: Transaction, accountId: string, now: Date): Promise<boolean> {
  const [found] = await tx.query(selectDirectory, { account_id: accountId, now });
  return found?.is_managed === true;
}

const projectOfGrant = /^Key \(account_id, project_id\)=\(\S+, (\S+)\)/;

/** The problems `unknown-project` and `unknown-environment`, at commit, of a table with roles. */
export function explainUnknownPlaces(tx: Transaction, table: string): void {
  tx.onConstraint(`${table}_in_project`, ({ detail }) =>
    problem('unknown-project', { id: projectOfGrant.exec(detail ?? '')?.[1] ?? '' }),
  );
  tx.onConstraint(`${table}_in_environment`, ({ detail }) =>
    problem('unknown-environment', { name: /, ([^,]*)\) is not present/.exec(detail ?? '')?.[1] ?? '' }),
  );
}

/** Throws `unknown-project` and `unknown-environment` at commit. */
export function insertRoleGrants(
  tx: Transaction,
  scope: Scope,
  credentialId: string,
  grants: readonly RoleGrant[],
  now: Date,
): void {
  if (grants.length === 0) return;
  explainUnknownPlaces(tx, 'role_grant');
  tx.send(insertGrants, {
    account_id: scope.accountId,
    credential_id: credentialId,
    grants: JSON.stringify(grants),
    added_by: scope.actorId,
    added_at: now,
  });
}

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', credential_id: 'uuid' },
    row: {
      credential_id: 'uuid',
      name: 'text',
      client_id: 'text',
      account_role: typed<AccountRole>('text'),
      expires_at: 'timestamptz?',
      lasting: 'boolean',
    },
  },
  `
  select credential_id, name, client_id, account_role, expires_at, expires_at is null as lasting from credential
  where account_id = $account_id and credential_id = $credential_id and revoked_at is null for update`,
);

/** Throws `credential-not-found`. */
export async function lockCredential(tx: Transaction, scope: Scope, id: string) {
  const found = await tx.query(lockOne, { account_id: scope.accountId, credential_id: toUuid(id) });
  return requireRow(found, () => problem('credential-not-found', { id }));
}

const rotateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      credential_id: 'uuid',
      secret_digest: 'bytea',
      previous_secret_until: 'timestamptz',
    },
  },
  `
  update credential set previous_secret_digest = secret_digest, previous_secret_until = $previous_secret_until,
    secret_digest = $secret_digest
  where account_id = $account_id and credential_id = $credential_id`,
);

export function rotateSecret(
  tx: Transaction,
  sealer: Sealer,
  scope: Scope,
  rotated: { credentialId: string; secret: Secret; previousUntil: Date },
): void {
  const digest = sealer.digest(rotated.secret.reveal(), clientSecretPurpose);
  tx.send(rotateOne, {
    account_id: scope.accountId,
    credential_id: rotated.credentialId,
    secret_digest: digest,
    previous_secret_until: rotated.previousUntil,
  });
}

// Locked, so that two concurrent deletions cannot remove the last two credentials.
const lockLasting = statement(
  { parameters: { account_id: 'uuid' }, row: { credential_id: 'uuid' } },
  `
  select credential_id from credential
  where account_id = $account_id and account_role = 'SUPER_ADMIN' and expires_at is null and revoked_at is null
  order by credential_id for update`,
);
const deleteOne = statement(
  { parameters: { account_id: 'uuid', credential_id: 'uuid' } },
  'delete from credential where account_id = $account_id and credential_id = $credential_id',
);

/**
 * Throws `credential-not-found`, and `last-super-admin` for the last permanent Super Admin credential of
 * the account.
 */
export async function removeCredential(tx: Transaction, scope: Scope, id: string) {
  const lasting = await tx.query(lockLasting, { account_id: scope.accountId });
  const row = await lockCredential(tx, scope, id);
  if (lasting.length === 1 && lasting[0]?.credential_id === row.credential_id)
    throw problem('last-super-admin');
  tx.send(deleteOne, { account_id: scope.accountId, credential_id: row.credential_id });
  return row;
}

export function presentCredential(row: CredentialRow): Credential {
  const credential: Credential = {
    credentialId: row.credential_id,
    name: row.name,
    clientId: row.client_id,
    role: row.account_role,
    roles: row.roles,
    createdAt: row.created_at.toISOString(),
  };
  if (row.expires_at !== null) credential.expiresAt = row.expires_at.toISOString();
  if (row.last_used_at !== null) credential.lastUsedAt = row.last_used_at.toISOString();
  return credential;
}
