/** API credentials: generated secrets, kept as keyed digests (decisions.md §3). */
import { randomBytes } from 'node:crypto';
import type { AccountRole, Credential, ScopedRole } from '@headgate/contract';
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { asUuid } from '../../kernel/identifiers.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import type { RoleGrant } from './role.ts';

/** The purpose under which a client's secret is digested; an agent's is digested in the same way. */
export const clientSecretPurpose = 'client secret';

export interface NewCredential {
  credentialId: string;
  name: string;
  clientId: string;
  secret: Secret;
  accountRole: AccountRole;
  expiresAt?: Date | undefined;
}

const insertOne = statement(`
  insert into credential (account_id, credential_id, name, client_id, secret_digest, account_role, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`);

export function insertCredential(
  tx: Transaction,
  sealer: Sealer,
  accountId: string,
  made: NewCredential,
  now: Date,
): void {
  const digest = sealer.digest(made.secret.reveal(), clientSecretPurpose);
  const { credentialId, name, clientId, accountRole, expiresAt } = made;
  tx.send(insertOne, [accountId, credentialId, name, clientId, digest, accountRole, now, expiresAt ?? null]);
}

export function newClientId(): string {
  return `hg_${randomBytes(12).toString('hex')}`;
}

/** Whoever may ask for a token: a credential, or an agent. */
export interface Client extends Scope {
  surface: 'dpc' | 'agent';
  secretDigest: Buffer;
  /** Of the secret before a rotation, while it still counts. */
  previousSecretDigest: Buffer | null;
  active: boolean;
  /** Of an agent's secret: its tokens tell it. */
  generation: number | undefined;
}

interface ClientRow {
  account_id: string;
  actor_id: string;
  surface: 'dpc' | 'agent';
  secret_digest: Buffer;
  previous_secret_digest: Buffer | null;
  active: boolean;
  generation: number | null;
}

const selectClient = statement<ClientRow>(`
  select account_id, credential_id as actor_id, 'dpc' as surface, secret_digest,
    case when previous_secret_until > $2 then previous_secret_digest end as previous_secret_digest,
    revoked_at is null and (expires_at is null or expires_at > $2) as active,
    null::integer as generation
  from credential where client_id = $1
  union all
  select account_id, agent_id, 'agent', secret_digest, null, true, secret_generation from agent where client_id = $1`);

export async function clientById(read: Read, clientId: string, now: Date): Promise<Client | undefined> {
  const [row] = await read(selectClient, [clientId, now]);
  if (row === undefined) return undefined;
  return {
    accountId: row.account_id,
    actorId: row.actor_id,
    surface: row.surface,
    secretDigest: row.secret_digest,
    previousSecretDigest: row.previous_secret_digest,
    active: row.active,
    generation: row.generation ?? undefined,
  };
}

const updateSecret = statement(`
  update credential set secret_digest = $3, revoked_at = null where account_id = $1 and credential_id = $2`);

/** Gives a credential another secret, and makes it active again. */
export function setSecret(tx: Transaction, sealer: Sealer, scope: Scope, secret: Secret): void {
  tx.send(updateSecret, [
    scope.accountId,
    scope.actorId,
    sealer.digest(secret.reveal(), clientSecretPurpose),
  ]);
}

/**
 * Whether it is a client's secret, or the one before while a rotation overlaps. Two comparisons, whatever it
 * is: the time tells nothing.
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

const noteUse = statement(
  'update credential set last_used_at = $3 where account_id = $1 and credential_id = $2',
);

export async function noteTokenGiven(read: Read, scope: Scope, now: Date): Promise<void> {
  await read(noteUse, [scope.accountId, scope.actorId, now]);
}

interface CredentialRow {
  credential_id: string;
  name: string;
  client_id: string;
  account_role: AccountRole;
  roles: ScopedRole[];
  created_at: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
}

/** Parameters: limit, offset. */
export const credentialPage = guardedPage<CredentialRow>({
  rows: `
    select c.credential_id, c.name, c.client_id, c.account_role, c.created_at, c.expires_at, c.last_used_at, coalesce((
      select json_agg(json_strip_nulls(json_build_object('projectId', g.project_id, 'environmentName', g.environment_name, 'role', g.role))
        order by g.project_id, g.environment_name, g.role)
      from role_grant g where g.account_id = c.account_id and g.credential_id = c.credential_id), '[]') as roles
    from credential c where c.account_id = $1 and c.revoked_at is null
    order by c.created_at desc, c.credential_id desc limit $9 offset $10`,
  total: 'select count(*)::bigint as total from credential where account_id = $1 and revoked_at is null',
});

const insertGrants = statement(`
  insert into role_grant (account_id, credential_id, project_id, environment_name, role)
  select distinct $1::uuid, $2::uuid, g."projectId", g."environmentName", g.role
  from jsonb_to_recordset($3) as g ("projectId" uuid, "environmentName" text, role text)`);

const projectOfGrant = /^Key \(account_id, project_id\)=\(\S+, (\S+)\)/;

/** Throws `unknown-project` and `unknown-environment` with the commit. */
export function insertRoleGrants(
  tx: Transaction,
  scope: Scope,
  credentialId: string,
  grants: readonly RoleGrant[],
): void {
  if (grants.length === 0) return;
  tx.onConstraint('role_grant_in_project', ({ detail }) =>
    problem('unknown-project', { id: projectOfGrant.exec(detail ?? '')?.[1] ?? '' }),
  );
  tx.onConstraint('role_grant_in_environment', ({ detail }) =>
    problem('unknown-environment', { name: /, ([^,]*)\) is not present/.exec(detail ?? '')?.[1] ?? '' }),
  );
  tx.send(insertGrants, [scope.accountId, credentialId, JSON.stringify(grants)]);
}

const lockOne = statement<{
  credential_id: string;
  name: string;
  client_id: string;
  account_role: AccountRole;
  lasting: boolean;
}>(`
  select credential_id, name, client_id, account_role, expires_at is null as lasting from credential
  where account_id = $1 and credential_id = $2 and revoked_at is null for update`);

/** Throws `credential-not-found`. */
export async function lockCredential(tx: Transaction, scope: Scope, id: string) {
  const [row] = await tx.query(lockOne, [scope.accountId, asUuid(id)]);
  if (row === undefined) throw problem('credential-not-found', { id });
  return row;
}

const rotateOne = statement(`
  update credential set previous_secret_digest = secret_digest, previous_secret_until = $4, secret_digest = $3
  where account_id = $1 and credential_id = $2`);

export function rotateSecret(
  tx: Transaction,
  sealer: Sealer,
  scope: Scope,
  rotated: { credentialId: string; secret: Secret; previousUntil: Date },
): void {
  const digest = sealer.digest(rotated.secret.reveal(), clientSecretPurpose);
  tx.send(rotateOne, [scope.accountId, rotated.credentialId, digest, rotated.previousUntil]);
}

// Locked, so that two deletions at once do not each leave the other's credential as the last.
const lockLasting = statement<{ credential_id: string }>(`
  select credential_id from credential
  where account_id = $1 and account_role = 'SUPER_ADMIN' and expires_at is null and revoked_at is null
  order by credential_id for update`);
const deleteOne = statement('delete from credential where account_id = $1 and credential_id = $2');

/** Throws `credential-not-found`, and `last-super-admin` when nobody could manage the account afterwards. */
export async function removeCredential(tx: Transaction, scope: Scope, id: string) {
  const lasting = await tx.query(lockLasting, [scope.accountId]);
  const row = await lockCredential(tx, scope, id);
  if (lasting.length === 1 && lasting[0]?.credential_id === row.credential_id)
    throw problem('last-super-admin');
  tx.send(deleteOne, [scope.accountId, row.credential_id]);
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
